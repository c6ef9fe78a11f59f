"""Lifting: the float program behind a quantized function whose weights are still float.

At the levels created and ranged a quant function is its mblt function with encodings added. `lift` drops the
encodings again, one operation for one operation, so that calibration and reports run exactly what will be quantized.

```mlir
%1 = quant.conv2d %0 {weight = ..., activation = "relu", ...} : tensor<...!quant.q<"r0">> -> tensor<...!quant.q<"r1">>
%2 = quant.lut %1 {function = "hard_swish"} : tensor<...!quant.q<"r1">> -> tensor<...!quant.q<"r2">>
// becomes
%1 = mblt.conv2d %0 {weight = ..., activation = "relu", ...} : tensor<1x8x8x3xf32> -> tensor<...xf32>
%2 = mblt.hard_swish %1 : tensor<...xf32> -> tensor<...xf32>
```
"""

from __future__ import annotations

import math
import struct
from dataclasses import dataclass
from functools import cache

from xdsl.dialects.builtin import StringAttr, TensorType, f32
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from qbc.dialects import mblt, quant
from qbc.dialects.blob import BlobInlineAttr
from qbc.dialects.quant.base import number
from qbc.passes.base import pass_error

_IDENTITIES = (quant.QuantizeOp, quant.DequantizeOp)


@dataclass(frozen=True)
class Lifted:
    """A float function and, for every value of the quant function, the float value it stands for."""

    function: FuncOp
    values: dict[SSAValue, SSAValue]


def lift(function: FuncOp, *, keeps_requantize: bool = False) -> Lifted:
    """Return the float mblt function of a quant function at level created or ranged.

    A requantize that only changes the encoding is left out, or with `keeps_requantize` a clip without bounds, so that
    its result is a value of its own. Raises VERIFY_ERROR for an operation that exists only after `quant-materialize`.
    """
    source = function.body.block
    block = Block(arg_types=[_float_type(argument) for argument in source.args])
    values: dict[SSAValue, SSAValue] = dict(zip(source.args, block.args, strict=True))
    for op in source.ops:
        _lift_op(op, block, values, keeps_requantize)
    lifted = FuncOp(
        function.sym_name.data,
        (block.arg_types, [_float_type(value) for value in _return_of(source).operands]),
        Region(block),
        arg_attrs=function.arg_attrs,
        res_attrs=function.res_attrs,
    )
    return Lifted(lifted, values)


def _lift_op(op: Operation, block: Block, values: dict[SSAValue, SSAValue], keeps_requantize: bool) -> None:
    operands = [values[operand] for operand in op.operands]
    if isinstance(op, ReturnOp):
        block.add_op(ReturnOp(*operands))
        return
    if isinstance(op, _IDENTITIES):
        values[op.results[0]] = operands[0]
        return
    created = _create(op, operands, block)
    if created is None and keeps_requantize:
        created = mblt.ClipOp.of(*operands, min=-math.inf, max=math.inf)
    if created is None:
        values[op.results[0]] = operands[0]
        return
    created.location = op.location
    block.add_op(created)
    values[op.results[0]] = created.results[0]


def _create(op: Operation, operands: list[SSAValue], block: Block) -> Operation | None:
    if isinstance(op, quant.RequantizeOp):
        return _clamp(op, operands)
    if isinstance(op, quant.LutOp):
        return _unary(op, operands, block)
    target = _classes().get(op.name.partition(".")[2])
    if target is None:
        raise pass_error(op, "has no float form; it exists only after quant-materialize")
    return _build(op, target, operands)


def _clamp(op: Operation, operands: list[SSAValue]) -> Operation | None:
    kind = op.properties.get("activation")
    if not isinstance(kind, StringAttr):
        return None
    if kind.data == "relu":
        return _build(op, mblt.ReluOp, operands)
    if kind.data == "relu6":
        return mblt.ClipOp.of(*operands, min=0.0, max=6.0)
    low, high = (op.properties.get(f"activation_{side}") for side in ("min", "max"))
    return mblt.ClipOp.of(*operands, min=-math.inf if low is None else low, max=math.inf if high is None else high)


def _unary(op: Operation, operands: list[SSAValue], block: Block) -> Operation:
    function = op.properties.get("function")
    if not isinstance(function, StringAttr):
        raise pass_error(op, "has no float form; it exists only after quant-materialize")
    if function.data == "pow":
        exponent = _number(number(op, "exponent"), operands[0], block)
        return _affine(op, mblt.PowOp.of(operands[0], exponent), block)
    return _affine(op, _build(op, _classes()[function.data], operands), block)


def _affine(op: Operation, function: Operation, block: Block) -> Operation:
    """Return the operation that makes `gain * f(x) + offset`; all but the last are added to the block."""
    last = function
    for target, value in ((mblt.MulOp, number(op, "gain", 1.0)), (mblt.AddOp, number(op, "offset", 0.0))):
        if value == (1.0 if target is mblt.MulOp else 0.0):
            continue
        last.location = op.location
        block.add_op(last)
        last = target.of(last.results[0], _number(value, last.results[0], block))
    return last


def _number(value: float, like: SSAValue, block: Block) -> SSAValue:
    """Add a constant of one number that broadcasts to `like`."""
    shape = (1,) * len(mblt.shape_of(like))
    data = BlobInlineAttr(StringAttr(struct.pack("<f", value).hex()), TensorType(f32, shape))
    constant = mblt.ConstantOp.of_value(data)
    block.add_op(constant)
    return constant.results[0]


def _build(op: Operation, target: type[mblt.MbltOp], operands: list[SSAValue]) -> Operation:
    known = target.get_irdl_definition().properties
    properties: dict[str, object] = {name: value for name, value in op.properties.items() if name in known}
    if isinstance(op, quant.Conv2dOp | quant.TransposeConv2dOp):
        properties["kernel"] = list(op.weight_shape[1:3])  # optional in quant, because the weight says it
    return target.create_op(operands, [_float_type(op.results[0])], properties)


def _float_type(value: SSAValue) -> Attribute:
    if quant.quantized_element(value) is None:
        return value.type
    assert isinstance(value.type, TensorType)
    return TensorType(f32, value.type.get_shape())


def _return_of(block: Block) -> ReturnOp:
    last = block.last_op
    assert isinstance(last, ReturnOp)
    return last


@cache
def _classes() -> dict[str, type[mblt.MbltOp]]:
    classes = [value for value in vars(mblt).values() if isinstance(value, type) and issubclass(value, mblt.MbltOp)]
    return {cls.name.partition(".")[2]: cls for cls in classes if getattr(cls, "name", "").startswith("mblt.")}
