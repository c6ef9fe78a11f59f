"""What a command asks of a device, for the rules of `qbc.passes.capabilities`."""

from __future__ import annotations

from qbc.dialects.npu import KernelOp
from qbc.dialects.npu.activation import Lut16Op, MantissaLutOp
from qbc.dialects.npu.convolution import AccumulateOp
from qbc.dialects.npu.elementwise import DivOp
from qbc.dialects.npu.normalization import LayerNormOp, LogSoftmaxOp, SoftmaxOp
from qbc.dialects.npu.reduction import ArgMaxOp
from qbc.dialects.npu.shape import GatherOp, MoveOp
from qbc.passes.capabilities import Demand

FUNCTION_UNIT_OPS: tuple[type[KernelOp], ...] = (SoftmaxOp, LogSoftmaxOp, LayerNormOp, DivOp, Lut16Op, MantissaLutOp)


def demand_of(op: KernelOp) -> Demand:
    """Return what a command asks for."""
    is_convolution = isinstance(op, AccumulateOp) and "strides" in op.properties
    return Demand(
        rank=max(len(value.shape) for value in (*op.input_types, op.output_type)),
        computes_integers=_computes_integers(op),
        kernel=op.call_constants()["weight"].shape[1:3] if is_convolution else (),
        strides=op.integers("strides") if is_convolution else (),
        dilations=op.integers("dilations") if "dilations" in op.properties else (),
        softmax_elements=op.input_types[0].shape[-1] if isinstance(op, SoftmaxOp | LogSoftmaxOp) else 0,
        norm_elements=op.integer("n") if isinstance(op, LayerNormOp) else 0,
        function_unit=isinstance(op, FUNCTION_UNIT_OPS),
    )


def _computes_integers(op: KernelOp) -> bool:
    if isinstance(op, MoveOp | GatherOp | ArgMaxOp):
        return False
    if isinstance(op, AccumulateOp) and op.plane_name != "full":
        return False
    return any(value.element == "i32" for value in (*op.input_types, op.output_type))
