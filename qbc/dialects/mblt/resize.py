"""Resizing of channel-last maps."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Self, cast

from xdsl.dialects.builtin import DenseArrayBase, Float64Type, LocationAttr, TensorType
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import irdl_op_definition, operand_def

from qbc.dialects.common.properties import float_list_prop, str_prop
from qbc.dialects.common.shapes import DYNAMIC
from qbc.dialects.mblt.base import TENSOR, MbltOp, check_floats, element_of, require, shape_of

MODES = ("nearest", "linear")
COORDINATE_MODES = ("half_pixel", "pytorch_half_pixel", "asymmetric", "align_corners")
NEAREST_MODES = ("round_prefer_floor", "round_prefer_ceil", "floor", "ceil")


@irdl_op_definition
class ResizeOp(MbltOp):
    """Resize H and W of x [N, H, W, C] to the result type.

    Source coordinate of output o, with scale s = scales[axis]: half_pixel `(o+0.5)/s - 0.5`; pytorch_half_pixel the
    same but 0 where the output size is 1; asymmetric `o/s`; align_corners `o*(in-1)/(out-1)` (0 where out is 1).
    nearest picks the coordinate rounded by nearest_mode and clamped; linear interpolates between its floor and
    the next element, both clamped. The output size is within one of `size*scale`.
    """

    name = "mblt.resize"
    DEFAULTS: ClassVar[dict[str, object]] = {
        "mode": "nearest",
        "coordinate_mode": "half_pixel",
        "nearest_mode": "round_prefer_floor",
    }
    x = operand_def(TENSOR)
    mode = str_prop()
    coordinate_mode = str_prop()
    nearest_mode = str_prop()
    scales = float_list_prop()

    def check(self) -> None:
        require(len(shape_of(self.operands[0])) == 4, f"expected an operand of rank 4, got {self.operands[0].type}")
        check_floats(self)
        for name, choices in (
            ("mode", MODES),
            ("coordinate_mode", COORDINATE_MODES),
            ("nearest_mode", NEAREST_MODES),
        ):
            value = self.value_of(name)
            require(value in choices, f"{name} must be one of {', '.join(choices)}, got {value!r}")
        scales = self.scale_values()
        require(len(scales) == 2 and min(scales) > 0, f"expected two positive scales, got {list(scales)}")

    def scale_values(self) -> tuple[float, ...]:
        """Return the scales of H and W."""
        return cast("DenseArrayBase[Float64Type]", self.properties["scales"]).get_values()

    @classmethod
    def of(
        cls,
        *operands: SSAValue | Operation,
        result_type: Attribute | None = None,
        location: LocationAttr | None = None,
        **properties: object,
    ) -> Self:
        """Build the op; without `result_type` the output size is `size*scale` rounded down."""
        if result_type is None:
            batch, height, width, channels = shape_of(SSAValue.get(operands[0]))
            scale_h, scale_w = cast("Sequence[float]", properties["scales"])
            shape = [batch, _scaled(height, scale_h), _scaled(width, scale_w), channels]
            result_type = TensorType(element_of(SSAValue.get(operands[0])), shape)
        return super().of(*operands, result_type=result_type, location=location, **properties)

    def infer_result_type(self) -> Attribute:
        batch, *sizes, channels = shape_of(self.operands[0])
        found = shape_of(self.results[0])
        require(len(found) == 4, f"expected a result of rank 4, got {self.results[0].type}")
        for size, scale, result in zip(sizes, self.scale_values(), found[1:3], strict=True):
            fits = DYNAMIC in (size, result) or abs(size * scale - result) < 1.0
            require(fits, f"size {size} scaled by {scale} does not give {result}")
        return self.with_shape((batch, found[1], found[2], channels))


def _scaled(size: int, scale: float) -> int:
    # A scale such as 49/7 may end just below the whole number it stands for.
    return DYNAMIC if size == DYNAMIC else int(size * scale + 1e-4)
