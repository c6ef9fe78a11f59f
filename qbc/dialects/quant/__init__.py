"""The `quant` dialect: the graph with encodings, from float weights to integers only."""

from xdsl.ir import Dialect

from qbc.dialects.quant.activation import FUNCTIONS, MANTISSA_FUNCTIONS, Lut16Op, LutOp, MantissaLutOp
from qbc.dialects.quant.base import QuantOp
from qbc.dialects.quant.boundary import DequantizeOp, QuantizeOp, RequantizeOp
from qbc.dialects.quant.constant import ConstantOp
from qbc.dialects.quant.convolution import Conv2dOp, TransposeConv2dOp, WeightedOp
from qbc.dialects.quant.elementwise import (
    AddOp,
    DivOp,
    EqualOp,
    GreaterOp,
    LessOp,
    LogicalAndOp,
    LogicalNotOp,
    LogicalOrOp,
    MaskOp,
    MaximumOp,
    MinimumOp,
    MulOp,
    SubOp,
    WhereOp,
)
from qbc.dialects.quant.matmul import LinearOp, MatmulOp
from qbc.dialects.quant.normalization import LayerNormOp, LogSoftmaxOp, SoftmaxOp
from qbc.dialects.quant.params import ParamsOp
from qbc.dialects.quant.pooling import AvgPool2dOp, MaxPool2dOp
from qbc.dialects.quant.reduction import ArgMaxOp, ReduceL2Op, ReduceMaxOp, ReduceMeanOp, ReduceMinOp, ReduceSumOp
from qbc.dialects.quant.resize import ResizeLinearOp, ResizeNearestOp, ResizeOp
from qbc.dialects.quant.shape import ConcatOp, ExpandOp, GatherOp, PadOp, ReshapeOp, SliceOp, TransposeOp
from qbc.dialects.quant.table import ParamTable, channel_row, level, quantized_values
from qbc.dialects.quant.types import CODE_RANGES, QType, quantized_element, round_to_f32

OPERATIONS: tuple[type[QuantOp], ...] = (
    QuantizeOp, DequantizeOp, RequantizeOp, ConstantOp,
    Conv2dOp, TransposeConv2dOp, LinearOp, MatmulOp,
    AddOp, SubOp, MulOp, DivOp, MaximumOp, MinimumOp,
    EqualOp, GreaterOp, LessOp, LogicalAndOp, LogicalOrOp, LogicalNotOp, WhereOp,
    LutOp, Lut16Op, MantissaLutOp, SoftmaxOp, LogSoftmaxOp, LayerNormOp,
    MaxPool2dOp, AvgPool2dOp, ReduceMeanOp, ReduceSumOp, ReduceMaxOp, ReduceMinOp, ReduceL2Op, ArgMaxOp,
    ReshapeOp, TransposeOp, ConcatOp, SliceOp, ExpandOp, PadOp, GatherOp,
    ResizeOp, ResizeNearestOp, ResizeLinearOp,
)  # fmt: skip

Quant = Dialect("quant", [ParamsOp, *OPERATIONS], [QType])

__all__ = [
    "CODE_RANGES",
    "FUNCTIONS",
    "MANTISSA_FUNCTIONS",
    "OPERATIONS",
    "AddOp",
    "ArgMaxOp",
    "AvgPool2dOp",
    "ConcatOp",
    "ConstantOp",
    "Conv2dOp",
    "DequantizeOp",
    "DivOp",
    "EqualOp",
    "ExpandOp",
    "GatherOp",
    "GreaterOp",
    "LayerNormOp",
    "LessOp",
    "LinearOp",
    "LogSoftmaxOp",
    "LogicalAndOp",
    "LogicalNotOp",
    "LogicalOrOp",
    "Lut16Op",
    "LutOp",
    "MantissaLutOp",
    "MaskOp",
    "MatmulOp",
    "MaxPool2dOp",
    "MaximumOp",
    "MinimumOp",
    "MulOp",
    "PadOp",
    "ParamTable",
    "ParamsOp",
    "QType",
    "Quant",
    "QuantOp",
    "QuantizeOp",
    "ReduceL2Op",
    "ReduceMaxOp",
    "ReduceMeanOp",
    "ReduceMinOp",
    "ReduceSumOp",
    "RequantizeOp",
    "ReshapeOp",
    "ResizeLinearOp",
    "ResizeNearestOp",
    "ResizeOp",
    "SliceOp",
    "SoftmaxOp",
    "SubOp",
    "TransposeConv2dOp",
    "TransposeOp",
    "WeightedOp",
    "WhereOp",
    "channel_row",
    "level",
    "quantized_element",
    "quantized_values",
    "round_to_f32",
]
