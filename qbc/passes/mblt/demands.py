"""What a layer asks of a device, for the rules of `qbc.passes.capabilities`: the same as its commands will."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from math import prod
from typing import TYPE_CHECKING

from xdsl.dialects.builtin import TensorType
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation

from qbc.dialects import mblt
from qbc.dialects.mblt.base import shape_of
from qbc.dialects.mblt.convolution import ConvolutionOp
from qbc.passes.capabilities import Demand

if TYPE_CHECKING:
    from qbc.store import BlobStore

FUNCTION_UNIT_LAYERS = (mblt.SoftmaxOp, mblt.LogSoftmaxOp, mblt.LayerNormOp, mblt.InstanceNormOp)


def demands_of(functions: Iterable[FuncOp], store: BlobStore) -> Iterator[tuple[Operation, Demand]]:
    """Yield the layers of functions with what each asks for; operators of the source model ask for nothing yet.

    How wide values will be is not known here, so tables of 16-bit values are not seen.
    """
    for function in functions:
        for op in function.body.block.ops:
            if isinstance(op, mblt.MbltOp) and not isinstance(op, mblt.ConstantOp):
                yield op, demand_of(op, store)


def demand_of(op: mblt.MbltOp, store: BlobStore) -> Demand:
    """Return what a layer asks for."""
    values = (*op.operands, *op.results)
    is_convolution = isinstance(op, ConvolutionOp)
    return Demand(
        rank=max(len(value.type.get_shape()) for value in values if isinstance(value.type, TensorType)),
        kernel=op.ints("kernel") if is_convolution else (),
        strides=op.ints("strides") if is_convolution else (),
        dilations=op.ints("dilations") if is_convolution or isinstance(op, mblt.MaxPool2dOp) else (),
        softmax_elements=_softmax_elements(op),
        norm_elements=_norm_elements(op),
        function_unit=isinstance(op, FUNCTION_UNIT_LAYERS) or _divides(op, store),
    )


def _softmax_elements(op: Operation) -> int:
    if not isinstance(op, mblt.SoftmaxOp | mblt.LogSoftmaxOp):
        return 0
    return shape_of(op.operands[0])[op.axis.value.data]


def _norm_elements(op: Operation) -> int:
    if isinstance(op, mblt.LayerNormOp):
        return prod(shape_of(op.operands[0])[-op.normalized_rank.value.data :])
    if isinstance(op, mblt.InstanceNormOp):
        return prod(shape_of(op.operands[0])[1:-1])
    return 0


def _divides(op: Operation, store: BlobStore) -> bool:
    """Return whether a layer becomes a division: by a constant without zeros it becomes a multiplication."""
    if not isinstance(op, mblt.DivOp):
        return False
    owner = op.operands[1].owner
    if not isinstance(owner, mblt.ConstantOp):
        return True
    from qbc.passes.quant.convert_mblt_to_quant.builder import constant_array

    return not constant_array(store, owner.value).all()
