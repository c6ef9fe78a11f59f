"""Unary functions, applied to every element."""

from __future__ import annotations

from typing import ClassVar

from xdsl.irdl import base, irdl_op_definition, prop_def

from qbc.dialects.blob import BlobAttr
from qbc.dialects.common.properties import f32_prop, f64_prop, str_prop
from qbc.dialects.mblt.base import UnaryOp, check_blob, require, shape_of


class FunctionOp(UnaryOp):
    """A function of one element, the same for all elements."""


@irdl_op_definition
class ReluOp(FunctionOp):
    """`y = max(x, 0)`."""

    name = "mblt.relu"
    TAKES_INTEGERS: ClassVar[bool] = True


@irdl_op_definition
class SigmoidOp(FunctionOp):
    """`y = 1 / (1 + exp(-x))`."""

    name = "mblt.sigmoid"


@irdl_op_definition
class HardSwishOp(FunctionOp):
    """`y = x * clip(x/6 + 1/2, 0, 1)`."""

    name = "mblt.hard_swish"


@irdl_op_definition
class SiluOp(FunctionOp):
    """`y = x / (1 + exp(-x))`."""

    name = "mblt.silu"


@irdl_op_definition
class TanhOp(FunctionOp):
    """`y = tanh(x)`."""

    name = "mblt.tanh"


@irdl_op_definition
class ExpOp(FunctionOp):
    """`y = exp(x)`."""

    name = "mblt.exp"


@irdl_op_definition
class LogOp(FunctionOp):
    """`y = ln(x)`."""

    name = "mblt.log"


@irdl_op_definition
class SqrtOp(FunctionOp):
    """`y = sqrt(x)`."""

    name = "mblt.sqrt"


@irdl_op_definition
class RsqrtOp(FunctionOp):
    """`y = 1 / sqrt(x)`."""

    name = "mblt.rsqrt"


@irdl_op_definition
class ReciprocalOp(FunctionOp):
    """`y = 1 / x`."""

    name = "mblt.reciprocal"


@irdl_op_definition
class AbsOp(FunctionOp):
    """`y = |x|`."""

    name = "mblt.abs"
    TAKES_INTEGERS: ClassVar[bool] = True


@irdl_op_definition
class NegOp(FunctionOp):
    """`y = -x`."""

    name = "mblt.neg"
    TAKES_INTEGERS: ClassVar[bool] = True


@irdl_op_definition
class ErfOp(FunctionOp):
    """`y = 2/sqrt(pi) * integral of exp(-t^2) from 0 to x`."""

    name = "mblt.erf"


@irdl_op_definition
class SoftplusOp(FunctionOp):
    """`y = ln(1 + exp(x))`."""

    name = "mblt.softplus"


@irdl_op_definition
class MishOp(FunctionOp):
    """`y = x * tanh(ln(1 + exp(x)))`."""

    name = "mblt.mish"


@irdl_op_definition
class SinOp(FunctionOp):
    """`y = sin(x)`."""

    name = "mblt.sin"


@irdl_op_definition
class CosOp(FunctionOp):
    """`y = cos(x)`."""

    name = "mblt.cos"


@irdl_op_definition
class FloorOp(FunctionOp):
    """`y = the largest integer <= x`."""

    name = "mblt.floor"


@irdl_op_definition
class CeilOp(FunctionOp):
    """`y = the smallest integer >= x`."""

    name = "mblt.ceil"


@irdl_op_definition
class SquareOp(FunctionOp):
    """`y = x * x`."""

    name = "mblt.square"
    TAKES_INTEGERS: ClassVar[bool] = True


@irdl_op_definition
class ClipOp(FunctionOp):
    """`y = min(max(x, min), max)`; an open bound is infinite."""

    name = "mblt.clip"
    min = f64_prop()
    max = f64_prop()

    def check(self) -> None:
        low, high = self.min.value.data, self.max.value.data
        require(low <= high, f"min {low} is above max {high}")


@irdl_op_definition
class LeakyReluOp(FunctionOp):
    """`y = x where x >= 0 else alpha * x`."""

    name = "mblt.leaky_relu"
    DEFAULTS: ClassVar[dict[str, object]] = {"alpha": 0.01}
    alpha = f32_prop()


@irdl_op_definition
class PreluOp(UnaryOp):
    """`y = x where x >= 0 else slope[c] * x`, c along the last axis; slope is a blob of shape [C]."""

    name = "mblt.prelu"
    slope = prop_def(base(BlobAttr))

    def check(self) -> None:
        check_blob(self.slope, shape_of(self.operands[0])[-1:], "a slope")


@irdl_op_definition
class HardSigmoidOp(FunctionOp):
    """`y = min(max(alpha*x + beta, 0), 1)`."""

    name = "mblt.hard_sigmoid"
    DEFAULTS: ClassVar[dict[str, object]] = {"alpha": 0.2, "beta": 0.5}
    alpha = f32_prop()
    beta = f32_prop()


@irdl_op_definition
class GeluOp(FunctionOp):
    """`y = x * P(X <= x)`, X standard normal.

    approximate "none" uses erf, "tanh" uses `0.5x * (1 + tanh(sqrt(2/pi) * (x + 0.044715 x^3)))`.
    """

    name = "mblt.gelu"
    DEFAULTS: ClassVar[dict[str, object]] = {"approximate": "none"}
    approximate = str_prop()

    def check(self) -> None:
        kind = self.approximate.data
        require(kind in ("none", "tanh"), f"approximate must be none or tanh, got {kind!r}")


@irdl_op_definition
class EluOp(FunctionOp):
    """`y = x where x >= 0 else alpha * (exp(x) - 1)`."""

    name = "mblt.elu"
    DEFAULTS: ClassVar[dict[str, object]] = {"alpha": 1.0}
    alpha = f32_prop()
