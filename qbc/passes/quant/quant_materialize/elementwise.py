"""Binary arithmetic, requantize, and lookups."""

from __future__ import annotations

from typing import Any

from xdsl.dialects.builtin import FloatAttr, StringAttr
from xdsl.ir import Attribute, Operation

from qbc.dialects import quant
from qbc.dialects.quant.base import int_attr, text
from qbc.passes.quant.quant_materialize.workspace import Encoding, Result, Rule, Workspace


def _zero_points(workspace: Workspace, op: Operation) -> dict[str, Attribute]:
    a, b = (workspace.encoding(value) for value in op.operands)
    return {"za": int_attr(a.zero_point), "zb": int_attr(b.zero_point)}


def add(workspace: Workspace, op: Operation) -> Result:
    """Sum or difference: both operands on one shift."""
    from qbc.algorithms.fixed_point import add_multipliers

    a, b = (workspace.encoding(value) for value in op.operands)
    y = workspace.encoding(op.results[0])
    ma, mb, s = add_multipliers(a.exact / y.exact, b.exact / y.exact)
    sign = -1 if isinstance(op, quant.SubOp) else 1
    constants = {"ma": int_attr(ma), "mb": int_attr(sign * mb), "s": int_attr(s)}
    return Result({**_zero_points(workspace, op), **constants, **workspace.result_range(op)}, quant.AddOp)


def mul(workspace: Workspace, op: Operation) -> Result:
    """Product: one multiplier."""
    a, b = (workspace.encoding(value) for value in op.operands)
    ratio = a.exact * b.exact / workspace.encoding(op.results[0]).exact
    constants = workspace.rescale(op, ratio, a.bound * b.bound)
    return Result({**_zero_points(workspace, op), **constants, **workspace.result_range(op)})


def div(workspace: Workspace, op: Operation) -> Result:
    """Quotient: exact integer division."""
    from qbc.algorithms.fixed_point import div_multiplier

    a, b = (workspace.encoding(value) for value in op.operands)
    p, t = div_multiplier(a.exact / (b.exact * workspace.encoding(op.results[0]).exact))
    constants = {"p": int_attr(p), "t": int_attr(t)}
    return Result({**_zero_points(workspace, op), **constants, **workspace.result_range(op)})


def extremum(workspace: Workspace, op: Operation) -> Result:
    """Maximum and minimum compare codes; only the clamp is left."""
    low, high = workspace.clamp(op)
    return Result({"lo": int_attr(low), "hi": int_attr(high)})


def requantize(workspace: Workspace, op: Operation) -> Result:
    """New scale, zero point and clamp."""
    x, y = workspace.encoding(op.operands[0]), workspace.encoding(op.results[0])
    constants = workspace.rescale(op, x.exact / y.exact, x.bound)
    return Result({"zx": int_attr(x.zero_point), **constants, **workspace.result_range(op)})


# --- lookups -----------------------------------------------------------------------------------------------------


def lookup(workspace: Workspace, op: Operation) -> Result:
    """i8: 256 entries. i16: a mantissa table for power functions and the logarithm, 513 nodes for the others."""
    x, y = workspace.encoding(op.operands[0]), workspace.encoding(op.results[0])
    function = text(op, "function")
    if x.storage == "i8":
        return Result({"table": workspace.write(_byte_codes(op, x, y))})
    if function in quant.MANTISSA_FUNCTIONS:
        return _mantissa(workspace, op, function, x, y)
    return _nodes(workspace, op, x, y)


def _function(op: Operation) -> Any:
    from qbc.algorithms.tables import Function

    parameters: dict[str, float | str] = {}
    for name, value in op.properties.items():
        if isinstance(value, FloatAttr):
            parameters[name] = float(value.value.data)
        elif isinstance(value, StringAttr) and name != "function":
            parameters[name] = value.data
    return Function.of(text(op, "function"), parameters)


def _byte_codes(op: Operation, x: Encoding, y: Encoding) -> Any:
    import numpy as np

    from qbc.algorithms.tables import byte_table

    table = byte_table(_function(op), x.scale, x.zero_point, y.scale, y.zero_point, y.low, y.high)
    return table.astype(np.int8 if y.storage == "i8" else np.int16)


def _nodes(workspace: Workspace, op: Operation, x: Encoding, y: Encoding) -> Result:
    import numpy as np

    from qbc.algorithms.tables import node_table

    table = node_table(_function(op), x.scale, y.scale, y.zero_point)
    clamp = {"lo": int_attr(y.low), "hi": int_attr(y.high)}
    return Result({"table": workspace.write(table.astype(np.int32)), **clamp}, quant.Lut16Op)


def _mantissa(workspace: Workspace, op: Operation, function: str, x: Encoding, y: Encoding) -> Result:
    from qbc.algorithms.fixed_point import exact, multiplier_of, normalized_multiplier
    from qbc.algorithms.tables import log_constants, mantissa_table, power_ratio

    constants: dict[str, Attribute] = {}
    if function == "log":
        c1, c2 = log_constants(x.scale)
        m, s = multiplier_of(1 / (exact(y.scale) * (1 << 24)))
        constants = {"c1": int_attr(c1), "c2": int_attr(c2)}
    else:
        m, s = normalized_multiplier(power_ratio(function, x.scale, y.scale))
    properties = {
        "function": StringAttr(function),
        "table": workspace.write(mantissa_table(function)),
        "m": int_attr(m),
        "s": int_attr(s),
        **workspace.result_range(op),
        **constants,
    }
    return Result(properties, quant.MantissaLutOp)


RULES: dict[type[Operation], Rule] = {
    quant.AddOp: add,
    quant.SubOp: add,
    quant.MulOp: mul,
    quant.DivOp: div,
    quant.MaximumOp: extremum,
    quant.MinimumOp: extremum,
    quant.RequantizeOp: requantize,
    quant.LutOp: lookup,
}
