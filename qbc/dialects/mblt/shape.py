"""Data movement: ops that place elements and compute none."""

from __future__ import annotations

from math import prod
from typing import ClassVar

from xdsl.dialects.builtin import IntegerType
from xdsl.ir import Attribute
from xdsl.irdl import irdl_op_definition, operand_def, opt_prop_def, var_operand_def

from qbc.dialects.blob import BlobAttr
from qbc.dialects.common.properties import f32_prop, int_list_prop, int_prop, str_prop
from qbc.dialects.common.shapes import DYNAMIC, broadcast, compatible, normalize_axis
from qbc.dialects.mblt.base import TENSOR, MbltOp, check_blob, element_of, require, shape_of


@irdl_op_definition
class ReshapeOp(MbltOp):
    """The elements of x in row-major order, in the shape of the result type."""

    name = "mblt.reshape"
    x = operand_def(TENSOR)

    def infer_result_type(self) -> Attribute:
        before, after = shape_of(self.operands[0]), shape_of(self.results[0])
        require(after.count(DYNAMIC) <= 1, "at most one size of the result may be unknown")
        if DYNAMIC not in before and DYNAMIC not in after:
            require(prod(before) == prod(after), f"shapes {list(before)} and {list(after)} differ in size")
        return self.with_shape(after)


@irdl_op_definition
class TransposeOp(MbltOp):
    """Axis i of the result is axis `permutation[i]` of x."""

    name = "mblt.transpose"
    x = operand_def(TENSOR)
    permutation = int_list_prop()

    def infer_result_type(self) -> Attribute:
        shape, permutation = shape_of(self.operands[0]), self.ints("permutation")
        require(
            sorted(permutation) == list(range(len(shape))),
            f"{list(permutation)} is no permutation of {len(shape)} axes",
        )
        return self.with_shape([shape[axis] for axis in permutation])


@irdl_op_definition
class ConcatOp(MbltOp):
    """Join the operands along `axis`; their other sizes are equal."""

    name = "mblt.concat"
    inputs = var_operand_def(TENSOR)
    axis = int_prop()

    def infer_result_type(self) -> Attribute:
        require(len(self.operands) >= 1, "expected at least one operand")
        shapes = [shape_of(operand) for operand in self.operands]
        axis = normalize_axis(self.axis.value.data, len(shapes[0]))
        others = [(*shape[:axis], *shape[axis + 1 :]) for shape in shapes]
        for shape, operand in zip(others, self.operands, strict=True):
            require(compatible(shape, others[0]), f"operands differ outside axis {axis}: {[list(s) for s in shapes]}")
            require(element_of(operand) == element_of(self.operands[0]), "operands differ in element type")
        sizes = [shape[axis] for shape in shapes]
        total = DYNAMIC if DYNAMIC in sizes else sum(sizes)
        return self.with_shape((*shapes[0][:axis], total, *shapes[0][axis + 1 :]))


@irdl_op_definition
class SliceOp(MbltOp):
    """`y[i...] = x[starts + i*steps ...]` up to `ends`, one value an axis; 0 <= starts, ends <= size, steps >= 1."""

    name = "mblt.slice"
    x = operand_def(TENSOR)
    starts = int_list_prop()
    ends = int_list_prop()
    steps = int_list_prop()

    def check(self) -> None:
        rank = len(shape_of(self.operands[0]))
        for name in ("starts", "ends", "steps"):
            require(len(self.ints(name)) == rank, f"expected {rank} values in {name}, got {list(self.ints(name))}")
        require(min(self.ints("starts"), default=0) >= 0, "starts must not be negative")
        require(min(self.ints("steps"), default=1) >= 1, "steps must be positive")

    def infer_result_type(self) -> Attribute:
        sizes = zip(shape_of(self.operands[0]), self.ints("starts"), self.ints("ends"), self.ints("steps"), strict=True)
        return self.with_shape([_sliced(*entry) for entry in sizes])


