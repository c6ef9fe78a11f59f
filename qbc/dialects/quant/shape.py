"""Data movement: codes are copied, never rescaled, so input and output have one encoding."""

from __future__ import annotations

import math

from xdsl.dialects.builtin import TensorType
from xdsl.irdl import irdl_op_definition, operand_def, opt_prop_def, prop_def, result_def
from xdsl.utils.exceptions import VerifyException

from qbc.dialects.common import broadcast
from qbc.dialects.quant.base import (
    BLOB,
    FLOAT,
    INT,
    INTS,
    TEXT,
    QuantOp,
    UnaryOp,
    VariadicOp,
    integer,
    ints,
    shape_of,
)


@irdl_op_definition
class ReshapeOp(UnaryOp):
    """Same elements in the same order; the result type says the shape."""

    name = "quant.reshape"

    def verify_(self) -> None:
        if math.prod(shape_of(self.operands[0])) != math.prod(shape_of(self.output)):
            raise VerifyException("the number of elements changes")


@irdl_op_definition
class TransposeOp(UnaryOp):
    """`y[i_0, ...] = x[...]` with axis `k` of the result being axis `permutation[k]` of the operand."""

    name = "quant.transpose"
    permutation = prop_def(INTS)

    def infer_shape(self) -> tuple[int, ...] | None:
        shape, permutation = shape_of(self.operands[0]), ints(self, "permutation")
        if sorted(permutation) != list(range(len(shape))):
            raise VerifyException(f"permutation {list(permutation)} does not fit rank {len(shape)}")
        return tuple(shape[axis] for axis in permutation)


@irdl_op_definition
class ConcatOp(VariadicOp):
    """Joins operands along `axis`; all operands and the result have one encoding."""

    name = "quant.concat"
    axis = prop_def(INT)

    def infer_shape(self) -> tuple[int, ...] | None:
        shapes = [shape_of(value) for value in self.operands]
        axis = integer(self, "axis") % len(shapes[0])
        rest = {shape[:axis] + shape[axis + 1 :] for shape in shapes}
        if len(rest) != 1:
            raise VerifyException(f"operand shapes differ outside axis {axis}: {[list(shape) for shape in shapes]}")
        return (*shapes[0][:axis], sum(shape[axis] for shape in shapes), *shapes[0][axis + 1 :])


@irdl_op_definition
class SliceOp(UnaryOp):
    """`x[starts:ends:steps]` on every axis; `starts` and `ends` non-negative, `steps >= 1`."""

    name = "quant.slice"
    starts = prop_def(INTS)
    ends = opt_prop_def(INTS)
    steps = prop_def(INTS)

    def infer_shape(self) -> tuple[int, ...] | None:
        if "ends" not in self.properties:
            return None
        shape = shape_of(self.operands[0])
        bounds = zip(ints(self, "starts"), ints(self, "ends"), ints(self, "steps"), shape, strict=True)
        return tuple(max(0, -(-(min(end, size) - start) // step)) for start, end, step, size in bounds)


@irdl_op_definition
class ExpandOp(UnaryOp):
    """Broadcasts axes of size 1 to the result shape (equal rank)."""

    name = "quant.expand"

    def verify_(self) -> None:
        source, target = shape_of(self.operands[0]), shape_of(self.output)
        if broadcast(source, target) != target:
            raise VerifyException(f"shape {list(source)} does not expand to {list(target)}")


@irdl_op_definition
class PadOp(UnaryOp):
    """Adds `before` and `after` elements on each axis.

    Float levels: `mode` "constant" with `value`, or `values` (one for each channel of the last axis). Materialized:
    `value` is a code, or `codes` holds one per channel.
    """

    name = "quant.pad"
    before = prop_def(INTS)
    after = prop_def(INTS)
    mode = opt_prop_def(TEXT)
    value = opt_prop_def(FLOAT | INT)
    values = opt_prop_def(BLOB)
    codes = opt_prop_def(BLOB)

    def infer_shape(self) -> tuple[int, ...] | None:
        sides = zip(ints(self, "before"), shape_of(self.operands[0]), ints(self, "after"), strict=True)
        return tuple(before + size + after for before, size, after in sides)


@irdl_op_definition
class GatherOp(QuantOp):
    """`y = take(data, indices, axis)`; indices are i32 without an encoding, negative ones count from the end."""

    name = "quant.gather"
    data = operand_def(TensorType)
    indices = operand_def(TensorType)
    result = result_def(TensorType)
    axis = prop_def(INT)

    def infer_shape(self) -> tuple[int, ...] | None:
        shape, indices = shape_of(self.operands[0]), shape_of(self.operands[1])
        axis = integer(self, "axis") % len(shape)
        return (*shape[:axis], *indices, *shape[axis + 1 :])
