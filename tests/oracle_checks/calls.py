"""Random valid kernel calls of every kind: CASES[kind](rng) returns a call and its input codes."""

from __future__ import annotations

from collections.abc import Callable

from tests.oracle_checks.calls_functions import (
    add,
    div,
    extremum,
    layer_norm,
    log_softmax,
    lut,
    lut16,
    mantissa_lut,
    mul,
    predicate,
    requantize,
    softmax,
    where,
)
from tests.oracle_checks.calls_movement import concat, expand, gather, pad, reshape, slice_codes, tile, transpose
from tests.oracle_checks.calls_products import conv2d, linear, matmul, transpose_conv2d
from tests.oracle_checks.calls_windows import (
    arg_max,
    avg_pool2d,
    max_pool2d,
    reduce_extremum,
    reduce_l2,
    reduce_sum,
    resize_linear,
    resize_nearest,
)
from tests.oracle_checks.random_values import Case, Rng

CASES: dict[str, Callable[[Rng], Case]] = {
    "conv2d": conv2d,
    "transpose_conv2d": transpose_conv2d,
    "linear": linear,
    "matmul": matmul,
    "add": add,
    "mul": mul,
    "div": div,
    "maximum": extremum("maximum"),
    "minimum": extremum("minimum"),
    "requantize": requantize,
    "lut": lut,
    "lut16": lut16,
    "mantissa_lut": mantissa_lut,
    "softmax": softmax,
    "layer_norm": layer_norm,
    "max_pool2d": max_pool2d,
    "avg_pool2d": avg_pool2d,
    "reduce_sum": reduce_sum,
    "reduce_max": reduce_extremum("reduce_max"),
    "reduce_min": reduce_extremum("reduce_min"),
    "reshape": reshape,
    "transpose": transpose,
    "slice": slice_codes,
    "concat": concat,
    "expand": expand,
    "gather": gather,
    "pad": pad,
    "resize_nearest": resize_nearest,
    "resize_linear": resize_linear,
    **{kind: predicate(kind) for kind in ("equal", "greater", "less", "logical_and", "logical_or", "logical_not")},
    "where": where,
    "tile": tile,
    "arg_max": arg_max,
    "log_softmax": log_softmax,
    "reduce_l2": reduce_l2,
}
