"""ONNX form of the elementwise and activation families: computed in the layout of the largest operand."""

from __future__ import annotations

from xdsl.ir import Operation

from qbc.dialects.common.access import number, shape_of, text
from qbc.export.onnx_mblt_builder import FIRST, Emitter, GraphBuilder


def _node(op_type: str, **attributes: float | str) -> Emitter:
    """Return an emitter of one node with fixed attributes."""

    def emit(op: Operation, builder: GraphBuilder) -> None:
        layout = builder.common_layout(op.operands)
        inputs = [builder.get(value, layout) for value in op.operands]
        builder.finish(op, builder.node(op_type, inputs, **attributes), layout)

    return emit


def _node_with(op_type: str, *names: str) -> Emitter:
    """Return an emitter of one node whose attributes are float properties of the same name."""

    def emit(op: Operation, builder: GraphBuilder) -> None:
        _node(op_type, **{name: number(op, name) for name in names})(op, builder)

    return emit


def clip(op: Operation, builder: GraphBuilder) -> None:
    """`Clip`."""
    source = op.operands[0]
    layout = builder.common_layout(op.operands)
    name = builder.clip(builder.get(source, layout), number(op, "min"), number(op, "max"), source)
    builder.finish(op, name, layout)


def prelu(op: Operation, builder: GraphBuilder) -> None:
    """`PRelu` with the slope on the channel axis."""
    source = op.operands[0]
    layout = builder.common_layout(op.operands)
    slope = builder.read(op.properties["slope"])
    if layout == FIRST:
        slope = slope.reshape(-1, *[1] * (len(shape_of(source)) - 2))
    inputs = [builder.get(source, layout), builder.initializer(slope, "slope", (op.properties["slope"], layout))]
    builder.finish(op, builder.node("PRelu", inputs), layout)


def gelu(op: Operation, builder: GraphBuilder) -> None:
    """`Gelu`."""
    _node("Gelu", approximate=text(op, "approximate"))(op, builder)


def silu(op: Operation, builder: GraphBuilder) -> None:
    """`x * Sigmoid(x)`."""
    layout = builder.common_layout(op.operands)
    source = builder.get(op.operands[0], layout)
    gate = builder.node("Sigmoid", [source])
    builder.finish(op, builder.node("Mul", [source, gate]), layout)


def square(op: Operation, builder: GraphBuilder) -> None:
    """`x * x`."""
    layout = builder.common_layout(op.operands)
    source = builder.get(op.operands[0], layout)
    builder.finish(op, builder.node("Mul", [source, source]), layout)


def rsqrt(op: Operation, builder: GraphBuilder) -> None:
    """`1 / sqrt(x)`."""
    layout = builder.common_layout(op.operands)
    root = builder.node("Sqrt", [builder.get(op.operands[0], layout)])
    builder.finish(op, builder.node("Reciprocal", [root]), layout)


EMITTERS: dict[str, Emitter] = {
    "mblt.add": _node("Add"),
    "mblt.sub": _node("Sub"),
    "mblt.mul": _node("Mul"),
    "mblt.div": _node("Div"),
    "mblt.maximum": _node("Max"),
    "mblt.minimum": _node("Min"),
    "mblt.pow": _node("Pow"),
    "mblt.equal": _node("Equal"),
    "mblt.greater": _node("Greater"),
    "mblt.less": _node("Less"),
    "mblt.logical_and": _node("And"),
    "mblt.logical_or": _node("Or"),
    "mblt.logical_not": _node("Not"),
    "mblt.where": _node("Where"),
    "mblt.relu": _node("Relu"),
    "mblt.clip": clip,
    "mblt.leaky_relu": _node_with("LeakyRelu", "alpha"),
    "mblt.prelu": prelu,
    "mblt.sigmoid": _node("Sigmoid"),
    "mblt.hard_sigmoid": _node_with("HardSigmoid", "alpha", "beta"),
    "mblt.hard_swish": _node("HardSwish"),
    "mblt.silu": silu,
    "mblt.gelu": gelu,
    "mblt.tanh": _node("Tanh"),
    "mblt.exp": _node("Exp"),
    "mblt.log": _node("Log"),
    "mblt.sqrt": _node("Sqrt"),
    "mblt.rsqrt": rsqrt,
    "mblt.reciprocal": _node("Reciprocal"),
    "mblt.abs": _node("Abs"),
    "mblt.neg": _node("Neg"),
    "mblt.erf": _node("Erf"),
    "mblt.softplus": _node("Softplus"),
    "mblt.elu": _node_with("Elu", "alpha"),
    "mblt.mish": _node("Mish"),
    "mblt.sin": _node("Sin"),
    "mblt.cos": _node("Cos"),
    "mblt.floor": _node("Floor"),
    "mblt.ceil": _node("Ceil"),
    "mblt.square": square,
}
