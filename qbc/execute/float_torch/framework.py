"""Framework operators inside an mblt function: run one by one in onnxruntime."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import onnxruntime
import torch
from xdsl.ir import Operation, SSAValue

from qbc.dialects.blob import dtype_name
from qbc.dialects.common.access import tensor_type
from qbc.dialects.framework.access import read_tensor
from qbc.errors import QBCompilerError
from qbc.execute.float_torch.scope import Kernel, Scope
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
        raise QBCompilerError(
            f"'{op.name}' reads values from outside its bodies: only exported models run it", code="UNSUPPORTED_OP"
        )
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
    dtypes = [dtype_name(tensor_type(value).element_type) for value in inputs]
    kinds = [scope.type_of(result) for result in op.results]
    positions = [list(op.operands).index(value) for value in inputs]

    def kernel(*operands: torch.Tensor) -> Any:
        feed = {
            name: operands[place].numpy().astype(dtype, copy=False)
            for name, place, dtype in zip(inputs.values(), positions, dtypes, strict=True)
        }
        found = session.run(outputs, feed)
        results = [torch.from_numpy(np.asarray(array)).to(kind) for array, kind in zip(found, kinds, strict=True)]
        return results[0] if len(results) == 1 else results

    return kernel


def _session(op: Operation, model: onnx.ModelProto) -> onnxruntime.InferenceSession:
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    try:
        return onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    except RuntimeError as error:
        reason = " ".join(str(error).split())[:200]
        raise QBCompilerError(f"'{op.name}' cannot be executed: {reason}", code="UNSUPPORTED_OP") from error
