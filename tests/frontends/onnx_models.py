"""Small ONNX models for the tests of the frontend."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation

from qbc.driver.context import DriverContext, make_context
from qbc.export.onnx_framework import framework_to_onnx
from qbc.frontends.onnx import import_onnx
from qbc.pipelines.registry import pass_class
from qbc.store import BlobStore

Shape = Sequence[int | str | None]
F32 = TensorProto.FLOAT


def value(name: str, shape: Shape | None, kind: int = F32) -> onnx.ValueInfoProto:
    return helper.make_tensor_value_info(name, kind, shape)


def model(
    nodes: Sequence[onnx.NodeProto],
    inputs: Sequence[onnx.ValueInfoProto],
    outputs: Sequence[onnx.ValueInfoProto],
    constants: dict[str, npt.NDArray[Any]] | None = None,
    *,
    opset: int = 25,
    ir_version: int = 10,
    domains: Sequence[str] = (),
) -> onnx.ModelProto:
    tensors = [numpy_helper.from_array(np.asarray(data), name) for name, data in (constants or {}).items()]
    graph = helper.make_graph(list(nodes), "graph", list(inputs), list(outputs), tensors)
    versions = [helper.make_opsetid("", opset), *(helper.make_opsetid(domain, 1) for domain in domains)]
    return helper.make_model(graph, opset_imports=versions, ir_version=ir_version)


def load(
    proto: onnx.ModelProto, directory: Path, store: BlobStore | None = None, **shapes: tuple[int, ...]
) -> ModuleOp:
    """Write a model and import it, checking the IR."""
    path = directory / "model.onnx"
    path.write_bytes(proto.SerializeToString())
    module = import_onnx(path, store if store is not None else BlobStore(), input_shapes=shapes)
    module.verify()
    return module


def main_of(module: ModuleOp) -> FuncOp:
    return next(op for op in module.ops if isinstance(op, FuncOp))


def operators(module: ModuleOp) -> list[str]:
    """Return the names of the operators of `@main` without constants, in order, bodies included."""
    names = [op.name.removeprefix("framework.") for op in main_of(module).walk() if op.name.startswith("framework.")]
    return [name for name in names if name not in ("Constant", "yield")]


def find(module: ModuleOp, name: str) -> Operation:
    return next(op for op in module.walk() if op.name == f"framework.{name}")


def run(proto: onnx.ModelProto, inputs: dict[str, npt.NDArray[Any]]) -> list[npt.NDArray[Any]]:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(proto.SerializeToString(), options)
    return [np.asarray(array) for array in session.run(None, inputs)]


def run_passes(module: ModuleOp, store: BlobStore, *names: str) -> DriverContext:
    """Run framework passes on `@main`, checking the IR after each."""
    context = make_context(store=store)
    for name in names:
        context.current_pass = name
        pass_class(name)().run(main_of(module), context)
        module.verify()
    return context


def check_round_trip(
    proto: onnx.ModelProto, directory: Path, inputs: dict[str, npt.NDArray[Any]], *passes: str
) -> ModuleOp:
    """Import, run passes, export, and compare with the original in onnxruntime; return the module."""
    store = BlobStore()
    module = load(proto, directory, store, **{name: array.shape for name, array in inputs.items()})
    run_passes(module, store, *passes)
    back = framework_to_onnx(module, store)
    assert [v.name for v in back.graph.output] == [v.name for v in proto.graph.output]
    for found, wanted in zip(run(back, inputs), run(proto, inputs), strict=True):
        assert found.dtype == wanted.dtype and found.shape == wanted.shape
        if found.dtype.kind == "f":
            np.testing.assert_allclose(found, wanted, rtol=1e-6, atol=1e-6)
        else:
            assert np.array_equal(found, wanted)
    return module
