"""Looking at models and snapshots without writing anything: layers, source map, what converts."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING, Any

from xdsl.dialects.builtin import ModuleOp, TensorType
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Operation

from qbc.dialects.common.tensor_text import dims_text, source_dims
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
    source: Path,
    input_shapes: Mapping[str, tuple[int, ...]],
    backend: str | None = None,
    look: Callable[[ModuleOp], None] = lambda module: None,
) -> tuple[ModuleOp, DriverContext]:
    """Import and convert a source model; nothing is written. `backend` is its frontend (by default by the suffix).

    `look` is called with the module between import and conversion.
    """
    check_source(source, backend)
    plan = make_plan(CompileOptions(), PARSE_PHASES)
    ctx = make_context()
    module = read_module(source, ctx, input_shapes=dict(input_shapes), backend=backend)
    for phase in PARSE_PHASES:
        if phase == "convert":
            look(module)
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
    """Return name, operation, published type, result shape and MACs (None where a size is open) of every layer."""
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


def multiply_accumulates(op: Operation) -> int | None:
    """Return the multiply-accumulates of a convolution or matrix product, None where a size is open; 0 for others."""
    from qbc.dialects import mblt

    products = ("framework.MatMul", "framework.Gemm", "framework.Conv")
    if not isinstance(op, mblt.MatmulOp) and op.name not in products and getattr(op, "weight", None) is None:
        return 0
    values = (*op.results, *op.operands)
    shapes: list[tuple[int, ...]] = [tuple(v.type.get_shape()) for v in values if isinstance(v.type, TensorType)]
    if any(dim < 0 for shape in shapes for dim in shape):
        return None
    if isinstance(op, mblt.MatmulOp) or op.name in ("framework.MatMul", "framework.Gemm"):
        return prod(shapes[0]) * shapes[1][-1]
    if op.name == "framework.Conv":
        return prod(shapes[0]) * prod(shapes[2][1:])
    weight: Any = op.properties["weight"]
    rest: tuple[int, ...] = tuple(weight.type.get_shape())[1:]
    if isinstance(op, mblt.TransposeConv2dOp):
        return prod(shapes[1][:-1]) * int(weight.type.get_shape()[0]) * prod(rest)
    return prod(shapes[0]) * prod(rest)


def unconverted(module: ModuleOp) -> list[str]:
    """Return the names of the operations that stayed operators of the source model."""
    return [layer_name(op) for op in graph_operations(module) if op.name.startswith("framework.")]


def signature(func: FuncOp) -> dict[str, list[dict[str, Any]]]:
    """Return names, shapes and element types of the inputs and outputs of a graph.

    `source_shape` is the shape in the layout of the source model: channels are moved back in front.
    """
    from qbc.dialects.common.graph import argument_names, result_names, source_layouts

    kinds = func.function_type
    sides = (
        ("inputs", argument_names(func), kinds.inputs.data, func.arg_attrs),
        ("outputs", result_names(func), kinds.outputs.data, func.res_attrs),
    )
    return {
        side: [
            _tensor(name, kind, layout)
            for name, kind, layout in zip(names, types, source_layouts(attributes, len(types)), strict=True)
        ]
        for side, names, types, attributes in sides
    }


def shape_differences(
    expected: Mapping[str, list[dict[str, Any]]], found: Mapping[str, list[dict[str, Any]]]
) -> list[dict[str, Any]]:
    """Return the inputs and outputs of `found` whose source shape is another than in `expected`.

    Both are signatures. An open dimension is equal to any.
    """
    return [
        {"name": there["name"], "expected": here["source_shape"], "found": there["source_shape"]}
        for side in ("inputs", "outputs")
        for here, there in zip(expected[side], found[side], strict=True)
        if not _agree(here["source_shape"], there["source_shape"])
    ]


def _agree(first: list[int | None], second: list[int | None]) -> bool:
    if len(first) != len(second):
        return False
    return all(one == other or one is None or other is None for one, other in zip(first, second, strict=True))


def _tensor(name: str, kind: Any, layout: str | None) -> dict[str, Any]:
    shape, source = (
        [None if dim < 0 else int(dim) for dim in dims] for dims in (kind.get_shape(), source_dims(kind, layout))
    )
    return {"name": name, "shape": shape, "source_shape": source, "type": str(kind.element_type)}
