"""Rules of framework-simplify: each says for one operator which existing value its result equals, or None.

A rule never looks at names; it may build a new operator only by changing operands of `op` in place (then it returns
`CHANGED`). Values must be bit-equal for every input, NaN included.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Final

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from qbc.dialects.framework import attribute, operand, operands_by_position, operator, read_constant
from qbc.dialects.framework.access import ir_value
from qbc.passes.base import CompileContext, single_user
from qbc.passes.framework.inference import is_static


class _Changed:
    """The type of `CHANGED`."""


CHANGED: Final = _Changed()
Outcome = SSAValue | _Changed | None
Rule = Callable[[Operation, CompileContext], Outcome]

VIEWS = frozenset({"Reshape", "Flatten", "Squeeze", "Unsqueeze"})
_SCALAR_LIMIT = 4096


def _input(op: Operation) -> SSAValue:
    return op.operands[0]


def _same_type(op: Operation) -> bool:
    return is_static(op.results[0].type) and op.results[0].type == op.operands[0].type


def identity(op: Operation, ctx: CompileContext) -> Outcome:
    """Identity(x) = x."""
    return _input(op)


def same_type(op: Operation, ctx: CompileContext) -> Outcome:
    """A cast to the same type, a view or an expansion to the same static shape, is its input."""
    return _input(op) if _same_type(op) else None


def cast(op: Operation, ctx: CompileContext) -> Outcome:
    """Cast(x) to the element type that x has is x, also for unknown shapes."""
    source, target = op.operands[0].type, op.results[0].type
    if isinstance(source, TensorType) and isinstance(target, TensorType) and source.element_type == target.element_type:
        return _input(op)
    return None


def dropout(op: Operation, ctx: CompileContext) -> Outcome:
    """Dropout outside of training is its input, when the mask is not used."""
    training = operand(op, "training_mode")
    if training is not None:
        value = read_constant(ctx.store, training)
        if value is None or value.reshape(-1)[0]:
            return None
    if len(op.results) > 1 and any(True for _ in op.results[1].uses):
        return None
    return _input(op)


def single_input(op: Operation, ctx: CompileContext) -> Outcome:
    """Concat, Sum, Max, Min and Mean of one value are that value."""
    return _input(op) if len(op.operands) == 1 else None


def clip(op: Operation, ctx: CompileContext) -> Outcome:
    """Clip without bounds is its input."""
    return _input(op) if len(op.operands) == 1 else None


def transpose(op: Operation, ctx: CompileContext) -> Outcome:
    """Transpose by the identity is its input; Transpose(Transpose(x)) is x or one Transpose."""
    kind = op.operands[0].type
    if not isinstance(kind, TensorType):
        return None
    rank = kind.get_num_dims()
    order = attribute(op, "perm") or tuple(reversed(range(rank)))
    if order == tuple(range(rank)):
        return _input(op)
    inner = op.operands[0].owner
    if not isinstance(inner, Operation) or inner.name != op.name:
        return None
    first = attribute(inner, "perm") or tuple(reversed(range(rank)))
    both = tuple(first[axis] for axis in order)
    if both == tuple(range(rank)):
        return inner.operands[0]
    op.properties["perm"] = ir_value(both)
    op.operands[0] = inner.operands[0]
    return CHANGED


def reshape(op: Operation, ctx: CompileContext) -> Outcome:
    """A view to the same static shape is its input; Reshape of a view reads the input of the view.

    The second form needs a static result, because a 0 in the wanted shape means the size of the input.
    """
    if _same_type(op):
        return _input(op)
    result = op.results[0].type
    inner = op.operands[0].owner
    if not isinstance(result, TensorType) or not is_static(result) or not isinstance(inner, Operation):
        return None
    if operator(op) != "Reshape" or operator(inner) not in VIEWS or inner.name == "framework.opaque":
        return None
    wanted = read_constant(ctx.store, operand(op, "shape"))
    if wanted is None:
        return None
    if inner.operands[0].type == result:
        return inner.operands[0]
    if any(size == 0 for size in wanted.reshape(-1).tolist()):
        return None
    op.operands[0] = inner.operands[0]
    return CHANGED


def whole_slice(op: Operation, ctx: CompileContext) -> Outcome:
    """Slice that keeps the shape with positive steps is its input."""
    steps = operand(op, "steps")
    values = read_constant(ctx.store, steps) if steps is not None else None
    if steps is not None and (values is None or any(step < 1 for step in values.reshape(-1).tolist())):
        return None
    return same_type(op, ctx)


def no_pad(op: Operation, ctx: CompileContext) -> Outcome:
    """Pad by zeros is its input."""
    pads = read_constant(ctx.store, operand(op, "pads"))
    return _input(op) if pads is not None and not pads.any() else None


def one_repeat(op: Operation, ctx: CompileContext) -> Outcome:
    """Tile by ones is its input."""
    repeats = read_constant(ctx.store, operand(op, "repeats"))
    return _input(op) if repeats is not None and (repeats == 1).all() else None


def neutral_right(neutral: float) -> Rule:
    """x op c = x for a constant c that is neutral everywhere and does not widen the shape (Div, Pow)."""

    def rule(op: Operation, ctx: CompileContext) -> Outcome:
        return _input(op) if _is_constant(op, 1, neutral, ctx) and _same_type(op) else None

    return rule


def neutral_either(neutral: float) -> Rule:
    """x op c = c op x = x for a neutral constant c (Mul)."""

    def rule(op: Operation, ctx: CompileContext) -> Outcome:
        for index in (0, 1):
            other = op.operands[1 - index]
            if _is_constant(op, index, neutral, ctx) and other.type == op.results[0].type and is_static(other.type):
                return other
        return None

    return rule


def _is_constant(op: Operation, index: int, wanted: float, ctx: CompileContext) -> bool:
    kind = op.operands[index].type
    if not isinstance(kind, TensorType) or not is_static(kind) or prod(kind.get_shape()) > _SCALAR_LIMIT:
        return False
    values = read_constant(ctx.store, op.operands[index])
    return values is not None and values.size > 0 and bool((values == wanted).all())


def same_split(op: Operation, ctx: CompileContext) -> Outcome:
    """Split into one part is its input."""
    return _input(op) if len(op.results) == 1 and _same_type(op) else None


def where(op: Operation, ctx: CompileContext) -> Outcome:
    """Where with a constant condition that is the same everywhere is one of its values, when the shape agrees."""
    condition, yes, no = operands_by_position(op)
    values = read_constant(ctx.store, condition)
    if values is None or values.size == 0 or not (values.all() or not values.any()):
        return None
    chosen = yes if values.all() else no
    return chosen if chosen is not None and chosen.type == op.results[0].type and is_static(chosen.type) else None


def sink_view(op: Operation) -> bool:
    """Move a view from before a Softmax over the last axis to behind it, where a Reshape merges with it.

    The rows of the last axis are the same on both sides, so the results are. Returns whether it was done.
    """
    view = op.operands[0].owner
    user = single_user(op.results[0])
    if not isinstance(view, Operation) or view.name == "framework.opaque" or operator(view) not in VIEWS:
        return False
    block = view.parent
    if block is None or user is None or user.name != "framework.Reshape" or single_user(view.results[0]) is not op:
        return False
    source, kind = view.operands[0], op.results[0].type
    if not isinstance(source.type, TensorType) or not isinstance(kind, TensorType):
        return False
    if not is_static(source.type) or not is_static(kind) or not source.type.get_num_dims() or not kind.get_num_dims():
        return False
    axis = attribute(op, "axis")
    if axis not in (-1, kind.get_num_dims() - 1) or source.type.get_shape()[-1] != kind.get_shape()[-1]:
        return False
    op.properties["axis"] = ir_value(-1)
    op.operands[0] = source
    op.results[0].replace_all_uses_with(view.results[0])
    result = Rewriter.replace_value_with_new_type(op.results[0], source.type)
    block.detach_op(view)
    view.operands[0] = result
    Rewriter.insert_op(view, InsertPoint.after(op))
    return True


RULES: dict[str, Rule] = {
    "Cast": cast,
    "Clip": clip,
    "Concat": single_input,
    "Div": neutral_right(1),
    "Dropout": dropout,
    "Expand": same_type,
    "Flatten": same_type,
    "Identity": identity,
    "Max": single_input,
    "Mean": single_input,
    "Min": single_input,
    "Mul": neutral_either(1),
    "Pad": no_pad,
    "Pow": neutral_right(1),
    "Reshape": reshape,
    "Slice": whole_slice,
    "Split": same_split,
    "Squeeze": same_type,
    "Sum": single_input,
    "Tile": one_repeat,
    "Transpose": transpose,
    "Unsqueeze": same_type,
    "Where": where,
}
