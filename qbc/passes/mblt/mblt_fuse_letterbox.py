"""`mblt-fuse-letterbox`: the function shrinks and pads its image input itself."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects.builtin import AnyFloat, FunctionType, TensorType, UnitAttr
from xdsl.dialects.func import FuncOp
from xdsl.ir import SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from qbc.dialects.common.graph import (
    LETTERBOXED,
    argument_names,
    chosen_arguments,
    division_factor,
    set_argument_attribute,
)
from qbc.dialects.common.tensor_text import tensor_text
from qbc.dialects.mblt import MbltOp, PadOp, ResizeOp, shape_of
from qbc.dialects.mblt.base import element_of
from qbc.errors import ConfigError
from qbc.letterbox import Placement, placement, shrink_factor
from qbc.passes.base import CompileContext, FunctionPass, check_options, name_loc


@dataclass(frozen=True)
class FuseLetterboxPass(FunctionPass):
    """Make a letterbox from source pictures to `height` x `width` part of the function.

    It applies to the inputs `inputs`, without names to all images (floats of rank 4) but those called `exclude`. The
    argument becomes `[N, source_height, source_width, C]`. The picture is divided by a whole factor `k` and surrounded
    by `pad_value` (`pad_value / division_factor` where the input is uint8). Bilinear interpolation at such a factor
    needs two pixels an axis where `k` is even, their mean, and the middle one of each `k` where it is odd.

    ```mlir
    func.func @main(%x: tensor<1x4x4x3xf32>) ... {
      %1 = mblt.conv2d %x ...
    ```
    becomes with `{height=4 width=4 source-height=4 source-width=8}`
    ```mlir
    func.func @main(%x: tensor<1x4x8x3xf32> {mblt.letterboxed}) ... {
      %0 = mblt.resize %x {mode = "linear", scales = [0.5, 0.5]} : ... -> tensor<1x2x4x3xf32>
      %1 = mblt.pad %0 {before = [0, 1, 0, 0], after = [0, 1, 0, 0], value = 114.0} : ... -> tensor<1x4x4x3xf32>
      %2 = mblt.conv2d %1 ...
    ```
    Raises CONFIG_ERROR where the factor is not whole and where an input has another size.
    """

    name = "mblt-fuse-letterbox"
    needs = ("mblt",)
    changes_interface = True
    height: int = 640
    width: int = 640
    source_height: int = 1280
    source_width: int = 1280
    pad_value: int = 114
    centered: bool = True
    inputs: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        lengths = {name: getattr(self, name) for name in ("height", "width", "source_height", "source_width")}
        check_options(1, **lengths)
        check_options(0, 255, pad_value=self.pad_value)
        if shrink_factor((self.source_height, self.source_width), (self.height, self.width)) is None:
            raise ValueError(
                f"a picture of {self.source_height}x{self.source_width} does not shrink by a whole factor "
                f"to fit {self.height}x{self.width}"
            )

    def run(self, op: FuncOp, ctx: CompileContext) -> None:
        for index in self._chosen(op):
            self._fuse(op, index)
            set_argument_attribute(op, index, LETTERBOXED, UnitAttr())
            ctx.count("inputs")
        op.properties["function_type"] = FunctionType.from_lists(
            [argument.type for argument in op.args], list(op.function_type.outputs)
        )

    def _chosen(self, func: FuncOp) -> list[int]:
        chosen_arguments(func, self.exclude, "exclude")  # names must exist
        names = argument_names(func)
        found = chosen_arguments(func, self.inputs)
        if not self.inputs:
            found = [index for index in found if names[index] not in self.exclude and _is_image(func.args[index])]
        if not found and not self.exclude:
            raise _error("the model has no image")
        for index in found:
            self._check(func.args[index], names[index])
        return found

    def _check(self, argument: SSAValue, name: str) -> None:
        if not _is_image(argument):
            raise _error(f"input {name!r} is no image, it has {tensor_text(argument.type)}")
        _, *size, _ = shape_of(argument)
        if size != [self.height, self.width]:
            raise _error(f"it makes {self.height}x{self.width} pixels, input {name!r} has {size[0]}x{size[1]}")

    def _fuse(self, func: FuncOp, index: int) -> None:
        argument, name = func.args[index], argument_names(func)[index]
        source, target = (self.source_height, self.source_width), (self.height, self.width)
        place = placement(source, target, centered=self.centered)
        value = self.pad_value / (division_factor(func, index) or 1.0)
        batch, _, _, channels = shape_of(argument)
        users = [(use.operation, use.index) for use in argument.uses]
        raw = Rewriter.replace_value_with_new_type(
            argument, TensorType(element_of(argument), [batch, *source, channels])
        )
        new_ops = _letterbox(raw, source, target, place, value, name)
        if not new_ops:
            return
        Rewriter.insert_op(new_ops, InsertPoint.at_start(func.body.block))
        for user, position in users:
            user.operands[position] = new_ops[-1].results[0]


def _is_image(argument: SSAValue) -> bool:
    kind = argument.type
    return isinstance(kind, TensorType) and isinstance(kind.element_type, AnyFloat) and len(kind.get_shape()) == 4


def _letterbox(
    raw: SSAValue, source: tuple[int, int], target: tuple[int, int], place: Placement, value: float, name: str
) -> list[MbltOp]:
    """Return the operations from a source picture to the letterboxed one; none where it fits as it is."""
    ops: list[MbltOp] = []
    factor = source[0] // place.height
    if factor > 1:
        mode = "linear" if factor % 2 == 0 else "nearest"  # an odd factor puts every coordinate on a pixel
        scales = [1 / factor, 1 / factor]
        ops.append(ResizeOp.of(raw, mode=mode, coordinate_mode="half_pixel", scales=scales))
        ops[-1].location = name_loc(f"{name}/letterbox/resize")
    if (place.height, place.width) != target:
        before, after = [0, place.top, place.left, 0], [0, place.bottom, place.right, 0]
        ops.append(PadOp.of(ops[-1].results[0] if ops else raw, before=before, after=after, value=value))
        ops[-1].location = name_loc(f"{name}/letterbox/pad")
    return ops


def _error(message: str) -> ConfigError:
    return ConfigError(f"letterbox with fuseIntoFirstLayer: {message}", hint="change the preprocessing")
