"""`convert-framework-to-mblt`: the source model in the closed, channel-last op set."""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, FunctionType, ModuleOp, TensorType
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.utils.exceptions import VerifyException

from qbc.dialects.framework import ConstantOp as FrameworkConstantOp
from qbc.dialects.framework import operator
from qbc.dialects.mblt import MbltOp
from qbc.passes.base import CompileContext, ModulePass, erase_dead_ops, source_names
from qbc.passes.mblt.convert_framework_to_mblt import (
    activation,
    convolution,
    elementwise,
    matmul,
    normalization,
    pooling,
    reduction,
    resize,
    shape,
)
from qbc.passes.mblt.convert_framework_to_mblt.converter import CONVERSIONS, CannotConvert, FunctionState, Node
from qbc.passes.mblt.removed_nodes import named_nodes, record_missing

FAMILIES = (activation, convolution, elementwise, matmul, normalization, pooling, reduction, resize, shape)
# What the arithmetic of shapes raises on attributes of a wrong length or size; import does not compare them with ranks.
MISFITS = (ValueError, IndexError, OverflowError, ZeroDivisionError)
SUPPORTED_ELEMENTS = frozenset({"f32", "i1", "i8", "i16", "i32", "i64", "ui8"})


@dataclass(frozen=True)
class ConvertFrameworkToMblt(ModulePass):
    """Rewrite every `framework` op that has an mblt form; the others stay in the same function.

    Values keep the layout of the source model: a layout-sensitive op stands between two transposes, which
    `mblt-sink-transposes` removes. What did not convert is listed in `ctx.report["conversion"]` as
    `{"node", "operator", "reason"}`, nodes that need no operation in `ctx.report["removed"]`.

    Before:
    ```mlir
    %0 = framework.Conv(%x, %w) {pads = [1, 1, 1, 1]} : (tensor<1x3x8x8xf32>, ...) -> tensor<1x4x8x8xf32>
    ```
    After:
    ```mlir
    %0 = mblt.transpose %x {permutation = [0, 2, 3, 1]} : tensor<1x3x8x8xf32> -> tensor<1x8x8x3xf32>
    %1 = mblt.conv2d %0 {weight = #blob.ref<...>, ...} : tensor<1x8x8x3xf32> -> tensor<1x8x8x4xf32>
    %2 = mblt.transpose %1 {permutation = [0, 3, 1, 2]} : tensor<1x8x8x4xf32> -> tensor<1x4x8x8xf32>
    ```
    """

    name = "convert-framework-to-mblt"
    needs = ("framework",)
    produces = ("mblt",)

    def run(self, op: ModuleOp, ctx: CompileContext) -> None:
        report: list[dict[str, str]] = []
        for function in [inner for inner in op.ops if isinstance(inner, FuncOp)]:
            if function.body.blocks:
                _convert_function(function, ctx, report)
        ctx.report["conversion"] = report


def _convert_function(function: FuncOp, ctx: CompileContext, report: list[dict[str, str]]) -> None:
    old = function.body.block
    block = Block(arg_types=[argument.type for argument in old.args])
    nodes = named_nodes(function)
    state = FunctionState(ctx, block, dict(zip(old.args, block.args, strict=True)))
    for source, target in zip(old.args, block.args, strict=True):
        target.name_hint = source.name_hint or None
        target.location = source.location
    for op in old.ops:
        if isinstance(op, FrameworkConstantOp):
            continue
        if isinstance(op, ReturnOp):
            _return(op, state)
            continue
        reason = _convert(op, state)
        if reason is None:
            ctx.count("converted")
            continue
        _keep(op, state)
        ctx.count("kept")
        names = source_names(op)
        report.append({"node": names[0] if names else "", "operator": operator(op), "reason": reason})
    _replace_body(function, block)
    erase_dead_ops(function, is_removable=lambda op: isinstance(op, MbltOp | FrameworkConstantOp))
    record_missing(ctx, nodes, function, "needs no operation: its result is its operand, a property, or not used")