def _sliced(size: int, start: int, end: int, step: int) -> int:
    if size == DYNAMIC:
        return DYNAMIC
    require(start <= end <= size, f"slice {start}..{end} is outside the size {size}")
    return -(-(end - start) // step)


@irdl_op_definition
class ExpandOp(MbltOp):
    """x repeated along its axes of size 1 to the shape of the result type (equal rank)."""

    name = "mblt.expand"
    x = operand_def(TENSOR)

    def infer_result_type(self) -> Attribute:
        before, after = shape_of(self.operands[0]), shape_of(self.results[0])
        require(compatible(broadcast(before, after), after), f"shape {list(before)} does not expand to {list(after)}")
        return self.with_shape(after)


@irdl_op_definition
class PadOp(MbltOp):
    """Add `before` and `after` elements at the ends of every axis.

    mode "constant" adds `value`, or `values[c]` (a blob of shape [C]) in channel c of the last axis, which then is not
    padded; "edge" the outermost element, "reflect" the mirror image without the outermost one.
    """

    name = "mblt.pad"
    DEFAULTS: ClassVar[dict[str, object]] = {"mode": "constant", "value": 0.0}
    x = operand_def(TENSOR)
    before = int_list_prop()
    after = int_list_prop()
    mode = str_prop()
    value = f32_prop()
    values = opt_prop_def(BlobAttr)

    def check(self) -> None:
        rank, mode = len(shape_of(self.operands[0])), self.mode.data
        require(mode in ("constant", "reflect", "edge"), f"mode must be constant, reflect or edge, got {mode!r}")
        for name in ("before", "after"):
            require(len(self.ints(name)) == rank, f"expected {rank} values in {name}, got {list(self.ints(name))}")
            require(min(self.ints(name), default=0) >= 0, f"{name} must not be negative, got {list(self.ints(name))}")
        if self.values is not None:
            require(mode == "constant", "values exist only with the mode constant")
            check_blob(self.values, shape_of(self.operands[0])[-1:], "values")
            require(self.ints("before")[-1] == self.ints("after")[-1] == 0, "with values the last axis is not padded")

    def infer_result_type(self) -> Attribute:
        sizes = zip(shape_of(self.operands[0]), self.ints("before"), self.ints("after"), strict=True)
        return self.with_shape([DYNAMIC if size == DYNAMIC else low + size + high for size, low, high in sizes])


@irdl_op_definition
class GatherOp(MbltOp):
    """`y[a..., i..., b...] = data[a..., indices[i...], b...]`, the index at `axis`; indices are i32 or i64 in range."""

    name = "mblt.gather"
    data = operand_def(TENSOR)
    indices = operand_def(TENSOR)
    axis = int_prop()

    def check(self) -> None:
        element = element_of(self.operands[1])
        require(isinstance(element, IntegerType), f"expected indices of an integer type, got {element}")

    def infer_result_type(self) -> Attribute:
        shape = shape_of(self.operands[0])
        axis = normalize_axis(self.axis.value.data, len(shape))
        return self.with_shape((*shape[:axis], *shape_of(self.operands[1]), *shape[axis + 1 :]))


@irdl_op_definition
class TileOp(MbltOp):
    """x repeated `repeats[i]` times along axis i."""

    name = "mblt.tile"
    x = operand_def(TENSOR)
    repeats = int_list_prop()

    def check(self) -> None:
        rank = len(shape_of(self.operands[0]))
        require(len(self.ints("repeats")) == rank, f"expected {rank} repeats, got {list(self.ints('repeats'))}")
        require(min(self.ints("repeats"), default=1) >= 1, "repeats must be positive")

    def infer_result_type(self) -> Attribute:
        sizes = zip(shape_of(self.operands[0]), self.ints("repeats"), strict=True)
        return self.with_shape([DYNAMIC if size == DYNAMIC else size * count for size, count in sizes])


@irdl_op_definition
class CastOp(MbltOp):
    """x converted to the element type of the result (numpy rules; float to integer rounds toward zero)."""

    name = "mblt.cast"
    x = operand_def(TENSOR)

    def infer_result_type(self) -> Attribute:
        return self.with_shape(shape_of(self.operands[0]), element_of(self.results[0]))
