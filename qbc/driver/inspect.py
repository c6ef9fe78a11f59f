"""Looking at models and snapshots without writing anything: layers, source map, what converts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING, Any

from xdsl.dialects.builtin import ModuleOp, TensorType
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Operation

from qbc.dialects.common.tensor_text import dims_text
from qbc.driver.context import DriverContext, make_context
from qbc.driver.files import check_source, read_module
from qbc.driver.plan import PARSE_PHASES, CompileOptions, make_plan
from qbc.driver.samples import main_function
from qbc.errors import ArgumentError
from qbc.passes.base import source_names
from qbc.pipelines.runner import run_pipeline

if TYPE_CHECKING:
    from qbc.artifact.manifest import Manifest


@dataclass(frozen=True)
class Opened:
    """An opened `.mblt`: module, context with its weights, manifest."""

    module: ModuleOp
    ctx: DriverContext
    manifest: Manifest


def open_mblt(path: Path) -> Opened:
    """Open a `.mblt`; another file is ARGUMENT_ERROR, a damaged one INVALID_SNAPSHOT."""
    from qbc.artifact.mblt import read_mblt
    from qbc.driver.files import require_file

    require_file(path)
    if path.suffix.lower() != ".mblt":
        raise ArgumentError(f"{str(path)!r} is not a .mblt file", hint="parse a source model first")
    ctx = make_context()
    opened = read_mblt(path, ctx, ctx.store)
    return Opened(opened.module, ctx, opened.manifest)


def convert_in_memory(
    source: Path, input_shapes: Mapping[str, tuple[int, ...]], backend: str | None = None
) -> tuple[ModuleOp, DriverContext]:
    """Import and convert a source model; nothing is written. `backend` is its frontend (by default by the suffix)."""
    check_source(source, backend)
    plan = make_plan(CompileOptions(), PARSE_PHASES)
    ctx = make_context()
    module = read_module(source, ctx, input_shapes=dict(input_shapes), backend=backend)
    for phase in PARSE_PHASES:
        run_pipeline(module, plan.pipelines[phase], ctx)
    return module, ctx


def graph_operations(module: ModuleOp) -> list[Operation]:
    """Return the operations of `@main` in order, without the return."""
    return [op for op in main_function(module).body.block.ops if not isinstance(op, ReturnOp)]


def layer_name(op: Operation) -> str:
    """Return the names of the source nodes of an operation."""
    return " + ".join(source_names(op)) or op.name


def layer_type(op: Operation) -> str:
    """Return the published type of a layer; operators of the source model keep their name."""
    from qbc.dialects.mblt import layer_types

    known = op.name in layer_types.LAYER_TYPES
    return layer_types.layer_type(op) if known else op.name.partition(".")[2]


def layers(module: ModuleOp) -> list[dict[str, Any]]:
    """Return name, operation, published type, result shape and MACs of every layer."""
    return [
        {
            "name": layer_name(op),
            "operation": op.name,
            "type": layer_type(op),
            "shape": shape_text(op),
            "macs": multiply_accumulates(op),
        }
        for op in graph_operations(module)
    ]


def shape_text(op: Operation) -> str:
    """Return the shape of the first result."""
    kind = op.results[0].type if op.results else None
    if not isinstance(kind, TensorType):
        return ""
    return dims_text(kind.get_shape())


def multiply_accumulates(op: Operation) -> int:
    """Return the multiply-accumulates of a convolution or matrix product, 0 for others and where a shape is unknown."""
    from qbc.dialects import mblt

    values = (*op.results, *op.operands)
    shapes: list[tuple[int, ...]] = [tuple(v.type.get_shape()) for v in values if isinstance(v.type, TensorType)]
    if not shapes or any(dim < 0 for shape in shapes for dim in shape):
        return 0
    if isinstance(op, mblt.MatmulOp) or op.name in ("framework.MatMul", "framework.Gemm"):
        return prod(shapes[0]) * shapes[1][-1]
    if op.name == "framework.Conv":
        return prod(shapes[0]) * prod(shapes[2][1:])
    weight = getattr(op, "weight", None)
    if weight is None:
        return 0
    rest: tuple[int, ...] = tuple(weight.type.get_shape())[1:]
    if isinstance(op, mblt.TransposeConv2dOp):
        return prod(shapes[1][:-1]) * int(weight.type.get_shape()[0]) * prod(rest)
    return prod(shapes[0]) * prod(rest)


def unconverted(module: ModuleOp) -> list[str]:
    """Return the names of the operations that stayed operators of the source model."""
    return [layer_name(op) for op in graph_operations(module) if op.name.startswith("framework.")]


def signature(func: FuncOp) -> dict[str, list[dict[str, Any]]]:
    """Return names, shapes and element types of the inputs and outputs of a graph."""
    from qbc.dialects.common.graph import argument_names, result_names

    kinds = func.function_type
    return {
        "inputs": [_tensor(name, kind) for name, kind in zip(argument_names(func), kinds.inputs.data, strict=True)],
        "outputs": [_tensor(name, kind) for name, kind in zip(result_names(func), kinds.outputs.data, strict=True)],
    }


def _tensor(name: str, kind: Any) -> dict[str, Any]:
    shape = [None if dim < 0 else int(dim) for dim in kind.get_shape()]
    return {"name": name, "shape": shape, "type": str(kind.element_type)}
