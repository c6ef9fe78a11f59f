"""What a target can run: one function a rule, whose docstring is the rule that users read.

A rule returns None where it does not apply or holds, else what it found (empty where the rule says it all).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from qbc.dialects.npu import KernelOp
from qbc.dialects.npu.activation import Lut16Op, MantissaLutOp
from qbc.dialects.npu.convolution import AccumulateOp
from qbc.dialects.npu.elementwise import DivOp
from qbc.dialects.npu.normalization import LayerNormOp, LogSoftmaxOp, SoftmaxOp
from qbc.dialects.npu.reduction import ArgMaxOp
from qbc.dialects.npu.shape import GatherOp, MoveOp

if TYPE_CHECKING:
    from qbc.targets import Target

Rule = Callable[[KernelOp, "Target"], str | None]

MAX_RANK = 8
FUNCTION_UNIT_OPS: tuple[type[KernelOp], ...] = (SoftmaxOp, LogSoftmaxOp, LayerNormOp, DivOp, Lut16Op, MantissaLutOp)


def rank_limit(op: KernelOp, target: Target) -> str | None:
    """Tensors have at most 8 axes."""
    rank = max(len(value.shape) for value in (*op.input_types, op.output_type))
    return f"it has {rank}" if rank > MAX_RANK else None


def integers_are_indices(op: KernelOp, target: Target) -> str | None:
    """Arithmetic works on i8 and i16 codes; 32-bit integers serve as gather indices and may only be moved."""
    if isinstance(op, MoveOp | GatherOp | ArgMaxOp):
        return None
    if isinstance(op, AccumulateOp) and op.plane_name != "full":
        return None
    if any(value.element == "i32" for value in (*op.input_types, op.output_type)):
        return "it computes with i32"
    return None


def kernel_limit(op: KernelOp, target: Target) -> str | None:
    """The kernel of a convolution has at most `limits.kernel` rows and columns."""
    return _above(_window_sizes(op), target.limits.kernel)


def stride_limit(op: KernelOp, target: Target) -> str | None:
    """Strides of a convolution are at most `limits.stride`."""
    sizes = op.integers("strides") if isinstance(op, AccumulateOp) and "strides" in op.properties else ()
    return _above(sizes, target.limits.stride)


def dilation_limit(op: KernelOp, target: Target) -> str | None:
    """Dilations are at most `limits.dilation`."""
    sizes = op.integers("dilations") if "dilations" in op.properties else ()
    return _above(sizes, target.limits.dilation)


def softmax_limit(op: KernelOp, target: Target) -> str | None:
    """A softmax runs over at most `limits.softmax_elements` elements."""
    sizes = (op.input_types[0].shape[-1],) if isinstance(op, SoftmaxOp | LogSoftmaxOp) else ()
    return _above(sizes, target.limits.softmax_elements)


def norm_limit(op: KernelOp, target: Target) -> str | None:
    """A normalization runs over at most `limits.norm_elements` elements."""
    sizes = (op.integer("n"),) if isinstance(op, LayerNormOp) else ()
    return _above(sizes, target.limits.norm_elements)


def function_unit(op: KernelOp, target: Target) -> str | None:
    """Softmax, normalization, division and 16-bit tables need the multi-function unit, which this target lacks."""
    if target.core.mfu.present or not isinstance(op, FUNCTION_UNIT_OPS):
        return None
    return ""


RULES: tuple[Rule, ...] = (
    rank_limit,
    integers_are_indices,
    kernel_limit,
    stride_limit,
    dilation_limit,
    softmax_limit,
    norm_limit,
    function_unit,
)


def rule_text(rule: Rule) -> str:
    """Return the sentence of a rule as users read it."""
    return (rule.__doc__ or "").strip()


def _window_sizes(op: KernelOp) -> tuple[int, ...]:
    if isinstance(op, AccumulateOp) and "strides" in op.properties:
        return op.call_constants()["weight"].shape[1:3]
    return ()


def _above(sizes: tuple[int, ...], limit: int) -> str | None:
    return f"found {max(sizes)}, the limit is {limit}" if sizes and max(sizes) > limit else None
