"""Framework operators inside an mblt function: run one by one in onnxruntime."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import onnxruntime
import torch
from xdsl.dialects.builtin import TensorType, UnrankedTensorType
from xdsl.ir import Operation, SSAValue

from qbc.dialects.blob import dtype_name
from qbc.dialects.common.graph import location_names
from qbc.dialects.framework.access import read_tensor
from qbc.errors import QBCompilerError
from qbc.execute.float_torch.scope import Kernel, Scope
from qbc.execute.onnxruntime_errors import onnxruntime_errors
from qbc.export.onnx_framework import operator_node, type_proto
from qbc.export.onnx_mblt import IR_VERSION
from qbc.export.onnx_mblt_framework import CONSTANT, OPSET, opset_imports, outer_values


def framework_kernel(op: Operation, scope: Scope) -> Kernel:
    """Return a kernel that runs `op` as a model of one node; raises UNSUPPORTED_OP when onnxruntime refuses it."""
    if op.name == CONSTANT:
        data = read_tensor(scope.store, op.properties["value"])
        constant = torch.from_numpy(np.array(data))
        return lambda: constant
    if set(outer_values(op)) != set(op.operands):
        raise _unsupported(op, "reads values from outside its bodies: only exported models run it")
    names: dict[SSAValue, str] = {value: f"in{index}" for index, value in enumerate(dict.fromkeys(op.operands))}
    inputs = dict(names)
    graph = onnx.GraphProto(name="operator")
    graph.node.append(operator_node(op, scope.store, names, set(inputs.values())))
    for value, name in inputs.items():
        graph.input.add(name=name).type.CopyFrom(type_proto(value.type))
    outputs = [names[result] for result in op.results]
    for result, name in zip(op.results, outputs, strict=True):
        graph.output.add(name=name).type.CopyFrom(type_proto(result.type))
    model = onnx.ModelProto(ir_version=IR_VERSION, graph=graph)
    model.opset_import.extend(opset_imports(list(graph.node), OPSET))
    session = _session(op, model)
    # the program computes in its own float type, the operator in the one that the model declares
    dtypes = [_dtype(op, value) for value in inputs]
    kinds = [scope.type_of(result) if isinstance(result.type, TensorType) else None for result in op.results]
    positions = [list(op.operands).index(value) for value in inputs]

    def kernel(*operands: torch.Tensor) -> Any:
        feed = {
            name: operands[place].numpy().astype(dtype, copy=False)
            for name, place, dtype in zip(inputs.values(), positions, dtypes, strict=True)
        }
        try:
            found = session.run(outputs, feed)
        except onnxruntime_errors() as error:
            raise _refused(op, error) from error
        results = [_tensor(array, kind, scope) for array, kind in zip(found, kinds, strict=True)]
        return results[0] if len(results) == 1 else results

    return kernel


def _tensor(array: Any, kind: torch.dtype | None, scope: Scope) -> torch.Tensor:
    """Return a result as a tensor of `kind`; where the model tells none, of the type that onnxruntime gives."""
    if not isinstance(array, (np.ndarray, np.generic)):
        raise QBCompilerError("a result that is no tensor cannot be executed here", code="UNSUPPORTED_OP")
    data = np.asarray(array)
    tensor = torch.from_numpy(data.view(data.dtype.name))  # onnxruntime's uint64 is another type of the same name
    return tensor.to(kind or (scope.float_type if tensor.is_floating_point() else tensor.dtype))


def _session(op: Operation, model: onnx.ModelProto) -> onnxruntime.InferenceSession:
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    try:
        return onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    except onnxruntime_errors() as error:
        raise _refused(op, error) from error


def _refused(op: Operation, error: Exception) -> QBCompilerError:
    return _unsupported(op, f"cannot be executed: {' '.join(str(error).split())[:200]}")


def _unsupported(op: Operation, reason: str) -> QBCompilerError:
    names = location_names(op.location)
    return QBCompilerError(f"'{op.name}' {reason}", code="UNSUPPORTED_OP", node=", ".join(names) or None)


def _dtype(op: Operation, value: SSAValue) -> str:
    if not isinstance(value.type, TensorType | UnrankedTensorType):
        raise _unsupported(op, f"reads a value of type {value.type}, which cannot be executed here")
    return dtype_name(value.type.element_type)
