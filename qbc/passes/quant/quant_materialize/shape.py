"""Data movement, constants, resampling, the graph boundary."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from xdsl.dialects.builtin import DenseArrayBase, FloatAttr
from xdsl.ir import Operation

from qbc.dialects import quant
from qbc.dialects.quant.base import int_attr, text
from qbc.passes.quant.quant_materialize.resample import WEIGHT_ONE, linear_taps, nearest_indices
from qbc.passes.quant.quant_materialize.workspace import Result, Rule, Workspace, kept, shape_of


def nothing(workspace: Workspace, op: Operation) -> Result:
    """The types say all."""
    return Result({})


def movement(*names: str) -> Rule:
    """Return a rule that keeps the named properties."""

    def rule(workspace: Workspace, op: Operation) -> Result:
        return Result(kept(op, *names))

    return rule


def pad(workspace: Workspace, op: Operation) -> Result:
    """The padding value becomes a code, or values become one code for each channel."""
    from qbc.algorithms.fixed_point import code_of

    value = op.properties.get("value")
    real = float(value.value.data) if isinstance(value, FloatAttr) else 0.0
    if workspace.is_integer(op.results[0]):
        return Result({**kept(op, "before", "after"), "value": int_attr(int(real))})
    x = workspace.encoding(op.results[0])
    if "values" in op.properties:
        import numpy as np

        from qbc.algorithms.fixed_point import codes_of

        codes = codes_of(workspace.read(op, "values"), x.scale, x.zero_point, x.low, x.high)
        stored = workspace.write(codes.astype(np.int8 if x.storage == "i8" else np.int16))
        return Result({**kept(op, "before", "after"), "codes": stored})
    code = code_of(real, x.scale, x.zero_point, x.low, x.high)
    return Result({**kept(op, "before", "after"), "value": int_attr(code)})


def constant(workspace: Workspace, op: Operation) -> Result:
    """Float data become codes, masks the codes 0 and 1; indices stay."""
    import numpy as np

    from qbc.algorithms.fixed_point import codes_of
    from qbc.dialects.blob import BlobAttr

    value = op.properties["value"]
    if not isinstance(value, BlobAttr):
        return Result({"value": value})
    if value.dtype == "bool":
        return Result({"value": workspace.write(workspace.read(op, "value").astype(np.int8))})
    if workspace.is_integer(op.results[0]):
        return Result({"value": value})
    y = workspace.encoding(op.results[0])
    data = workspace.read(op, "value")
    if not np.isfinite(data).all():
        raise workspace.error(op, "holds values that are not finite")
    codes = codes_of(data, y.scale, y.zero_point, y.low, y.high)
    return Result({"value": workspace.write(codes.astype(np.int8 if y.storage == "i8" else np.int16))})


def resize(workspace: Workspace, op: Operation) -> Result:
    """Coordinates become index and weight tables, from exact rationals."""
    import numpy as np

    _, height, width, _ = shape_of(op.operands[0])
    _, out_h, out_w, _ = shape_of(op.results[0])
    scale_h, scale_w = _scales(op)
    mode = text(op, "coordinate_mode")
    if text(op, "mode") == "nearest":
        rounding = text(op, "nearest_mode")
        rows = nearest_indices(height, out_h, scale_h, mode, rounding)
        columns = nearest_indices(width, out_w, scale_w, mode, rounding)
        indices = {"index_h": rows, "index_w": columns}
        tables = {name: workspace.write(np.array(data, dtype=np.int32)) for name, data in indices.items()}
        return Result(tables, quant.ResizeNearestOp)
    x, y = workspace.encoding(op.operands[0]), workspace.encoding(op.results[0])
    tables = {}
    for prefix, size, out, scale in (("h", height, out_h, scale_h), ("w", width, out_w, scale_w)):
        first, second, weight = linear_taps(size, out, scale, mode)
        for suffix, data in (("0", first), ("1", second), ("w", weight)):
            tables[prefix + suffix] = workspace.write(np.array(data, dtype=np.int32))
    rescale = workspace.rescale(op, x.exact / (y.exact * WEIGHT_ONE**2), x.bound * WEIGHT_ONE**2)
    constants = {"zx": int_attr(x.zero_point), **rescale, **workspace.result_range(op)}
    return Result({**tables, **constants}, quant.ResizeLinearOp)


def _scales(op: Operation) -> tuple[Fraction, Fraction]:
    scales: Any = op.properties["scales"]
    assert isinstance(scales, DenseArrayBase)
    height, width = (Fraction(float(value)) for value in scales.get_values())
    return height, width


RULES: dict[type[Operation], Rule] = {
    quant.QuantizeOp: nothing,
    quant.DequantizeOp: nothing,
    quant.ReshapeOp: nothing,
    quant.EqualOp: nothing,
    quant.GreaterOp: nothing,
    quant.LessOp: nothing,
    quant.LogicalAndOp: nothing,
    quant.LogicalOrOp: nothing,
    quant.LogicalNotOp: nothing,
    quant.WhereOp: nothing,
    quant.ExpandOp: nothing,
    quant.TransposeOp: movement("permutation"),
    quant.ConcatOp: movement("axis"),
    quant.SliceOp: movement("starts", "steps"),
    quant.GatherOp: movement("axis"),
    quant.PadOp: pad,
    quant.ConstantOp: constant,
    quant.ResizeOp: resize,
}
