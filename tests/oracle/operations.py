"""One operation by kind."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from . import functions, logic, movement, products
from .arithmetic import Attributes

_KINDS: dict[str, Callable[..., np.ndarray]] = {
    "conv2d": products.conv2d,
    "transpose_conv2d": products.transpose_conv2d,
    "linear": products.linear,
    "matmul": products.matmul,
    "add": functions.add,
    "mul": functions.mul,
    "div": functions.div,
    "maximum": functions.maximum,
    "minimum": functions.minimum,
    "requantize": functions.requantize_codes,
    "lut": functions.lut,
    "lut16": functions.lut16,
    "mantissa_lut": functions.mantissa_lut,
    "softmax": functions.softmax,
    "layer_norm": functions.layer_norm,
    "max_pool2d": movement.max_pool2d,
    "avg_pool2d": movement.avg_pool2d,
    "reduce_sum": movement.reduce_sum,
    "reduce_max": movement.reduce_max,
    "reduce_min": movement.reduce_min,
    "reshape": movement.reshape,
    "transpose": movement.transpose,
    "slice": movement.slice_codes,
    "concat": movement.concat,
    "expand": movement.expand,
    "gather": movement.gather,
    "pad": movement.pad,
    "resize_nearest": movement.resize_nearest,
    "resize_linear": movement.resize_linear,
    "equal": logic.equal,
    "greater": logic.greater,
    "less": logic.less,
    "logical_and": logic.logical_and,
    "logical_or": logic.logical_or,
    "logical_not": logic.logical_not,
    "where": logic.where,
    "tile": logic.tile,
    "arg_max": logic.arg_max,
    "log_softmax": logic.log_softmax,
    "reduce_l2": logic.reduce_l2,
}


def run(
    kind: str,
    inputs: Sequence[np.ndarray],
    attributes: Attributes,
    constants: dict[str, Any],
    shape: tuple[int, ...],
    dtype: str,
) -> np.ndarray:
    """Compute one operation on integer codes; returns int64 codes of the given shape."""
    codes = _KINDS[kind](list(inputs), attributes, constants, tuple(shape), dtype)
    return np.asarray(codes).astype(np.int64).reshape(shape)
