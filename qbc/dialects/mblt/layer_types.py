"""The published LayerType name of every mblt op, for reports and converted names."""

from __future__ import annotations

from xdsl.ir import Operation

LAYER_TYPES: dict[str, str] = {
    "mblt.constant": "InputConstant",
    "mblt.conv2d": "Convolution",
    "mblt.transpose_conv2d": "TransposeConvolution",
    "mblt.linear": "MatMul",
    "mblt.matmul": "MatMul",
    "mblt.add": "Adding",
    "mblt.sub": "Sub",
    "mblt.mul": "Multiply",
    "mblt.div": "Div",
    "mblt.maximum": "Maximum",
    "mblt.minimum": "Minimum",
    "mblt.pow": "Pow",
    "mblt.equal": "TensorCmp",
    "mblt.greater": "TensorCmp",
    "mblt.less": "TensorCmp",
    "mblt.logical_and": "Logical",
    "mblt.logical_or": "Logical",
    "mblt.logical_not": "Logical",
    "mblt.where": "Where",
    "mblt.relu": "Relu",
    "mblt.clip": "Clip",
    "mblt.leaky_relu": "LeakyRelu",
    "mblt.prelu": "PRelu",
    "mblt.sigmoid": "Sigmoid",
    "mblt.hard_sigmoid": "HardSigmoid",
    "mblt.hard_swish": "HardSwish",
    "mblt.silu": "Swish",
    "mblt.gelu": "Gelu",
    "mblt.tanh": "Tanh",
    "mblt.exp": "Exp",
    "mblt.log": "Log",
    "mblt.sqrt": "Sqrt",
    "mblt.rsqrt": "Rsqrt",
    "mblt.reciprocal": "Reciprocal",
    "mblt.abs": "Abs",
    "mblt.neg": "Neg",
    "mblt.erf": "Erf",
    "mblt.softplus": "Softplus",
    "mblt.elu": "Elu",
    "mblt.mish": "Mish",
    "mblt.sin": "Sin",
    "mblt.cos": "Cos",
    "mblt.floor": "Floor",
    "mblt.ceil": "Ceil",
    "mblt.square": "Pow",
    "mblt.batch_norm": "Batchnorm",
    "mblt.layer_norm": "LayerNormalization",
    "mblt.instance_norm": "InstanceNormalization",
    "mblt.softmax": "Softmax",
    "mblt.log_softmax": "LogSoftmax",
    "mblt.max_pool2d": "Pooling",
    "mblt.avg_pool2d": "Pooling",
    "mblt.reduce_mean": "ReduceMean",
    "mblt.reduce_sum": "ReduceSum",
    "mblt.reduce_max": "ReduceMax",
    "mblt.reduce_min": "ReduceMin",
    "mblt.reduce_l2": "ReduceL2",
    "mblt.arg_max": "ArgMax",
    "mblt.reshape": "Reshape",
    "mblt.transpose": "Transpose",
    "mblt.concat": "Concatenate",
    "mblt.slice": "Slice",
    "mblt.expand": "Expand",
    "mblt.pad": "Pad",
    "mblt.gather": "Gather",
    "mblt.tile": "Tile",
    "mblt.cast": "Cast",
    "mblt.resize": "Resize",
}


def layer_type(op: Operation) -> str:
    """Return the published layer type of an mblt op; a convolution's type follows from its groups."""
    from qbc.dialects.mblt.base import shape_of
    from qbc.dialects.mblt.convolution import Conv2dOp

    if not isinstance(op, Conv2dOp) or op.groups.value.data == 1:
        return LAYER_TYPES[op.name]
    return "DepthwiseConvolution" if op.groups.value.data == shape_of(op.operands[0])[3] else "GroupConvolution"
