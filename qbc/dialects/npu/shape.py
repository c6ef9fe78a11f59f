"""Data movement: bit copies of codes."""

from __future__ import annotations

from typing import ClassVar

from xdsl.irdl import irdl_op_definition, opt_prop_def, prop_def
from xdsl.utils.exceptions import VerifyException

from qbc.dialects.common.properties import INT, INT_LIST, STRING
from qbc.dialects.npu.base import (
    BLOB,
    KernelOp,
    expect_blob,
    expect_element,
    expect_length,
    expect_positive,
    expect_same_element,
    expect_shape,
)
from qbc.dialects.npu.types import NpuTensorType


class MoveOp(KernelOp):
    """Operations that copy codes unchanged."""

    def verify_call(self, inputs: tuple[NpuTensorType, ...], output: NpuTensorType) -> None:
        expect_same_element(inputs, output)
        self.verify_move(inputs, output)

    def verify_move(self, inputs: tuple[NpuTensorType, ...], output: NpuTensorType) -> None:
        """Check the shapes of the copy."""
        raise VerifyException("has no shape rule")


@irdl_op_definition
class ReshapeOp(MoveOp):
    """Same codes in C order under another shape."""

    name = "npu.reshape"
    KIND: ClassVar[str] = "reshape"

    def verify_move(self, inputs: tuple[NpuTensorType, ...], output: NpuTensorType) -> None:
        if inputs[0].size != output.size:
            raise VerifyException(f"{list(inputs[0].shape)} and {list(output.shape)} have different sizes")


@irdl_op_definition
class TransposeOp(MoveOp):
    """Axis `i` of the result is axis `permutation[i]` of the input."""

    name = "npu.transpose"
    KIND: ClassVar[str] = "transpose"
    permutation = prop_def(INT_LIST)

    def verify_move(self, inputs: tuple[NpuTensorType, ...], output: NpuTensorType) -> None:
        permutation, shape = self.integers("permutation"), inputs[0].shape
        if sorted(permutation) != list(range(len(shape))):
            raise VerifyException(f"{list(permutation)} is not a permutation of {len(shape)} axes")
        expect_shape(output, [shape[axis] for axis in permutation])


@irdl_op_definition
class SliceOp(MoveOp):
    """Element `i` of the result along an axis is element `start + i*step` of the input."""

    name = "npu.slice"
    KIND: ClassVar[str] = "slice"
    starts = prop_def(INT_LIST)
    steps = prop_def(INT_LIST)

    def verify_move(self, inputs: tuple[NpuTensorType, ...], output: NpuTensorType) -> None:
        starts, steps, shape = self.integers("starts"), self.integers("steps"), inputs[0].shape
        expect_length("starts", starts, len(shape))
        expect_length("steps", steps, len(shape))
        if len(output.shape) != len(shape):
            raise VerifyException("a slice keeps the rank")
        for size, start, step, count in zip(shape, starts, steps, output.shape, strict=True):
            if start < 0 or step < 1 or start + (count - 1) * step >= size:
                raise VerifyException(f"start {start}, step {step}, count {count} leave the axis of size {size}")


@irdl_op_definition
class ConcatOp(MoveOp):
    """Inputs of one encoding side by side along `axis`."""

    name = "npu.concat"
    KIND: ClassVar[str] = "concat"
    INPUTS: ClassVar[tuple[int, int]] = (1, 255)
    axis = prop_def(INT)

    def verify_move(self, inputs: tuple[NpuTensorType, ...], output: NpuTensorType) -> None:
        axis, shape = self.integer("axis"), list(inputs[0].shape)
        if not 0 <= axis < len(shape) or any(len(value.shape) != len(shape) for value in inputs):
            raise VerifyException(f"axis {axis} or the ranks of the inputs do not fit")
        shape[axis] = sum(value.shape[axis] for value in inputs)
        for value in inputs:
            if value.shape[:axis] != output.shape[:axis] or value.shape[axis + 1 :] != output.shape[axis + 1 :]:
                raise VerifyException(f"input shape {list(value.shape)} does not fit {list(output.shape)}")
        expect_shape(output, shape)


@irdl_op_definition
class ExpandOp(MoveOp):
    """Broadcast to the result shape."""

    name = "npu.expand"
    KIND: ClassVar[str] = "expand"

    def verify_move(self, inputs: tuple[NpuTensorType, ...], output: NpuTensorType) -> None:
        shape = inputs[0].shape
        tail = output.shape[len(output.shape) - len(shape) :]
        if len(shape) > len(output.shape) or any(a not in (1, b) for a, b in zip(shape, tail, strict=True)):
            raise VerifyException(f"{list(shape)} does not broadcast to {list(output.shape)}")


@irdl_op_definition
class TileOp(MoveOp):
    """The input repeated `repeats[i]` times along axis `i`."""

    name = "npu.tile"
    KIND: ClassVar[str] = "tile"
    repeats = prop_def(INT_LIST)

    def verify_move(self, inputs: tuple[NpuTensorType, ...], output: NpuTensorType) -> None:
        repeats, shape = self.integers("repeats"), inputs[0].shape
        expect_length("repeats", repeats, len(shape))
        expect_positive("repeats", repeats)
        expect_shape(output, [size * count for size, count in zip(shape, repeats, strict=True)])


@irdl_op_definition
class GatherOp(KernelOp):
    """`data` at i32 `indices` along `axis`; a negative index counts from the end, any other outside is an error."""

    name = "npu.gather"
    KIND: ClassVar[str] = "gather"
    INPUTS: ClassVar[tuple[int, int]] = (2, 2)
    axis = prop_def(INT)

    def verify_call(self, inputs: tuple[NpuTensorType, ...], output: NpuTensorType) -> None:
        data, indices = inputs
        expect_same_element((data,), output)
        expect_element("indices", indices, ("i32",))
        axis = self.integer("axis")
        if not 0 <= axis < len(data.shape):
            raise VerifyException(f"axis {axis} is not an axis of {list(data.shape)}")
        expect_shape(output, (*data.shape[:axis], *indices.shape, *data.shape[axis + 1 :]))


@irdl_op_definition
class PadOp(MoveOp):
    """Border of a constant code, of one code per channel (`codes`), or of mirrored or repeated codes (`mode`)."""

    name = "npu.pad"
    KIND: ClassVar[str] = "pad"
    before = prop_def(INT_LIST)
    after = prop_def(INT_LIST)
    mode = opt_prop_def(STRING)
    value = opt_prop_def(INT)
    codes = opt_prop_def(BLOB)

    def verify_move(self, inputs: tuple[NpuTensorType, ...], output: NpuTensorType) -> None:
        before, after, shape = self.integers("before"), self.integers("after"), inputs[0].shape
        expect_length("before", before, len(shape))
        expect_length("after", after, len(shape))
        if any(value < 0 for value in (*before, *after)):
            raise VerifyException("padding must not be negative")
        expect_shape(output, [a + size + b for a, size, b in zip(before, shape, after, strict=True)])
        if self.codes is not None:
            expect_blob("codes", self.call_constants()["codes"], (shape[-1],), ("int8", "int16"))
        if self.mode is not None and self.mode.data not in ("constant", "reflect", "edge"):
            raise VerifyException(f"unknown padding mode {self.mode.data!r}")
