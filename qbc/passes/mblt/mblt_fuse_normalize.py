"""`mblt-fuse-normalize`: the normalisation of an image input becomes part of the first layer."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from xdsl.dialects.builtin import AnyFloat, TensorType, UnitAttr
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from qbc.dialects.common.graph import (
    NORMALIZED,
    argument_names,
    chosen_arguments,
    division_factor,
    set_argument_attribute,
)
from qbc.dialects.common.properties import int_list
from qbc.dialects.mblt import AddOp, Conv2dOp, LinearOp, MbltOp, MulOp, PadOp, shape_of
from qbc.errors import ConfigError
from qbc.passes.base import CompileContext, FunctionPass
from qbc.passes.mblt.layers import layer_of_affine, offset_is_exact
from qbc.passes.mblt.matching import blob, new_constant

if TYPE_CHECKING:
    from qbc.passes.mblt.matching import Float64Array


@dataclass(frozen=True)
class FuseNormalizePass(FunctionPass):
    """Make `(p / scale - mean[c]) / std[c]` part of the function, for pixels `p` in 0..255 of the inputs `inputs`.

    Without `inputs` these are all images (floats of rank 3 or 4) but those called `exclude`.
    An argument holds `p`, or `p / division_factor` where it is uint8. With `f = division_factor / (scale * std)` and
    `o = -mean / std` the function sees `x * f + o`. Convolutions and linear layers that read the argument take `f` into
    their weights and `o` into their bias, in float64. A zero that pads the normalised image is the raw value `-o / f`,
    another one in each channel, so padding becomes an explicit `mblt.pad` with these values.

    ```mlir
    %1 = mblt.conv2d %x {weight = W, bias = B, padding = [1, 1, 1, 1], ...}
    ```
    becomes
    ```mlir
    %0 = mblt.pad %x {before = [0, 1, 1, 0], after = [0, 1, 1, 0], mode = "constant", values = -o / f}
    %1 = mblt.conv2d %0 {weight = W * f, bias = B + sum(W * o), padding = [0, 0, 0, 0], ...}
    ```
    Other readers get the normalised value from a `mblt.mul` and a `mblt.add`, with a notice; there is one too where the
    pixel that normalises to 0 is no byte, and where a `division_factor` that is neither 1 nor 255 cancels out. Raises
    CONFIG_ERROR where mean or std do not fit the channels, and where there is no such input.
    """

    name = "mblt-fuse-normalize"
    needs = ("mblt",)
    changes_interface = True
    mean: tuple[float, ...] = (0.0,)
    std: tuple[float, ...] = (1.0,)
    scale: float = 255.0
    inputs: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not self.mean or not self.std:
            raise ValueError("mean and std need a value for all channels, or one for each")
        if not all(map(math.isfinite, (*self.mean, *self.std, self.scale))):
            raise ValueError("mean, std and scale must be finite")
        if min(*self.std, self.scale) <= 0:
            raise ValueError("std and scale must be positive")

    def run(self, op: FuncOp, ctx: CompileContext) -> None:
        for index in self._chosen(op):
            factor, offset = self._affine(op, index)
            name = argument_names(op)[index]
            self._tell_division(name, division_factor(op, index), ctx)
            padded = _normalize(op.args[index], factor, offset, name, ctx)
            if padded and division_factor(op, index) is not None:
                self._tell_border(name, ctx)
            set_argument_attribute(op, index, NORMALIZED, UnitAttr())

    def _tell_division(self, name: str, division: float | None, ctx: CompileContext) -> None:
        """Give a notice where bytes are divided by a factor of their own: the normalisation is one of bytes."""
        if division not in (None, 1.0, 255.0):
            ctx.notice(
                f"divisionFactor {division:g} has no effect on input {name!r}: normalize with fuseIntoFirstLayer takes "
                "the bytes themselves"
            )

    def _tell_border(self, name: str, ctx: CompileContext) -> None:
        """Give a notice where the pixel that normalises to 0 is no byte: the border gets the nearest one."""
        odd = next((mean * self.scale for mean in self.mean if not -0.5 <= mean * self.scale <= 255.5), None)
        if odd is not None:
            ctx.notice(
                f"the first layer pads input {name!r} with 0 behind the normalisation, which is the pixel {odd:g}: "
                "no byte, so the border gets the nearest one"
            )

    def _chosen(self, func: FuncOp) -> list[int]:
        chosen_arguments(func, self.exclude, "exclude")  # names must exist
        found = chosen_arguments(func, self.inputs)
        if not self.inputs:
            names = argument_names(func)
            found = [index for index in found if names[index] not in self.exclude and _is_image(func.args[index])]
        odd = [index for index in found if not _holds_floats(func.args[index])]
        if odd or (not found and not self.exclude):
            what = f"input {argument_names(func)[odd[0]]!r} does not hold floats" if odd else "the model has no image"
            raise ConfigError(f"normalize with fuseIntoFirstLayer: {what}", hint="change the preprocessing")
        return found

    def _affine(self, func: FuncOp, index: int) -> tuple[Float64Array, Float64Array]:
        """Return `f` and `o` for each channel."""
        import numpy as np

        shape = shape_of(func.args[index])
        channels = shape[-1] if shape else 1
        for name, values in (("mean", self.mean), ("std", self.std)):
            if len(values) not in (1, channels):
                raise ConfigError(
                    f"normalize has {len(values)} values of {name}, "
                    f"input {argument_names(func)[index]!r} has {channels} channels",
                    hint="give one value, or one for each channel",
                )
        mean, std = (np.broadcast_to(np.asarray(values, np.float64), (channels,)) for values in (self.mean, self.std))
        unit = division_factor(func, index) or 1.0
        return unit / (self.scale * std), -mean / std


def _holds_floats(argument: SSAValue) -> bool:
    return isinstance(argument.type, TensorType) and isinstance(argument.type.element_type, AnyFloat)


def _is_image(argument: SSAValue) -> bool:
    return _holds_floats(argument) and len(shape_of(argument)) in (3, 4)


def _normalize(argument: SSAValue, factor: Float64Array, offset: Float64Array, name: str, ctx: CompileContext) -> bool:
    """Put `x * factor + offset` in front of all readers; return whether a layer pads its input."""
    users = [use.operation for use in argument.uses]
    others = [user for user in users if not _takes_affine(user)]
    layers = [layer for layer in dict.fromkeys(users) if layer not in others]
    is_padded = any(not offset_is_exact(layer) for layer in layers)
    for layer in layers:
        _fold(cast("MbltOp", layer), argument, factor, offset, ctx)
    if others:
        _explicit(argument, others, factor, offset, ctx)
        ctx.notice(f"the normalisation of input {name!r} is a separate step: {others[0].name} reads the input")
    return is_padded


def _takes_affine(op: Operation) -> bool:
    return isinstance(op, Conv2dOp | LinearOp)


def _fold(layer: MbltOp, argument: SSAValue, factor: Float64Array, offset: Float64Array, ctx: CompileContext) -> None:
    new_ops: list[MbltOp] = []
    source = argument
    is_padded = not offset_is_exact(layer)
    if is_padded:
        top, left, bottom, right = layer.ints("padding")
        values = blob(ctx, -offset / factor)
        new_ops.append(PadOp.of(argument, before=[0, top, left, 0], after=[0, bottom, right, 0], values=values))
        source = new_ops[0].results[0]
    new_ops.append(layer_of_affine(ctx, layer, source, factor, offset))
    if is_padded:
        new_ops[-1].properties["padding"] = int_list([0, 0, 0, 0])
    for op in new_ops:
        op.location = layer.location
    Rewriter.replace_op(layer, new_ops)
    ctx.count("folded")


def _explicit(
    argument: SSAValue, users: list[Operation], factor: Float64Array, offset: Float64Array, ctx: CompileContext
) -> None:
    shape = [1] * (len(shape_of(argument)) - 1) + [-1]
    factors, offsets = (new_constant(ctx, values.reshape(shape)) for values in (factor, offset))
    scaled = MulOp.of(argument, factors)
    shifted = AddOp.of(scaled, offsets)
    block = argument.owner
    first = next(iter(block.ops))  # type: ignore[union-attr]  # the owner of an argument is a block
    Rewriter.insert_op([factors, offsets, scaled, shifted], InsertPoint.before(first))
    argument.replace_uses_with_if(shifted.results[0], lambda use: use.operation in users)
    ctx.count("separate")
