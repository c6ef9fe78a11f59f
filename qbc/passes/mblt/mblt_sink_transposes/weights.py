"""Transposes that a linear op beside them takes into its weight: classifier heads and decoders."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, cast

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute, Operation, SSAValue

from qbc.dialects.blob import BlobAttr, read_blob, write_blob
from qbc.dialects.common.shapes import DYNAMIC
from qbc.dialects.mblt import FunctionOp, LinearOp, MbltOp, ReshapeOp, TransposeOp, shape_of
from qbc.passes.mblt.mblt_sink_transposes.permutations import Axes, Group, permuted, reshape_groups

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from qbc.passes.base import CompileContext

Replace = Callable[[Operation, SSAValue], None]


def fold_into_linear_after(op: ReshapeOp, transpose: TransposeOp, ctx: CompileContext, replace: Replace) -> bool:
    """`linear(reshape(transpose(x)))`, where the reshape merges transposed axes -> `linear'(reshape(x))`.

    The columns of the weight are put into the order of x. Unary functions may stand between. Returns whether it was
    done.
    """
    middle, after = shape_of(op.operands[0]), shape_of(op.results[0])
    group = _last_group(middle, after)
    permutation = transpose.ints("permutation")
    if group is None or not _leading_in_place(middle, permutation, group):
        return False
    consumers = _linear_users(op.results[0])
    if consumers is None:
        return False
    sizes = [middle[axis] for axis in group.before]
    # position of every axis of x inside the merged group, in the order of x
    order = sorted(range(len(sizes)), key=lambda index: permutation[group.before[index]])
    for linear in consumers:
        weight = _read(ctx, linear.weight)
        columns = weight.reshape(-1, *sizes).transpose(0, *[1 + index for index in order]).reshape(weight.shape)
        linear.properties["weight"] = write_blob(ctx.store, columns)
    flat = ReshapeOp.of(transpose.operands[0], result_type=op.results[0].type, location=op.location)
    cast("Any", op.parent).insert_op_before(flat, op)
    replace(op, flat.results[0])
    return True


def _last_group(middle: tuple[int, ...], after: tuple[int, ...]) -> Group | None:
    """Return the group that forms the last axis of a reshape, if that axis is made of several axes alone."""
    groups = reshape_groups(middle, after) if DYNAMIC not in middle[1:] else None
    solid = [group for group in groups or [] if group.after and group.before]
    if not solid or solid[-1].after != (len(after) - 1,):
        return None
    return solid[-1]


def _leading_in_place(shape: tuple[int, ...], permutation: Axes, group: Group) -> bool:
    """Return whether the other axes stay before those of the group, in order (axes of size 1 aside)."""
    outside = [permutation[axis] for axis in range(len(shape)) if axis not in group.before and shape[axis] != 1]
    order = outside + sorted(permutation[axis] for axis in group.before)
    return order == sorted(order)


def _linear_users(value: SSAValue) -> list[LinearOp] | None:
    """Return the linear ops that alone use `value`, directly or behind unary functions; None when others do."""
    found: list[LinearOp] = []
    pending = [use.operation for use in value.uses]
    while pending:
        user = pending.pop()
        if isinstance(user, LinearOp):
            found.append(user)
            continue
        if not isinstance(user, FunctionOp) or not user.results[0].uses:
            return None
        pending += [use.operation for use in user.results[0].uses]
    return found or None


def fold_into_linear_before(op: MbltOp, users: Sequence[Operation], ctx: CompileContext, replace: Replace) -> bool:
    """`transpose(reshape(linear(x)))`, where the reshape splits the channels -> `reshape(linear'(x))`.

    The rows of the weight and the bias are put into the order of the result. Returns whether it was done.
    """
    linear = op.operands[0].owner if isinstance(op, ReshapeOp) else None
    if not isinstance(linear, LinearOp) or len(set(linear.results[0].uses)) != 1:
        return False
    before, after = shape_of(op.operands[0]), shape_of(op.results[0])
    permutation = cast("TransposeOp", users[0]).ints("permutation")
    group = _last_group(after, before)
    if group is None or {permutation[axis] for axis in group.before} != set(group.before):
        return False
    if not _leading_in_place(after, permutation, group):
        return False
    sizes = [after[axis] for axis in group.before]
    order = [permutation[axis] - group.before[0] for axis in group.before]
    _reorder_rows(linear, ctx, sizes, order)
    element = cast("TensorType[Attribute]", op.results[0].type).element_type
    target = TensorType(element, list(permuted(after, permutation)))
    flat = ReshapeOp.of(linear.results[0], result_type=target, location=op.location)
    cast("Any", op.parent).insert_op_before(flat, op)
    for user in users:
        replace(user, flat.results[0])
    return True


def _reorder_rows(linear: LinearOp, ctx: CompileContext, sizes: Sequence[int], order: Sequence[int]) -> None:
    weight = _read(ctx, linear.weight)
    rows = weight.reshape(*sizes, -1).transpose(*order, len(sizes)).reshape(weight.shape)
    linear.properties["weight"] = write_blob(ctx.store, rows)
    if linear.bias is not None:
        bias = _read(ctx, linear.bias)
        linear.properties["bias"] = write_blob(ctx.store, bias.reshape(sizes).transpose(order).reshape(-1))


def _read(ctx: CompileContext, handle: BlobAttr) -> npt.NDArray[np.generic]:
    return read_blob(ctx.store, handle)
