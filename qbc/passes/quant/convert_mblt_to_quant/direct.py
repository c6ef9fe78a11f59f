"""Operations with a quant operation of the same name: operands and properties are kept."""

from __future__ import annotations

from typing import cast

from xdsl.dialects.builtin import FloatAttr, IntegerAttr, StringAttr, TensorType, f64, i32
from xdsl.ir import Attribute, Operation, SSAValue

from qbc.dialects import mblt, quant
from qbc.dialects.quant.base import QuantOp, int_attr, ints_attr
from qbc.passes.base import fuse_locations, single_user
from qbc.passes.quant.convert_mblt_to_quant.builder import Builder, Handler, shape_of, tensor_of
from qbc.passes.quant.legality import CLAMPING

SAME_NAME: dict[type[Operation], type[QuantOp]] = {
    mblt.Conv2dOp: quant.Conv2dOp,
    mblt.TransposeConv2dOp: quant.TransposeConv2dOp,
    mblt.LinearOp: quant.LinearOp,
    mblt.MatmulOp: quant.MatmulOp,
    mblt.AddOp: quant.AddOp,
    mblt.SubOp: quant.SubOp,
    mblt.MulOp: quant.MulOp,
    mblt.MaximumOp: quant.MaximumOp,
    mblt.MinimumOp: quant.MinimumOp,
    mblt.LogicalAndOp: quant.LogicalAndOp,
    mblt.LogicalOrOp: quant.LogicalOrOp,
    mblt.LogicalNotOp: quant.LogicalNotOp,
    mblt.MaxPool2dOp: quant.MaxPool2dOp,
    mblt.AvgPool2dOp: quant.AvgPool2dOp,
    mblt.ReduceMeanOp: quant.ReduceMeanOp,
    mblt.ReduceSumOp: quant.ReduceSumOp,
    mblt.ReduceMaxOp: quant.ReduceMaxOp,
    mblt.ReduceMinOp: quant.ReduceMinOp,
    mblt.ReduceL2Op: quant.ReduceL2Op,
    mblt.ReshapeOp: quant.ReshapeOp,
    mblt.TransposeOp: quant.TransposeOp,
    mblt.ConcatOp: quant.ConcatOp,
    mblt.SliceOp: quant.SliceOp,
    mblt.ExpandOp: quant.ExpandOp,
    mblt.GatherOp: quant.GatherOp,
    mblt.ResizeOp: quant.ResizeOp,
}
UNARY_FUNCTIONS: tuple[type[Operation], ...] = (
    mblt.LeakyReluOp,
    mblt.SigmoidOp,
    mblt.HardSigmoidOp,
    mblt.HardSwishOp,
    mblt.SiluOp,
    mblt.GeluOp,
    mblt.TanhOp,
    mblt.ExpOp,
    mblt.LogOp,
    mblt.SqrtOp,
    mblt.RsqrtOp,
    mblt.ReciprocalOp,
    mblt.AbsOp,
    mblt.NegOp,
    mblt.ErfOp,
    mblt.SoftplusOp,
    mblt.EluOp,
    mblt.MishOp,
    mblt.SinOp,
    mblt.CosOp,
    mblt.FloorOp,
    mblt.CeilOp,
    mblt.SquareOp,
)


def same(builder: Builder, op: Operation) -> SSAValue:
    """Keep name, operands and properties."""
    operands = [builder.value(operand) for operand in op.operands]
    properties = builder.as_float32(op.properties)
    return builder.emit(SAME_NAME[type(op)], operands, shape_of(op.results[0]), op.location, properties)


def layer_norm(builder: Builder, op: Operation) -> SSAValue:
    """Keep a layer norm but for the spelling of its variance: integer sums have nothing to cancel."""
    operands = [builder.value(operand) for operand in op.operands]
    properties = builder.as_float32({name: data for name, data in op.properties.items() if name != "variance"})
    return builder.emit(quant.LayerNormOp, operands, shape_of(op.results[0]), op.location, properties)


COMPARISONS: dict[type[Operation], type[QuantOp]] = {
    mblt.EqualOp: quant.EqualOp,
    mblt.GreaterOp: quant.GreaterOp,
    mblt.LessOp: quant.LessOp,
}


