"""2-D pooling on channel-last maps."""

from __future__ import annotations

from typing import ClassVar

from xdsl.ir import Attribute
from xdsl.irdl import irdl_op_definition, operand_def

from qbc.dialects.common.properties import bool_prop, int_list_prop
from qbc.dialects.mblt.base import TENSOR, MbltOp, shape_of
from qbc.dialects.mblt.convolution import WINDOW_DEFAULTS, check_window, window_shape


class PoolOp(MbltOp):
    """What both pools share: x [N, H, W, C] and a window; padding is [top, left, bottom, right]."""

    DEFAULTS: ClassVar[dict[str, object]] = {**WINDOW_DEFAULTS, "ceil_mode": False}
    x = operand_def(TENSOR)
    kernel = int_list_prop()
    strides = int_list_prop()
    padding = int_list_prop()
    dilations = int_list_prop()
    ceil_mode = bool_prop()

    def check(self) -> None:
        check_window(self)

    def infer_result_type(self) -> Attribute:
        batch, _, _, channels = shape_of(self.operands[0])
        out_h, out_w = window_shape(self, ceil_mode=bool(self.value_of("ceil_mode")))
        return self.with_shape((batch, out_h, out_w, channels))


@irdl_op_definition
class MaxPool2dOp(PoolOp):
    """`y[n,h,w,c] = max x[n, h*s0+i*d0-top, w*s1+j*d1-left, c]` over the window; padding never wins."""

    name = "mblt.max_pool2d"


@irdl_op_definition
class AvgPool2dOp(PoolOp):
    """`y[n,h,w,c] = sum(window) / count`.

    count is the number of elements inside the map, or with count_include_pad inside map and padding (what lies
    beyond the end padding in ceil mode never counts).
    """

    name = "mblt.avg_pool2d"
    DEFAULTS: ClassVar[dict[str, object]] = {**PoolOp.DEFAULTS, "count_include_pad": False}
    count_include_pad = bool_prop()
