"""Convolutions and linear layers: integer accumulation, one rounding per output, fused table or addition."""

from __future__ import annotations

from typing import ClassVar

from xdsl.irdl import irdl_op_definition, opt_prop_def, prop_def
from xdsl.utils.exceptions import VerifyException

from qbc.dialects.common.properties import INT, INT_LIST, STRING
from qbc.dialects.common.shapes import window_size
from qbc.dialects.npu.base import (
    BLOB,
    KernelOp,
    expect_blob,
    expect_element,
    expect_length,
    expect_positive,
    expect_shape,
)
from qbc.dialects.npu.types import NpuTensorType

FUSED_ADD = ("add_ma", "add_mb", "add_s", "add_za", "add_zb", "add_z", "add_lo", "add_hi")
PLANES = ("full", "hi", "lo")
TABLE_ENTRIES = 256


class AccumulateOp(KernelOp):
    """What convolutions and linear layers share.

    `acc[c] = bias[c] + sum x*weight` (the bias holds the correction of the input zero point), then
    `y = clamp(z + ((acc*multiplier[c] + 2^(shift[c]-1)) >> shift[c]), lo, hi)`; a `table` maps the code; with the
    `add_*` properties the last input is a residual that is added to the code as `npu.add` would (`add_dtype`: type of
    that code where it is not the type of the result).
    For i16 inputs plane "hi" writes the raw sum over the high bytes as i32, plane "lo" takes it as second input.
    With `channels = [begin, end]` (buffer form) the command computes and writes these output channels only, with groups
    whole groups; everything else stands for the whole operation.
    """

    INPUTS: ClassVar[tuple[int, int]] = (1, 3)

    zx = prop_def(INT)
    z = prop_def(INT)
    lo = prop_def(INT)
    hi = prop_def(INT)
    plane = opt_prop_def(STRING)
    weight = prop_def(BLOB)
    bias = opt_prop_def(BLOB)
    multiplier = opt_prop_def(BLOB)
    shift = opt_prop_def(BLOB)
    table = opt_prop_def(BLOB)
    add_ma = opt_prop_def(INT)
    add_mb = opt_prop_def(INT)
    add_s = opt_prop_def(INT)
    add_za = opt_prop_def(INT)
    add_zb = opt_prop_def(INT)
    add_z = opt_prop_def(INT)
    add_lo = opt_prop_def(INT)
    add_hi = opt_prop_def(INT)
    add_dtype = opt_prop_def(STRING)
    channels = opt_prop_def(INT_LIST)

    @property
    def plane_name(self) -> str:
        """`full`, `hi` or `lo`."""
        return self.plane.data if self.plane is not None else "full"

    @property
    def has_fused_add(self) -> bool:
        """Whether the last input is a residual."""
        return "add_ma" in self.properties

    @property
    def block(self) -> tuple[int, int]:
        """The output channels that the command computes: first, and one after the last."""
        if self.channels is None:
            return 0, self.output_type.shape[-1]
        begin, end = self.integers("channels")
        return begin, end

    @property
    def outputs_per_group(self) -> int:
        """Output channels that share their input channels with others: blocks are multiples of it."""
        groups = self.integer("groups") if "groups" in self.properties else 1
        return self.output_type.shape[-1] // groups if groups > 1 else 1

    def verify_call(self, inputs: tuple[NpuTensorType, ...], output: NpuTensorType) -> None:
        if self.plane_name not in PLANES:
            raise VerifyException(f"plane must be one of {', '.join(PLANES)}, not {self.plane_name!r}")
        given = [name for name in FUSED_ADD if name in self.properties]
        if given and len(given) != len(FUSED_ADD):
            raise VerifyException("a fused addition needs all of " + ", ".join(FUSED_ADD))
        expect_element("input", inputs[0], ("i8", "i16"))
        self._verify_planes(inputs, output)
        self._verify_constants(output.shape[-1])
        if self.channels is not None:
            self._verify_block(output.shape[-1])

    def _verify_planes(self, inputs: tuple[NpuTensorType, ...], output: NpuTensorType) -> None:
        expected = 1 + (self.plane_name == "lo") + self.has_fused_add
        if len(inputs) != expected:
            raise VerifyException(f"expects {expected} inputs (x, accumulator, residual), has {len(inputs)}")
        if self.plane_name == "hi":
            expect_element("output of plane hi", output, ("i32",))
            return
        expect_element("output", output, ("i8", "i16"))
        if self.plane_name == "lo" and (inputs[1].element != "i32" or inputs[1].shape != output.shape):
            raise VerifyException("the accumulator of plane lo must be i32 of the result shape")
        if self.has_fused_add and inputs[-1].shape != output.shape:
            raise VerifyException("the residual must have the shape of the result")

    def _verify_block(self, channels: int) -> None:
        expect_length("channels", self.integers("channels"), 2)
        begin, end = self.block
        if self.results:
            raise VerifyException("a block of channels has no value form: several commands write one buffer")
        if not 0 <= begin < end <= channels:
            raise VerifyException(f"channels [{begin}, {end}] is not a block of {channels} output channels")
        if begin % self.outputs_per_group or end % self.outputs_per_group:
            raise VerifyException(f"channels [{begin}, {end}] splits a group of {self.outputs_per_group}")

    def _verify_constants(self, channels: int) -> None:
        constants = self.call_constants()
        if self.plane_name != "hi":
            for name in ("bias", "multiplier", "shift"):
                if name not in constants:
                    raise VerifyException(f"{name} is missing")
        for name in ("bias", "multiplier", "shift"):
            if name in constants:
                expect_blob(name, constants[name], (channels,), ("int64",))
        if "table" in constants:
            expect_blob("table", constants["table"], (TABLE_ENTRIES,), ("int8", "int16"))


