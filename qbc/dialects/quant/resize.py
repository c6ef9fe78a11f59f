"""Resampling of H and W of an NHWC tensor; the result type says the size."""

from __future__ import annotations

from xdsl.dialects.builtin import DenseArrayBase
from xdsl.irdl import base, irdl_op_definition, prop_def

from qbc.dialects.quant.base import BLOB, INT, TEXT, UnaryOp


@irdl_op_definition
class ResizeOp(UnaryOp):
    """Float levels: `mode` "nearest" or "linear" with ONNX coordinate and nearest modes and f64 `scales` [h, w].

    `quant-materialize` makes it a `resize_nearest` or a `resize_linear`.
    """

    name = "quant.resize"
    mode = prop_def(TEXT)
    coordinate_mode = prop_def(TEXT)
    nearest_mode = prop_def(TEXT)
    scales = prop_def(base(DenseArrayBase))


@irdl_op_definition
class ResizeNearestOp(UnaryOp):
    """`y[n, h, w, c] = x[n, index_h[h], index_w[w], c]`."""

    name = "quant.resize_nearest"
    index_h = prop_def(BLOB)
    index_w = prop_def(BLOB)


@irdl_op_definition
class ResizeLinearOp(UnaryOp):
    """Two taps an axis: rows `h0`, `h1` with weight `hw` of 2048 on the second, columns alike, one requantization."""

    name = "quant.resize_linear"
    h0 = prop_def(BLOB)
    h1 = prop_def(BLOB)
    hw = prop_def(BLOB)
    w0 = prop_def(BLOB)
    w1 = prop_def(BLOB)
    ww = prop_def(BLOB)
    zx = prop_def(INT)
    m = prop_def(INT)
    s = prop_def(INT)
    z = prop_def(INT)
    lo = prop_def(INT)
    hi = prop_def(INT)
