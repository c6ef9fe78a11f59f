"""Normalizations and softmax."""

from __future__ import annotations

from typing import ClassVar

from xdsl.irdl import base, irdl_op_definition, opt_prop_def, prop_def

from qbc.dialects.blob import BlobAttr
from qbc.dialects.common.properties import f32_prop, int_prop, opt_str_prop
from qbc.dialects.common.shapes import normalize_axis
from qbc.dialects.mblt.base import UnaryOp, check_blob, require, shape_of


@irdl_op_definition
class BatchNormOp(UnaryOp):
    """`y = scale * (x - mean) / sqrt(variance + epsilon) + bias` along the last axis; four blobs of shape [C]."""

    name = "mblt.batch_norm"
    DEFAULTS: ClassVar[dict[str, object]] = {"epsilon": 1e-5}
    scale = prop_def(base(BlobAttr))
    bias = prop_def(base(BlobAttr))
    mean = prop_def(base(BlobAttr))
    variance = prop_def(base(BlobAttr))
    epsilon = f32_prop()

    def check(self) -> None:
        channels = shape_of(self.operands[0])[-1:]
        require(len(channels) == 1, "expected an operand of rank 1 or more")
        for name, blob in (
            ("scale", self.scale),
            ("bias", self.bias),
            ("mean", self.mean),
            ("variance", self.variance),
        ):
            check_blob(blob, channels, f"a {name}")


@irdl_op_definition
class LayerNormOp(UnaryOp):
    """`y = scale * (x - mean(x)) / sqrt(var(x) + epsilon) + bias` over the last `normalized_rank` axes.

    scale and bias have the shape of those axes; var is the mean square deviation, `mean((x - mean(x))^2)`.
    `variance = "moments"` (optional) says that the source spells it `max(mean(x^2) - mean(x)^2, 0)`. In exact
    arithmetic that is the same; in float32 it cancels where the mean is large against the deviation. The ONNX export
    keeps the spelling, and so the rounding of the source; all other execution computes the mean square deviation.
    """

    name = "mblt.layer_norm"
    DEFAULTS: ClassVar[dict[str, object]] = {"epsilon": 1e-5, "normalized_rank": 1}
    normalized_rank = int_prop()
    scale = opt_prop_def(base(BlobAttr))
    bias = opt_prop_def(base(BlobAttr))
    epsilon = f32_prop()
    variance = opt_str_prop()

    def check(self) -> None:
        shape, count = shape_of(self.operands[0]), self.normalized_rank.value.data
        require(1 <= count <= len(shape), f"normalized_rank {count} is outside 1..{len(shape)}")
        spelling = "moments" if self.variance is None else self.variance.data
        require(spelling == "moments", f'variance must be "moments" or absent, got {spelling!r}')
        for name, blob in (("scale", self.scale), ("bias", self.bias)):
            if blob is not None:
                check_blob(blob, shape[-count:], f"a {name}")


@irdl_op_definition
class InstanceNormOp(UnaryOp):
    """`y = scale * (x - mean) / sqrt(var + epsilon) + bias`, statistics over all axes but the first and the last.

    x [N, ..., C]; scale and bias have shape [C].
    """

    name = "mblt.instance_norm"
    DEFAULTS: ClassVar[dict[str, object]] = {"epsilon": 1e-5}
    scale = prop_def(base(BlobAttr))
    bias = prop_def(base(BlobAttr))
    epsilon = f32_prop()

    def check(self) -> None:
        shape = shape_of(self.operands[0])
        require(len(shape) >= 3, f"expected an operand of rank 3 or more, got rank {len(shape)}")
        check_blob(self.scale, shape[-1:], "a scale")
        check_blob(self.bias, shape[-1:], "a bias")


@irdl_op_definition
class SoftmaxOp(UnaryOp):
    """`y = exp(beta*x) / sum(exp(beta*x))` along `axis`."""

    name = "mblt.softmax"
    DEFAULTS: ClassVar[dict[str, object]] = {"axis": -1, "beta": 1.0}
    axis = int_prop()
    beta = f32_prop()

    def check(self) -> None:
        normalize_axis(self.axis.value.data, len(shape_of(self.operands[0])))


@irdl_op_definition
class LogSoftmaxOp(UnaryOp):
    """`y = x - log(sum(exp(x)))` along `axis`."""

    name = "mblt.log_softmax"
    DEFAULTS: ClassVar[dict[str, object]] = {"axis": -1}
    axis = int_prop()

    def check(self) -> None:
        normalize_axis(self.axis.value.data, len(shape_of(self.operands[0])))