class SpatialOp(AccumulateOp):
    """Convolutions on `[N, H, W, C]`."""

    strides = prop_def(INT_LIST)
    padding = prop_def(INT_LIST)
    dilations = prop_def(INT_LIST)
    groups = prop_def(INT)

    def verify_window(self, inputs: tuple[NpuTensorType, ...], output: NpuTensorType) -> tuple[int, ...]:
        """Check the window properties and the weight; return the weight shape `[OC, KH, KW, IC/groups]`."""
        strides, padding, dilations = (self.integers(name) for name in ("strides", "padding", "dilations"))
        expect_length("strides", strides, 2)
        expect_length("padding", padding, 4)
        expect_length("dilations", dilations, 2)
        expect_positive("strides", strides)
        expect_positive("dilations", dilations)
        if len(inputs[0].shape) != 4 or len(output.shape) != 4:
            raise VerifyException("input and result must have the shape [N, H, W, C]")
        weight = self.call_constants()["weight"].shape
        groups = self.integer("groups")
        channels = inputs[0].shape[3]
        if len(weight) != 4:
            raise VerifyException("weight must have the shape [OC, KH, KW, IC/groups]")
        if groups < 1 or channels % groups or weight[0] % groups:
            raise VerifyException(f"groups = {groups} does not divide {channels} input and {weight[0]} output channels")
        expect_blob("weight", self.call_constants()["weight"], (*weight[:3], channels // groups), ("int8",))
        return weight


class ForwardConvOp(SpatialOp):
    """Shape rule of forward convolutions."""

    KIND: ClassVar[str] = "conv2d"

    def verify_call(self, inputs: tuple[NpuTensorType, ...], output: NpuTensorType) -> None:
        weight = self.verify_window(inputs, output)
        strides, padding, dilations = (self.integers(name) for name in ("strides", "padding", "dilations"))
        batch, height, width, _ = inputs[0].shape
        rows = window_size(height, weight[1], strides[0], padding[0], padding[2], dilations[0])
        columns = window_size(width, weight[2], strides[1], padding[1], padding[3], dilations[1])
        expect_shape(output, (batch, rows, columns, weight[0]))
        super().verify_call(inputs, output)


@irdl_op_definition
class Conv2dOp(ForwardConvOp):
    """Convolution `[N,H,W,C] -> [N,OH,OW,OC]` with weight `[OC,KH,KW,C/groups]`.

    `acc[o] = bias[o] + sum x*weight` over the window, padded positions hold `zx`;
    `y = clamp(z + ((acc*multiplier[o] + 2^(shift[o]-1)) >> shift[o]), lo, hi)`, then `table[y + 128]`, or the addition
    of the last input with the `add_*` properties. 16-bit inputs: plane "hi" writes the partial sums over the high bytes
    (i32), plane "lo" takes them as its second input and finishes.
    """

    name = "npu.conv2d"


@irdl_op_definition
class DepthwiseConv2dOp(ForwardConvOp):
    """`npu.conv2d` with one group per input channel: weight `[OC,KH,KW,1]`, `OC` a multiple of the channels."""

    name = "npu.depthwise_conv2d"

    def verify_call(self, inputs: tuple[NpuTensorType, ...], output: NpuTensorType) -> None:
        super().verify_call(inputs, output)
        if self.integer("groups") != inputs[0].shape[3]:
            raise VerifyException("a depthwise convolution has one group per input channel")


@irdl_op_definition
class TransposeConv2dOp(SpatialOp):
    """Transposed convolution with weight `[OC,KH,KW,C/groups]`; what follows the sum is that of `npu.conv2d`.

    Inputs are `strides` apart, the gaps between them and the borders hold `zx`; the result shape fixes the padding of
    the output, which is smaller than the stride or the dilation.
    """

    name = "npu.transpose_conv2d"
    KIND: ClassVar[str] = "transpose_conv2d"

    def verify_call(self, inputs: tuple[NpuTensorType, ...], output: NpuTensorType) -> None:
        weight = self.verify_window(inputs, output)
        strides, padding, dilations = (self.integers(name) for name in ("strides", "padding", "dilations"))
        if (output.shape[0], output.shape[3]) != (inputs[0].shape[0], weight[0]):
            raise VerifyException("batch or channels of the result are wrong")
        for axis in (0, 1):
            size = (inputs[0].shape[1 + axis] - 1) * strides[axis] + dilations[axis] * (weight[1 + axis] - 1) + 1
            least = size - padding[axis] - padding[axis + 2]
            limit = least + max(strides[axis], dilations[axis])
            if not least <= output.shape[1 + axis] < limit:
                raise VerifyException(f"result size {output.shape[1 + axis]} is not in {least}..{limit - 1}")
        super().verify_call(inputs, output)


@irdl_op_definition
class LinearOp(AccumulateOp):
    """Fully connected layer over the last axis: `[..., IC] -> [..., OC]`, weight `[OC, IC]`.

    `acc[o] = bias[o] + sum_i x[i]*weight[o,i]`; what follows is that of `npu.conv2d`.
    """

    name = "npu.linear"
    KIND: ClassVar[str] = "linear"

    def verify_call(self, inputs: tuple[NpuTensorType, ...], output: NpuTensorType) -> None:
        weight = self.call_constants()["weight"]
        if len(weight.shape) != 2 or not inputs[0].shape:
            raise VerifyException("weight must have the shape [OC, IC] and the input at least one axis")
        expect_blob("weight", weight, (weight.shape[0], inputs[0].shape[-1]), ("int8",))
        expect_shape(output, (*inputs[0].shape[:-1], weight.shape[0]))
        super().verify_call(inputs, output)