def _convert(op: Operation, state: FunctionState) -> str | None:
    """Convert one operator; return the reason when it has no mblt form."""
    function = CONVERSIONS.get(operator(op)) if op.name.startswith("framework.") else None
    if function is None or op.name == "framework.opaque":
        return "no mblt form"
    for value in (*op.operands, *op.results):
        if not isinstance(value.type, TensorType):
            continue
        if str(value.type.element_type) not in SUPPORTED_ELEMENTS:
            return f"element type {value.type.element_type}"
        if 0 in value.type.get_shape() and not isinstance(value.owner, FrameworkConstantOp):
            return "a value without elements"
    last = state.block.last_op
    try:
        node = Node(op, state)
        converted = function(node)
        values: list[SSAValue | None] = converted if isinstance(converted, list) else [converted]
        _check_types(node, values)
    except (CannotConvert, VerifyException) as error:
        _drop_after(state, last)
        return str(error)
    except MISFITS as error:
        _drop_after(state, last)
        return f"its attributes do not fit its operands ({error})"
    for source, target in zip(node.results, values, strict=False):
        if source is not None and target is not None:
            state.values[source] = target
    return None


def _check_types(node: Node, values: list[SSAValue | None]) -> None:
    """Refuse a conversion whose result does not have the type that the source model states."""
    from qbc.dialects.common.shapes import compatible

    for index, target in enumerate(values):
        if target is None or index >= len(node.results) or node.results[index] is None:
            continue
        stated, found = node.result_type(index), cast("TensorType[Attribute]", target.type)
        if stated.element_type != found.element_type or not compatible(stated.get_shape(), found.get_shape()):
            node.refuse(f"the model states the result type {stated}, its operands give {found}")


def _drop_after(state: FunctionState, last: Operation | None) -> None:
    """Erase what a refused conversion has emitted."""
    emitted = []
    op = state.block.last_op
    while op is not None and op is not last:
        emitted.append(op)
        op = op.prev_op
    if not emitted:
        return
    dead = {result for op in emitted for result in op.results}
    state.constants = {key: value for key, value in state.constants.items() if value not in dead}
    state.layouts = {key: value for key, value in state.layouts.items() if value not in dead}
    for op in emitted:
        state.block.erase_op(op)


def _keep(op: Operation, state: FunctionState) -> None:
    """Copy an operator into the new function; constants that it reads stay framework constants."""
    mapping: dict[SSAValue, SSAValue] = {}
    inner_blocks = [block for inner in op.walk() for region in inner.regions for block in region.blocks]
    inside = {result for inner in op.walk() for result in inner.results}
    inside.update(argument for block in inner_blocks for argument in block.args)
    for value in dict.fromkeys(operand for inner in op.walk() for operand in inner.operands):
        if value not in inside:
            mapping[value] = _outer_value(value, state)
    copy = op.clone(mapping)
    state.block.add_op(copy)
    state.values.update(zip(op.results, copy.results, strict=True))


def _outer_value(value: SSAValue, state: FunctionState) -> SSAValue:
    mapped = state.values.get(value) or state.kept_constants.get(value)
    if mapped is not None:
        return mapped
    constant = cast("Operation", value.owner).clone()
    state.block.add_op(constant)
    state.kept_constants[value] = constant.results[0]
    return constant.results[0]


def _return(op: ReturnOp, state: FunctionState) -> None:
    node = Node(op, state)
    state.block.add_op(ReturnOp(*[node.value_of(operand) for operand in op.operands]))


def _replace_body(function: FuncOp, block: Block) -> None:
    terminator = cast("Operation", block.last_op)
    function.body.erase_block(function.body.block, safe_erase=False)
    function.body.add_block(block)
    inputs, outputs = [arg.type for arg in block.args], [value.type for value in terminator.operands]
    function.properties["function_type"] = FunctionType.from_lists(inputs, outputs)
    for name in ("arg_attrs", "res_attrs"):
        listed = function.properties.get(name)
        if isinstance(listed, ArrayAttr):
            function.properties[name] = ArrayAttr([_rename(entry) for entry in listed.data])


def _rename(attributes: Attribute) -> Attribute:
    """Return argument attributes with `framework.` names as `mblt.` names."""
    if not isinstance(attributes, DictionaryAttr):
        return attributes
    renamed = {key.replace("framework.", "mblt.", 1): value for key, value in attributes.data.items()}
    return DictionaryAttr(renamed)


__all__ = ["ConvertFrameworkToMblt"]