def compare(builder: Builder, op: Operation) -> SSAValue:
    """A comparison gives a mask."""
    operands = [builder.value(operand) for operand in op.operands]
    return builder.add(COMPARISONS[type(op)].make(operands, op.results[0].type, {}, op.location))


def where(builder: Builder, op: Operation) -> SSAValue:
    """Selection by a mask; the result is what the second operand is."""
    operands = [builder.value(operand) for operand in op.operands]
    result = TensorType(tensor_of(operands[1]).element_type, shape_of(op.results[0]))
    return builder.add(quant.WhereOp.make(operands, result, {}, op.location))


def lookup(builder: Builder, op: Operation) -> SSAValue:
    """Turn a unary function into a table lookup that names it."""
    properties: dict[str, Attribute | None] = {"function": StringAttr(op.name.partition(".")[2]), **op.properties}
    return builder.emit(quant.LutOp, [builder.value(op.operands[0])], shape_of(op.results[0]), op.location, properties)


def clamp(builder: Builder, op: Operation) -> SSAValue:
    """Fuse relu or clip into the clamp of its producer; where it has none of its own, add a requantize that clamps."""
    old = op.operands[0]
    new = builder.value(old)
    properties = _clamp_properties(op)
    producer = new.owner
    is_alone = single_user(old) is op and not builder.is_shared(new)
    if is_alone and isinstance(producer, CLAMPING) and "activation" not in producer.properties:
        producer.properties.update(properties)
        producer.location = fuse_locations([producer, op])
        return new
    return builder.emit(quant.RequantizeOp, [new], shape_of(op.results[0]), op.location, properties)


def _clamp_properties(op: Operation) -> dict[str, Attribute]:
    if isinstance(op, mblt.ReluOp):
        return {"activation": StringAttr("relu")}
    low, high = (cast("FloatAttr", op.properties[name]).value.data for name in ("min", "max"))
    return clip_properties(float(low), float(high))


def clip_properties(low: float, high: float) -> dict[str, Attribute]:
    """Return the properties of a fused clip."""
    bounds: dict[str, Attribute] = {"activation_min": FloatAttr(low, f64), "activation_max": FloatAttr(high, f64)}
    return {"activation": StringAttr("clip"), **bounds}


def arg_max(builder: Builder, op: Operation) -> SSAValue:
    """The index of the largest code: i32, without an encoding."""
    result = TensorType(i32, shape_of(op.results[0]))
    return builder.add(quant.ArgMaxOp.make([builder.value(op.operands[0])], result, op.properties, op.location))


def softmax(builder: Builder, op: Operation) -> SSAValue:
    """(Log-)softmax runs over the last axis; another axis is moved there and back."""
    kind = quant.SoftmaxOp if isinstance(op, mblt.SoftmaxOp) else quant.LogSoftmaxOp
    shape = shape_of(op.results[0])
    rank = len(shape)
    axis = cast("IntegerAttr", op.properties["axis"]).value.data % rank
    value = builder.value(op.operands[0])
    properties = {"axis": int_attr(rank - 1), "beta": op.properties.get("beta")}
    if axis == rank - 1:
        return builder.emit(kind, [value], shape, op.location, properties)
    swap = [rank - 1 if i == axis else axis if i == rank - 1 else i for i in range(rank)]
    swapped = [shape[i] for i in swap]
    permutation = {"permutation": ints_attr(swap)}
    moved = builder.emit(quant.TransposeOp, [value], swapped, op.location, permutation)
    result = builder.emit(kind, [moved], swapped, op.location, properties)
    return builder.emit(quant.TransposeOp, [result], shape, op.location, permutation)


HANDLERS: dict[type[Operation], Handler] = {
    **dict.fromkeys(SAME_NAME, same),
    **dict.fromkeys(UNARY_FUNCTIONS, lookup),
    mblt.LayerNormOp: layer_norm,
    mblt.ReluOp: clamp,
    mblt.ClipOp: clamp,
    mblt.SoftmaxOp: softmax,
    mblt.LogSoftmaxOp: softmax,
    mblt.ArgMaxOp: arg_max,
    mblt.WhereOp: where,
    **dict.fromkeys(COMPARISONS, compare),
}
