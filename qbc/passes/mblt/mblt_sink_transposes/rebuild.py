"""One op on transposed operands: `op(transpose(x, p)) = transpose(op'(x), q)`; this module makes op' and q."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import cast

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute, SSAValue

from qbc.dialects.common.properties import as_attribute
from qbc.dialects.mblt import (
    ArgMaxOp,
    BatchNormOp,
    CastOp,
    ConcatOp,
    ExpandOp,
    GatherOp,
    InstanceNormOp,
    LayerNormOp,
    LinearOp,
    LogSoftmaxOp,
    MatmulOp,
    MbltOp,
    PadOp,
    PreluOp,
    ReshapeOp,
    SliceOp,
    SoftmaxOp,
    TileOp,
    UnaryOp,
    WhereOp,
    shape_of,
)
from qbc.dialects.mblt.elementwise import BinaryOp
from qbc.dialects.mblt.reduction import ReduceOp
from qbc.passes.mblt.mblt_sink_transposes.permutations import Axes, invert, permuted, through_reshape


@dataclass(frozen=True)
class Plan:
    """How op' differs from op: properties, and q; `shape` is the result shape of op' where q does not give it."""

    permutation: Axes
    properties: dict[str, object] = field(default_factory=dict)
    shape: Axes | None = None


def data_operands(op: MbltOp) -> list[SSAValue]:
    """Return the operands that share the layout of the op (not the indices of a gather)."""
    return [op.operands[0]] if isinstance(op, GatherOp) else list(op.operands)


def plan(op: MbltOp, p: Axes) -> Plan | None:
    """Return how `op` changes when all its data operands lose a transpose by `p`, or None when it cannot."""
    for kinds, rule in RULES:
        if isinstance(op, kinds):
            return rule(op, p)
    return None


def build(op: MbltOp, made: Plan, operands: Sequence[SSAValue]) -> MbltOp:
    """Return op' of `made` on `operands`, with the location of `op`."""
    result = cast("TensorType[Attribute]", op.results[0].type)
    shape = made.shape or permuted(result.get_shape(), invert(made.permutation))
    others = list(op.operands)[len(operands) :]
    changed = {name: as_attribute(value) for name, value in made.properties.items()}
    return type(op).create(
        operands=[*operands, *others],
        result_types=[TensorType(result.element_type, list(shape))],
        properties={**op.properties, **changed},
        attributes=op.attributes,
        location=op.location,
    )


def _elementwise(op: MbltOp, p: Axes) -> Plan:
    return Plan(p)


def _axis(op: MbltOp, p: Axes) -> Plan:
    return Plan(p, {"axis": p[_axis_of(op) % len(p)]})


def _axis_of(op: MbltOp) -> int:
    return cast("int", op.value_of("axis"))


def _trailing(op: MbltOp, p: Axes) -> Plan | None:
    """Ops that work on the last axes: those must stay where they are."""
    if isinstance(op, MatmulOp):
        fixed = 2
    elif isinstance(op, LayerNormOp):
        fixed = op.normalized_rank.value.data
    else:
        fixed = 1
    if not is_identity_from(p, len(p) - fixed) or (isinstance(op, InstanceNormOp) and p[0] != 0):
        return None
    return Plan(p)


def is_identity_from(p: Axes, start: int) -> bool:
    """Return whether the axes from `start` on stay in place."""
    return p[start:] == tuple(range(start, len(p)))


def _listed(*names: str) -> Callable[[MbltOp, Axes], Plan]:
    """Ops with properties that have one entry an axis."""

    def rule(op: MbltOp, p: Axes) -> Plan:
        return Plan(p, {name: list(permuted(op.ints(name), invert(p))) for name in names})

    return rule


def _reduce(op: MbltOp, p: Axes) -> Plan:
    axes = op.ints("axes") if isinstance(op, ReduceOp) else (_axis_of(op) % len(p),)
    moved = sorted(p[axis] for axis in axes)
    changed: dict[str, object] = {"axes": moved} if isinstance(op, ReduceOp) else {"axis": moved[0]}
    if op.value_of("keep_dims"):
        return Plan(p, changed)
    kept = [axis for axis in range(len(p)) if axis not in moved]
    return Plan(tuple(kept.index(axis) for axis in p if axis in kept), changed)


def _gather(op: MbltOp, p: Axes) -> Plan:
    axis = _axis_of(op) % len(p)
    count = len(shape_of(op.operands[1]))
    # Labels of the result axes: a data axis (of x) by its number, index axis k by -1-k.
    indices = [-1 - k for k in range(count)]
    wanted = [label for i, a in enumerate(p) for label in (indices if i == axis else [a])]
    found = [label for a in range(len(p)) for label in (indices if a == p[axis] else [a])]
    return Plan(tuple(found.index(label) for label in wanted), {"axis": p[axis]})


def _reshape(op: MbltOp, p: Axes) -> Plan | None:
    shape = permuted(shape_of(op.operands[0]), invert(p))
    swapped = through_reshape(shape, p, shape_of(op.results[0]))
    return None if swapped is None else Plan(swapped[1], shape=swapped[0])


Rule = Callable[[MbltOp, Axes], Plan | None]
RULES: tuple[tuple[tuple[type[MbltOp], ...], Rule], ...] = (
    ((SoftmaxOp, LogSoftmaxOp, ConcatOp), _axis),
    ((LayerNormOp, BatchNormOp, InstanceNormOp, PreluOp, LinearOp, MatmulOp), _trailing),
    ((UnaryOp, BinaryOp, WhereOp, CastOp, ExpandOp), _elementwise),
    ((SliceOp,), _listed("starts", "ends", "steps")),
    ((PadOp,), _listed("before", "after")),
    ((TileOp,), _listed("repeats")),
    ((ReduceOp, ArgMaxOp), _reduce),
    ((GatherOp,), _gather),
    ((ReshapeOp,), _reshape),
)


def plan_back(op: MbltOp, q: Axes) -> tuple[Axes, Plan] | None:
    """Return p and the plan of op' with `transpose(op(x), q) = op'(transpose(x, p))`, or None when there is none."""
    if isinstance(op, ReshapeOp):
        # Read backwards, a reshape is a reshape: operand and result change their roles.
        result = permuted(shape_of(op.results[0]), q)
        swapped = through_reshape(result, invert(q), shape_of(op.operands[0]))
        return None if swapped is None else (invert(swapped[1]), Plan(invert(q), shape=result))
    if len(shape_of(op.operands[0])) != len(q):
        return None
    made = plan(op, invert(q))
    if made is None or made.permutation != invert(q):
        return None
    return q, made
