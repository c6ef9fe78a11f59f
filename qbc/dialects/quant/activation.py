"""Functions of one variable: table lookups."""

from __future__ import annotations

from xdsl.irdl import irdl_op_definition, opt_prop_def, prop_def
from xdsl.utils.exceptions import VerifyException

from qbc.dialects.quant.base import BLOB, FLOAT, INT, TEXT, SameShapeOp, text

FUNCTIONS = frozenset(
    {
        "leaky_relu", "sigmoid", "hard_sigmoid", "hard_swish", "silu", "gelu", "tanh", "exp", "log", "sqrt", "rsqrt",
        "reciprocal", "abs", "neg", "erf", "softplus", "elu", "mish", "sin", "cos", "floor", "ceil", "square", "pow",
    }
)  # fmt: skip
MANTISSA_FUNCTIONS = frozenset({"log", "sqrt", "rsqrt", "reciprocal"})


@irdl_op_definition
class LutOp(SameShapeOp):
    """`y = gain * f(x) + offset` elementwise, `function` one of `FUNCTIONS` with its parameters (`alpha`, `beta`, ...).

    `gain` is 1 and `offset` 0 where they are absent.

    Materialized (i8 input): `y = table[q + 128]`, 256 entries of the output storage. 16-bit inputs become `lut16` or
    `mantissa_lut`.
    """

    name = "quant.lut"
    function = opt_prop_def(TEXT)
    alpha = opt_prop_def(FLOAT)
    beta = opt_prop_def(FLOAT)
    exponent = opt_prop_def(FLOAT)
    approximate = opt_prop_def(TEXT)
    gain = opt_prop_def(FLOAT)
    offset = opt_prop_def(FLOAT)
    table = opt_prop_def(BLOB)

    def verify_(self) -> None:
        super().verify_()
        function = text(self, "function")
        if function and function not in FUNCTIONS:
            raise VerifyException(f"function {function!r} is unknown; known: {', '.join(sorted(FUNCTIONS))}")
        if not function and "table" not in self.properties:
            raise VerifyException("needs a function or a table")


@irdl_op_definition
class Lut16Op(SameShapeOp):
    """Table of a 16-bit input, 513 nodes, linear between: `i = (q+32768) >> 7`, `r = (q+32768) & 127`,
    `y = clamp(T[i] + (((T[i+1]-T[i])*r + 64) >> 7), lo, hi)`."""

    name = "quant.lut16"
    table = prop_def(BLOB)
    lo = prop_def(INT)
    hi = prop_def(INT)


@irdl_op_definition
class MantissaLutOp(SameShapeOp):
    """`reciprocal`, `sqrt`, `rsqrt` or `log` of a 16-bit input through a table over the mantissa of the code."""

    name = "quant.mantissa_lut"
    function = prop_def(TEXT)
    table = prop_def(BLOB)
    m = prop_def(INT)
    s = prop_def(INT)
    z = prop_def(INT)
    lo = prop_def(INT)
    hi = prop_def(INT)
    c1 = opt_prop_def(INT)
    c2 = opt_prop_def(INT)

    def verify_(self) -> None:
        super().verify_()
        if self.function.data not in MANTISSA_FUNCTIONS:
            raise VerifyException(f"function is one of {', '.join(sorted(MANTISSA_FUNCTIONS))}")
