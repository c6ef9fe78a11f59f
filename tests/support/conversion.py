"""Convert ONNX models to mblt in tests and compare with onnxruntime."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp

from qbc.dialects.common.graph import argument_names, result_names, source_layouts
from qbc.driver.context import make_context
from qbc.execute.float_torch import run
from qbc.frontends.onnx import import_onnx
from qbc.passes.base import CompileContext
from qbc.passes.mblt.convert_framework_to_mblt import ConvertFrameworkToMblt
from qbc.passes.mblt.mblt_sink_transposes import MbltSinkTransposes
from qbc.store import BlobStore

Array = npt.NDArray[Any]
TYPES = {"float32": TensorProto.FLOAT, "int64": TensorProto.INT64, "int32": TensorProto.INT32, "bool": TensorProto.BOOL}


def make_model(
    nodes: Sequence[onnx.NodeProto],
    inputs: Mapping[str, Array],
    constants: Mapping[str, Array],
    outputs: Sequence[str],
    *,
    shapes: Mapping[str, Sequence[int | str]] | None = None,
    result_shape: Sequence[int] | None = None,
    opset: int = 20,
) -> onnx.ModelProto:
    """Build a model; output types are inferred, or `result_shape`; `shapes` replaces input shapes."""
    declared = [
        helper.make_tensor_value_info(name, TYPES[array.dtype.name], (shapes or {}).get(name, array.shape))
        for name, array in inputs.items()
    ]
    results = [onnx.ValueInfoProto(name=name) for name in outputs]
    if result_shape is not None:
        results = [helper.make_tensor_value_info(name, TensorProto.FLOAT, result_shape) for name in outputs]
    graph = helper.make_graph(nodes, "test", declared, results)
    graph.initializer.extend(numpy_helper.from_array(array, name) for name, array in constants.items())
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=9)
    return onnx.shape_inference.infer_shapes(model, strict_mode=True)


def single_node(
    operator: str,
    inputs: Sequence[Array],
    constants: Sequence[Array | None] = (),
    *,
    outputs: int = 1,
    opset: int = 20,
    result_shape: Sequence[int] | None = None,
    **attributes: Any,
) -> tuple[onnx.ModelProto, dict[str, Array]]:
    """Build a model of one node: computed inputs first, then constant ones (None: absent)."""
    feed = {f"x{index}": array for index, array in enumerate(inputs)}
    named = {f"c{index}": array for index, array in enumerate(constants) if array is not None}
    names = [*feed, *("" if array is None else f"c{index}" for index, array in enumerate(constants))]
    results = [f"y{index}" for index in range(outputs)]
    node = helper.make_node(operator, names, results, name=operator.lower(), **attributes)
    return make_model([node], feed, named, results, opset=opset, result_shape=result_shape), feed


def convert(
    model: onnx.ModelProto, input_shapes: Mapping[str, tuple[int, ...]] | None = None
) -> tuple[ModuleOp, FuncOp, CompileContext]:
    """Import and convert a model; transposes are not sunk."""
    context = make_context(store=BlobStore())
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "model.onnx"
        onnx.save(model, path)
        module = import_onnx(path, context.store, input_shapes=input_shapes)
    ConvertFrameworkToMblt().run(module, context)
    module.verify()
    return module, main(module), context


def main(module: ModuleOp) -> FuncOp:
    """Return the function `@main`."""
    return next(op for op in module.ops if isinstance(op, FuncOp))


def execute(function: FuncOp, context: CompileContext, feed: Mapping[str, Array]) -> dict[str, Array]:
    """Run a function on inputs in the layout of the source model; results come back in that layout."""
    layouts = source_layouts(function.arg_attrs, len(function.body.block.args))
    inputs = {
        name: np.ascontiguousarray(np.moveaxis(feed[name], 1, -1)) if layout else feed[name]
        for name, layout in zip(argument_names(function), layouts, strict=True)
    }
    found = run(function, context.store, inputs)
    layouts = source_layouts(function.res_attrs, len(function.function_type.outputs))
    return {
        name: np.moveaxis(np.asarray(found[name]), -1, 1) if layout else np.asarray(found[name])
        for name, layout in zip(result_names(function), layouts, strict=True)
    }


def reference(model: onnx.ModelProto, feed: Mapping[str, Array]) -> dict[str, Array]:
    """Run a model in onnxruntime, one thread, without graph optimization."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    names = [output.name for output in session.get_outputs()]
    return dict(zip(names, session.run(names, dict(feed)), strict=True))


def assert_same(found: Mapping[str, Array], expected: Mapping[str, Array], tolerance: float = 2e-5) -> None:
    """Compare outputs by name: order, shape, element type, and values relative to the largest one."""
    assert list(found) == list(expected)
    for name, wanted in expected.items():
        assert found[name].shape == wanted.shape
        assert found[name].dtype == wanted.dtype
        scale = max(1.0, float(np.abs(np.nan_to_num(wanted.astype(np.float64))).max(initial=0.0)))
        np.testing.assert_allclose(found[name], wanted, rtol=tolerance, atol=tolerance * scale)


def check_conversion(model: onnx.ModelProto, feed: Mapping[str, Array], **options: Any) -> FuncOp:
    """Convert, compare with onnxruntime before and after sinking transposes; everything must convert."""
    expected = reference(model, feed)
    module, function, context = convert(model, **options)
    assert context.report["conversion"] == []
    assert_same(execute(function, context, feed), expected)
    MbltSinkTransposes().run(function, context)
    module.verify()
    assert_same(execute(function, context, feed), expected)
    return function


def names_of(function: FuncOp) -> list[str]:
    """Return the names of the ops of a function, without the return."""
    return [op.name for op in function.body.block.ops][:-1]
