"""Binary arithmetic with numpy broadcasting; operands of equal rank."""

from __future__ import annotations

from xdsl.irdl import irdl_op_definition, opt_prop_def

from qbc.dialects.quant.base import INT, BinaryOp


@irdl_op_definition
class AddOp(BinaryOp):
    """`y = a + b`. Materialized: `clamp(z + (((a-za)*ma + (b-zb)*mb + 2^(s-1)) >> s))`; a difference has `mb < 0`."""

    name = "quant.add"
    za = opt_prop_def(INT)
    zb = opt_prop_def(INT)
    ma = opt_prop_def(INT)
    mb = opt_prop_def(INT)
    s = opt_prop_def(INT)
    z = opt_prop_def(INT)


@irdl_op_definition
class SubOp(BinaryOp):
    """`y = a - b`; `quant-materialize` makes it an `add` with a negative second multiplier."""

    name = "quant.sub"


@irdl_op_definition
class MulOp(BinaryOp):
    """`y = a * b`. Materialized: `clamp(z + (((a-za)*(b-zb)*m + 2^(s-1)) >> s))`."""

    name = "quant.mul"
    za = opt_prop_def(INT)
    zb = opt_prop_def(INT)
    m = opt_prop_def(INT)
    s = opt_prop_def(INT)
    z = opt_prop_def(INT)


@irdl_op_definition
class DivOp(BinaryOp):
    """`y = a / b`. Materialized: `n = (a-za)*p` with the sign of `b-zb`, `D = |b-zb| << t`, `z + (2n + D) // (2D)`."""

    name = "quant.div"
    za = opt_prop_def(INT)
    zb = opt_prop_def(INT)
    p = opt_prop_def(INT)
    t = opt_prop_def(INT)
    z = opt_prop_def(INT)


@irdl_op_definition
class MaximumOp(BinaryOp):
    """`y = max(a, b)` on codes: operands and result have one encoding."""

    name = "quant.maximum"


@irdl_op_definition
class MinimumOp(BinaryOp):
    """`y = min(a, b)` on codes: operands and result have one encoding."""

    name = "quant.minimum"
