"""`npu-split-planes`: weighted sums of 16-bit inputs become two commands of byte products."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects.builtin import StringAttr
from xdsl.rewriter import Rewriter

from qbc.dialects.npu import NpuTensorType, ProgramOp
from qbc.dialects.npu.convolution import FUSED_ADD, AccumulateOp
from qbc.passes.base import CompileContext
from qbc.passes.npu.programs import ProgramPass, commands

_LOW_ONLY = ("bias", "multiplier", "shift", "table", "add_dtype", *FUSED_ADD)


@dataclass(frozen=True)
class NpuSplitPlanes(ProgramPass):
    """Split convolutions and linear layers with i16 inputs into a high and a low plane command.

    A 16-bit code is `256*hi + lo` with two signed bytes, so `sum w*x = 256 * sum w*hi + sum w*lo`: the first command
    writes the partial sums over the high bytes, the second adds those over the low bytes and finishes.

    Before:
    ```mlir
    %1 = npu.linear %0 {...} : !npu.t<1x8xi16> -> !npu.t<1x4xi8>
    ```
    After:
    ```mlir
    %a = npu.linear %0 {..., plane = "hi"} : !npu.t<1x8xi16> -> !npu.t<1x4xi32>
    %1 = npu.linear %0, %a {..., plane = "lo"} : !npu.t<1x8xi16>, !npu.t<1x4xi32> -> !npu.t<1x4xi8>
    ```
    """

    name = "npu-split-planes"
    needs = ("npu.values",)

    def run(self, op: ProgramOp, ctx: CompileContext) -> None:
        for command in commands(op):
            if isinstance(command, AccumulateOp) and _is_whole(command):
                _split(command)
                ctx.count("split")


def _is_whole(command: AccumulateOp) -> bool:
    return command.plane_name == "full" and command.input_types[0].element == "i16"


def _split(command: AccumulateOp) -> None:
    x, *residual = command.inputs
    properties = command.call_properties()
    high = {name: value for name, value in properties.items() if name not in _LOW_ONLY}
    partial = NpuTensorType.of(command.output_type.shape, "i32")
    first = type(command).build_value([x], partial, {**high, "plane": StringAttr("hi")})
    inputs = [x, first.results[0], *residual]
    second = type(command).build_value(inputs, command.output_type, {**properties, "plane": StringAttr("lo")})
    first.location = second.location = command.location
    Rewriter.replace_op(command, [first, second], [second.results[0]])
