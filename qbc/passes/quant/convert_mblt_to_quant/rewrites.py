"""Operations that become several quant operations, or others than their name says."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, cast

from xdsl.dialects.builtin import FloatAttr, StringAttr, TensorType, f32, i1
from xdsl.ir import Attribute, Operation, SSAValue

from qbc.dialects import mblt, quant
from qbc.dialects.blob import write_blob
from qbc.dialects.quant.base import int_attr, ints, ints_attr, number, text
from qbc.passes.quant.convert_mblt_to_quant.builder import (
    Builder,
    Handler,
    constant_array,
    is_float,
    shape_of,
    tensor_of,
)
from qbc.passes.quant.convert_mblt_to_quant.direct import clip_properties

_WIDEST_CONCAT = 64  # operands of the concatenations that a repetition becomes
_MAX_ELEMENTS = 1 << 40  # of a value in an integer program


def divide(builder: Builder, op: Operation) -> SSAValue:
    """`a / c` with a constant `c` is `a * (1/c)`; otherwise an integer division."""
    import numpy as np

    shape = shape_of(op.results[0])
    left = builder.value(op.operands[0])
    divisor = builder.constant_data(op.operands[1])
    if divisor is None or not np.all(divisor):
        return builder.emit(quant.DivOp, [left, builder.value(op.operands[1])], shape, op.location, op.properties)
    inverse = builder.constant(1.0 / divisor.astype(np.float64), op.location)
    return builder.emit(quant.MulOp, [left, inverse], shape, op.location, op.properties)


def power(builder: Builder, op: Operation) -> SSAValue:
    """`x ^ c` with one constant exponent is a function of `x`."""
    exponent = float(builder.constant_data(op.operands[1]).reshape(-1)[0])
    named = {2.0: "square", 0.5: "sqrt", -0.5: "rsqrt", -1.0: "reciprocal"}.get(exponent)
    properties: dict[str, Attribute | None] = {"function": StringAttr(named or "pow")}
    if named is None:
        properties["exponent"] = FloatAttr(exponent, f32)
    value = builder.value(op.operands[0])
    result = builder.emit(quant.LutOp, [value], shape_of(op.results[0]), op.location, properties)
    if "activation" not in op.properties:
        return result
    return builder.emit(quant.RequantizeOp, [result], shape_of(op.results[0]), op.location, op.properties)


def tile(builder: Builder, op: Operation) -> SSAValue:
    """Repetition is concatenation with itself, an expand where the size is 1."""
    value = builder.value(op.operands[0])
    for axis, count in enumerate(ints(op, "repeats")):
        if count == 1:
            continue
        shape = list(shape_of(value))
        size, shape[axis] = shape[axis], shape[axis] * count
        if size == 1:
            value = builder.emit(quant.ExpandOp, [value], shape, op.location)
            continue
        value = _repeated(builder, value, axis, count, op.location)
    return value


def _repeated(builder: Builder, value: SSAValue, axis: int, count: int, location: Any) -> SSAValue:
    """Concatenate `count` copies; beyond `_WIDEST_CONCAT` they are copies of copies, digit by digit of the count."""
    parts: list[SSAValue] = []
    while count:
        count, digit = divmod(count, _WIDEST_CONCAT)
        parts.extend([value] * digit)
        if count:
            value = _concat(builder, [value] * _WIDEST_CONCAT, axis, location)
    return parts[0] if len(parts) == 1 else _concat(builder, parts, axis, location)


def _concat(builder: Builder, parts: Sequence[SSAValue], axis: int, location: Any) -> SSAValue:
    shape = list(shape_of(parts[0]))
    shape[axis] = sum(shape_of(part)[axis] for part in parts)
    return builder.emit(quant.ConcatOp, list(parts), shape, location, {"axis": int_attr(axis)})


def cast_op(builder: Builder, op: Operation) -> SSAValue:
    """Float to float and integer to integer: codes do not change. A mask becomes a choice between 1 and 0."""
    import numpy as np

    value = builder.value(op.operands[0])
    if not is_mask(op.operands[0]):
        return value
    ones = (1,) * len(shape_of(value))
    choices = [builder.constant(np.full(ones, number), op.location) for number in (1.0, 0.0)]
    result = TensorType(tensor_of(choices[0]).element_type, shape_of(value))
    return builder.add(quant.WhereOp.make([value, *choices], result, {}, op.location))


def pad(builder: Builder, op: Operation) -> SSAValue:
    """Constant padding stays; edge and reflect are concatenations of slices."""
    value = builder.value(op.operands[0])
    mode = text(op, "mode", "constant")
    if mode == "constant":
        return builder.emit(quant.PadOp, [value], shape_of(op.results[0]), op.location, op.properties)
    for axis, (before, after) in enumerate(zip(ints(op, "before"), ints(op, "after"), strict=True)):
        if before or after:
            value = _pad_axis(builder, value, axis, before, after, mode, op.location)
    return value


def _pad_axis(
    builder: Builder, value: SSAValue, axis: int, before: int, after: int, mode: str, location: Any
) -> SSAValue:
    size = shape_of(value)[axis]
    if mode == "edge":
        head, tail = [0] * before, [size - 1] * after
    else:
        head, tail = list(range(before, 0, -1)), list(range(size - 2, size - 2 - after, -1))
    pieces = {index: _slice(builder, value, axis, index, location) for index in dict.fromkeys((*head, *tail))}
    parts = [*(pieces[i] for i in head), value, *(pieces[i] for i in tail)]
    shape = list(shape_of(value))
    shape[axis] = size + before + after
    return builder.emit(quant.ConcatOp, parts, shape, location, {"axis": int_attr(axis)})


def _slice(builder: Builder, value: SSAValue, axis: int, index: int, location: Any) -> SSAValue:
    shape = list(shape_of(value))
    starts, ends = [0] * len(shape), list(shape)
    starts[axis], ends[axis], shape[axis] = index, index + 1, 1
    properties = {"starts": ints_attr(starts), "ends": ints_attr(ends), "steps": ints_attr([1] * len(shape))}
    return builder.emit(quant.SliceOp, [value], shape, location, properties)


def batch_norm(builder: Builder, op: Operation) -> SSAValue:
    """`scale*(x - mean)/sqrt(variance + epsilon) + bias` is a depthwise 1x1 convolution."""
    import numpy as np

    scale, bias, mean, variance = (
        constant_array(builder.store, op.properties[name]).astype(np.float64)
        for name in ("scale", "bias", "mean", "variance")
    )
    gain = scale / np.sqrt(variance + number(op, "epsilon"))
    return _per_channel(builder, builder.value(op.operands[0]), gain, bias - mean * gain, op.location)


def prelu(builder: Builder, op: Operation) -> SSAValue:
    """`max(x, 0) + slope * min(x, 0)`: two clamps, a depthwise 1x1 convolution, an addition."""
    import numpy as np

    value, shape = builder.value(op.operands[0]), shape_of(op.results[0])
    slope = constant_array(builder.store, op.properties["slope"]).astype(np.float64)
    relu = {"activation": StringAttr("relu")}
    positive = builder.emit(quant.RequantizeOp, [value], shape, op.location, relu)
    below = clip_properties(-math.inf, 0.0)
    negative = builder.emit(quant.RequantizeOp, [value], shape, op.location, below)
    scaled = _per_channel(builder, negative, slope, None, op.location)
    return builder.emit(quant.AddOp, [positive, scaled], shape, op.location)


def instance_norm(builder: Builder, op: Operation) -> SSAValue:
    """Normalize every (sample, channel) row over its positions, then scale each channel."""
    import numpy as np

    value, shape = builder.value(op.operands[0]), shape_of(op.results[0])
    batch, channels, positions = shape[0], shape[-1], math.prod(shape[1:-1])
    flat = builder.emit(quant.ReshapeOp, [value], (batch, positions, channels), op.location)
    swap = {"permutation": ints_attr((0, 2, 1))}
    rows = builder.emit(quant.TransposeOp, [flat], (batch, channels, positions), op.location, swap)
    properties = {"normalized_rank": int_attr(1), "epsilon": op.properties["epsilon"]}
    normal = builder.emit(quant.LayerNormOp, [rows], (batch, channels, positions), op.location, properties)
    back = builder.emit(quant.TransposeOp, [normal], (batch, positions, channels), op.location, swap)
    scale, bias = (constant_array(builder.store, op.properties[name]).astype(np.float64) for name in ("scale", "bias"))
    result = _per_channel(builder, back, scale, bias, op.location)
    return builder.emit(quant.ReshapeOp, [result], shape, op.location)


def _per_channel(builder: Builder, value: SSAValue, gain: Any, bias: Any, location: Any) -> SSAValue:
    """Emit `value * gain[c] + bias[c]` along the last axis as a depthwise 1x1 convolution."""
    import numpy as np

    shape = shape_of(value)
    channels = shape[-1]
    image = (1, 1, math.prod(shape[:-1]), channels)
    weight = write_blob(builder.store, gain.astype(np.float32).reshape(channels, 1, 1, 1))
    properties: dict[str, Attribute | None] = {
        "weight": weight,
        "bias": None if bias is None else write_blob(builder.store, bias.astype(np.float32)),
        "kernel": ints_attr((1, 1)),
        "strides": ints_attr((1, 1)),
        "padding": ints_attr((0, 0, 0, 0)),
        "dilations": ints_attr((1, 1)),
        "groups": int_attr(channels),
    }
    if len(shape) == 4:
        return builder.emit(quant.Conv2dOp, [value], shape, location, properties)
    flat = builder.emit(quant.ReshapeOp, [value], image, location)
    result = builder.emit(quant.Conv2dOp, [flat], image, location, properties)
    return builder.emit(quant.ReshapeOp, [result], shape, location)


HANDLERS: dict[type[Operation], Handler] = {
    mblt.DivOp: divide,
    mblt.PowOp: power,
    mblt.TileOp: tile,
    mblt.CastOp: cast_op,
    mblt.PadOp: pad,
    mblt.BatchNormOp: batch_norm,
    mblt.PreluOp: prelu,
    mblt.InstanceNormOp: instance_norm,
}

_MOVES_INTEGERS = (mblt.ReshapeOp, mblt.TransposeOp, mblt.ConcatOp, mblt.SliceOp, mblt.ExpandOp, mblt.GatherOp)
_MAKES_INTEGERS = (
    mblt.ArgMaxOp,
    mblt.EqualOp,
    mblt.GreaterOp,
    mblt.LessOp,
    mblt.LogicalAndOp,
    mblt.LogicalOrOp,
    mblt.LogicalNotOp,
    mblt.WhereOp,
)


def refusal(op: Operation, handled: Sequence[type[Operation]]) -> str | None:
    """Return why an operation has no integer form, or None when it has one."""
    if op.name.startswith("framework."):
        return "the operator stayed in the source dialect"
    if type(op) not in handled:
        return "there is no integer form of this operation"
    if not op.results or isinstance(op, mblt.ConstantOp):
        return None
    unreal = next(filter(None, (_size_refusal(value) for value in (*op.operands, *op.results))), None)
    if unreal is not None:
        return unreal
    if isinstance(op, mblt.CastOp):
        return _cast_refusal(op)
    integers = not is_float(op.results[0])
    if integers and not isinstance(op, (*_MOVES_INTEGERS, *_MAKES_INTEGERS)):
        return "arithmetic on integer values has no encoding"
    if isinstance(op, mblt.PowOp) and not _is_scalar_constant(op.operands[1]):
        return "the exponent is not one constant number"
    return _pad_refusal(op) if isinstance(op, mblt.PadOp) else None


def _size_refusal(value: SSAValue) -> str | None:
    shape = shape_of(value)
    if 0 in shape:
        return f"a value without elements, of shape {list(shape)}"
    if math.prod(abs(size) for size in shape) > _MAX_ELEMENTS:
        return f"a value of more than {_MAX_ELEMENTS} elements, of shape {list(shape)}"
    return None


def _cast_refusal(op: Operation) -> str | None:
    before, after = op.operands[0], op.results[0]
    if is_mask(before) and not is_float(after):
        return "conversion of a mask to integers stays on the host"
    if is_float(before) != is_float(after) and not is_mask(before):
        return "conversion between float and integer values stays on the host"
    return None


def is_mask(value: SSAValue) -> bool:
    """Return whether a value is a tensor of i1."""
    return tensor_of(value).element_type == i1


def _pad_refusal(op: Operation) -> str | None:
    if text(op, "mode", "constant") == "constant":
        value = cast("FloatAttr", op.properties["value"]).value.data
        return None if math.isfinite(value) else "padding with an infinite value has no code"
    return None


def _is_scalar_constant(value: SSAValue) -> bool:
    owner = value.owner
    if not isinstance(owner, mblt.ConstantOp):
        return False
    return math.prod(shape_of(value)) == 1


__all__ = ["HANDLERS", "refusal"]
