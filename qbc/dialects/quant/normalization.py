"""Softmax and layer normalization, exact on integers."""

from __future__ import annotations

from xdsl.irdl import irdl_op_definition, opt_prop_def
from xdsl.utils.exceptions import VerifyException

from qbc.dialects.quant.base import BLOB, FLOAT, INT, SameShapeOp, integer, shape_of


class LastAxisOp(SameShapeOp):
    """Base: runs over the last axis."""

    axis = opt_prop_def(INT)
    k = opt_prop_def(INT)
    z = opt_prop_def(INT)
    lo = opt_prop_def(INT)
    hi = opt_prop_def(INT)

    def verify_(self) -> None:
        super().verify_()
        rank = len(shape_of(self.operands[0]))
        if integer(self, "axis", rank - 1) % rank != rank - 1:
            raise VerifyException("axis is the last axis")


@irdl_op_definition
class SoftmaxOp(LastAxisOp):
    """`y = exp(beta*x) / sum exp(beta*x)` over the last axis. Materialized: constants `k`, `q`, `g`."""

    name = "quant.softmax"
    beta = opt_prop_def(FLOAT)
    q = opt_prop_def(INT)
    g = opt_prop_def(INT)


@irdl_op_definition
class LogSoftmaxOp(LastAxisOp):
    """`y = x - log(sum exp(x))` over the last axis. Materialized: `k`, the `table` of log2, and `m`, `s`."""

    name = "quant.log_softmax"
    m = opt_prop_def(INT)
    s = opt_prop_def(INT)
    table = opt_prop_def(BLOB)


@irdl_op_definition
class LayerNormOp(SameShapeOp):
    """`y = (x - mean) / sqrt(variance + epsilon) * scale + bias` over the last `normalized_rank` axes.

    Materialized: `n` elements a row, `eps`, `gamma`, `beta` (i64, n), `t` the shift s', `rms` 0 or 1.
    """

    name = "quant.layer_norm"
    normalized_rank = opt_prop_def(INT)
    scale = opt_prop_def(BLOB)
    bias = opt_prop_def(BLOB)
    epsilon = opt_prop_def(FLOAT)
    n = opt_prop_def(INT)
    zx = opt_prop_def(INT)
    eps = opt_prop_def(INT)
    t = opt_prop_def(INT)
    z = opt_prop_def(INT)
    lo = opt_prop_def(INT)
    hi = opt_prop_def(INT)
    rms = opt_prop_def(INT)
    gamma = opt_prop_def(BLOB)
    beta = opt_prop_def(BLOB)
