"""What the mblt rewrites share: reading constants, copying ops with changes, replacing a group by one op.

A matcher returns None unless every condition holds; the ops it walked through are named in the location of what
replaces them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, TensorType
from xdsl.ir import Operation, SSAValue
from xdsl.pattern_rewriter import PatternRewriter
from xdsl.traits import is_side_effect_free

from qbc.dialects.blob import BlobAttr, dtype_name, write_blob
from qbc.dialects.mblt import ConstantOp, MbltOp, shape_of
from qbc.passes.base import CompileContext, array_of, erase_dead_ops, fuse_locations, source_names

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Array = npt.NDArray[np.generic]
    Float64Array = npt.NDArray[np.float64]


# --- constants -------------------------------------------------------------------------------------------------


def constant_data(ctx: CompileContext, value: SSAValue) -> Array | None:
    """Return the data of a value made by `mblt.constant`, or None."""
    import numpy as np

    if not isinstance(value.owner, ConstantOp):
        return None
    handle = value.owner.properties["value"]
    if isinstance(handle, BlobAttr):
        return array_of(ctx, handle)
    if not isinstance(handle, DenseIntOrFPElementsAttr):
        return None
    data = np.array(list(handle.get_values()), dtype=dtype_name(handle.get_element_type()))
    return data.reshape(handle.get_shape()) if data.size > 1 else np.full(handle.get_shape(), data)


def scalar(ctx: CompileContext, value: SSAValue) -> float | None:
    """Return the number that all elements of a floating-point constant equal, or None."""
    data = constant_data(ctx, value)
    if data is None or data.dtype.kind != "f" or data.size == 0:
        return None
    first = data.flat[0]
    return float(first) if bool((data == first).all()) else None


def channel_vector(ctx: CompileContext, value: SSAValue, channels: int) -> Float64Array | None:
    """Return a constant that varies along the last axis only (or not at all) as `channels` numbers, or None."""
    import numpy as np

    data = constant_data(ctx, value)
    if data is None or data.dtype.kind != "f" or data.ndim == 0:
        return None
    if data.size not in (1, channels) or data.shape[-1] != data.size:
        return None
    return np.broadcast_to(data.reshape(-1), (channels,)).astype(np.float64)


def constant_along(ctx: CompileContext, value: SSAValue, of: SSAValue, axes: Sequence[int]) -> Float64Array | None:
    """Return a constant that varies only along `axes` of `of`, broadcast to the sizes of those axes, or None."""
    import numpy as np

    data, shape = constant_data(ctx, value), shape_of(of)
    if data is None or data.dtype.kind != "f" or data.ndim != len(shape):
        return None
    for axis, size in enumerate(data.shape):
        if size != 1 and (axis not in axes or size != shape[axis]):
            return None
    kept = data.reshape([data.shape[axis] for axis in axes])
    return np.broadcast_to(kept, [shape[axis] for axis in axes]).astype(np.float64)


def split_constant(ctx: CompileContext, op: Operation) -> tuple[SSAValue, SSAValue] | None:
    """Return (computed operand, constant operand) of a commutative op, or None when not exactly one is constant."""
    left, right = op.operands
    constant_left, constant_right = (isinstance(value.owner, ConstantOp) for value in (left, right))
    if constant_left == constant_right:
        return None
    return (right, left) if constant_left else (left, right)


def invertible(data: Array) -> bool:
    """Whether one over every element is a finite float32."""
    import numpy as np

    return bool((np.abs(data) >= np.finfo(np.float32).tiny).all())


def new_constant(ctx: CompileContext, array: Any, dtype: str = "float32") -> ConstantOp:
    """Return an `mblt.constant` that holds `array` converted to `dtype`."""
    import numpy as np

    return ConstantOp.of_value(write_blob(ctx.store, np.asarray(array, dtype=dtype, order="C")))


def blob(ctx: CompileContext, array: Any) -> BlobAttr:
    """Put `array` into the store as float32."""
    import numpy as np

    return write_blob(ctx.store, np.asarray(array, dtype=np.float32, order="C"))


def read_float64(ctx: CompileContext, op: Operation, name: str) -> Float64Array:
    """Return a weight property in float64."""
    import numpy as np

    return array_of(ctx, op.properties[name]).astype(np.float64)


def read_optional(ctx: CompileContext, op: Operation, name: str) -> Float64Array | None:
    """Return a weight property in float64, or None when the op has none."""
    return read_float64(ctx, op, name) if name in op.properties else None


# --- ops -------------------------------------------------------------------------------------------------------


def is_float32(value: SSAValue) -> bool:
    """Whether a value holds float32."""
    return isinstance(value.type, TensorType) and dtype_name(value.type.element_type) == "float32"


def has_activation(op: Operation) -> bool:
    """Whether the op carries a fused activation."""
    return "activation" in op.properties


def made_by(value: SSAValue, *classes: type[Operation]) -> Operation | None:
    """Return the op that makes `value` when it is one of `classes` and carries no activation, else None."""
    owner = value.owner
    return owner if isinstance(owner, classes) and not has_activation(owner) else None


def only_for(value: SSAValue, users: Iterable[Operation]) -> bool:
    """Whether every use of `value` is by one of `users`."""
    allowed = set(users)
    return all(use.operation in allowed for use in value.uses)


def inner_values_stay_inside(ops: Sequence[Operation]) -> bool:
    """Whether the results of `ops` but the last are used by `ops` only (so that they vanish when the last goes)."""
    return all(only_for(result, ops) for op in ops[:-1] for result in op.results if not isinstance(op, ConstantOp))


def with_properties(op: MbltOp, changes: Mapping[str, object], operands: Sequence[SSAValue] | None = None) -> MbltOp:
    """Return a copy of `op` with other operands or properties (None removes one); the result type stays."""
    copy = rebuild(type(op), op.operands if operands is None else operands, {**op.properties, **changes}, op.results[0])
    copy.location = op.location
    return copy


def rebuild(
    cls: type[MbltOp], operands: Sequence[SSAValue | Operation], properties: Mapping[str, object], like: SSAValue
) -> MbltOp:
    """Return an op of `cls` with the result type of `like`."""
    build: Callable[..., MbltOp] = cls.of  # so that property names cannot be taken for the keywords of `of`
    return build(*operands, result_type=like.type, **properties)


def replace_group(
    rewriter: PatternRewriter, root: Operation, new_ops: Operation | Sequence[Operation], group: Sequence[Operation]
) -> None:
    """Replace `root` by `new_ops`, and erase what of `group` is then unused (an unused user would block other matches).

    The new ops name all source nodes of the group and the root.
    """
    listed = [new_ops] if isinstance(new_ops, Operation) else list(new_ops)
    # In program order, so that the location reads like the source model.
    ops = [op for op in dict.fromkeys([*group, root]) if not isinstance(op, ConstantOp)]
    location = fuse_locations(ops)
    for op in listed:
        op.location = location
    rewriter.replace(root, listed)
    for op in reversed(ops):
        if op is not root and not any(result.uses for result in op.results):
            rewriter.erase(op)


def note_removed(ctx: CompileContext, op: Operation, reason: str) -> None:
    """Record why the source nodes of `op` have no op any more (report table `removed`: node -> reason)."""
    table = ctx.report.setdefault("removed", {})
    for name in source_names(op):
        table.setdefault(name, reason)


def sweep(func: Operation, ctx: CompileContext) -> None:
    """Erase mblt ops whose results nobody uses any more, and record their source nodes as removed."""

    def is_removable(op: Operation) -> bool:
        if not isinstance(op, MbltOp) and not is_side_effect_free(op):
            return False
        note_removed(ctx, op, "its value is part of other ops, or unused")
        return True

    ctx.count("erased", erase_dead_ops(func, is_removable=is_removable))


def trailing_axes(rank: int, axes: Sequence[int]) -> int | None:
    """Return n when `axes` are exactly the last n of `rank` axes, else None."""
    places = sorted(axis % rank for axis in axes)
    return len(places) if places == list(range(rank - len(places), rank)) and places else None


def channels_of(value: SSAValue) -> int:
    """Return the size of the last axis."""
    return shape_of(value)[-1]
