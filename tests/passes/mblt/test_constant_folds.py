"""Constants, padding, one-hot selection and reshapes."""

from __future__ import annotations

import math

import numpy as np
import pytest
from xdsl.dialects.builtin import TensorType, f32, i1, i32

from qbc.dialects import mblt
from qbc.passes.mblt.mblt_simplify_reshape import dropped_axes
from tests.support.mblt_graphs import MbltGraph
from tests.support.mblt_passes import check_pass

IMAGE = (2, 6, 5, 3)


def _conv(g: MbltGraph, x, **options):
    channels = mblt.shape_of(x)[3]
    return g.op(mblt.Conv2dOp, x, **{"kernel": [3, 3], "weight": g.weight(4, 3, 3, channels), **options})


def _vector(g: MbltGraph, channels: int = 3, rank: int = 4, low: float = 0.5):
    return g.constant(np.linspace(low, low + 2, channels).reshape(*[1] * (rank - 1), channels))


# --- mblt-fold-constants ---------------------------------------------------------------------------------------


def test_ops_on_constants_are_evaluated() -> None:
    g = MbltGraph()
    table = g.op(mblt.SqrtOp, g.op(mblt.AddOp, _vector(g), _vector(g)))
    index = g.op(mblt.CastOp, g.constant([[0, 2]], "int64"), result_type=TensorType(i32, [1, 2]))
    rows = g.op(mblt.GatherOp, g.constant(np.eye(3)), index, axis=0)
    func = g.finish(g.op(mblt.MaximumOp, g.input(IMAGE), table), rows)
    assert check_pass(g, func, "mblt-fold-constants") == ["maximum"]


def test_constants_that_would_grow_stay() -> None:
    g = MbltGraph()
    big = g.op(mblt.ExpandOp, g.constant(np.zeros((1, 1))), result_type=TensorType(f32, [600, 600]))
    func = g.finish(g.op(mblt.MaximumOp, g.input((600, 600)), big))
    assert check_pass(g, func, "mblt-fold-constants") == ["expand", "maximum"]


def test_constants_in_a_row_merge() -> None:
    g = MbltGraph()
    x = g.op(mblt.SubOp, g.op(mblt.AddOp, g.input(IMAGE), _vector(g)), _vector(g, low=4.0))
    x = g.op(mblt.DivOp, g.op(mblt.MulOp, _vector(g), x), _vector(g, low=2.0), activation="relu")
    assert check_pass(g, g.finish(x), "mblt-fold-constants") == ["add", "mul"]


def test_shared_or_reversed_constants_do_not_merge() -> None:
    g = MbltGraph()
    x = g.input(IMAGE)
    shared = g.op(mblt.AddOp, x, _vector(g))
    func = g.finish(
        g.op(mblt.AddOp, shared, _vector(g)), shared, g.op(mblt.SubOp, _vector(g), x), g.op(mblt.DivOp, _vector(g), x)
    )
    assert check_pass(g, func, "mblt-fold-constants") == ["add", "add", "sub", "div"]


def test_a_divisor_whose_inverse_is_no_float_stays() -> None:
    g = MbltGraph()
    tiny = g.constant(np.full((1, 1, 1, 1), 1e-39))
    func = g.finish(g.op(mblt.DivOp, g.op(mblt.MulOp, g.input(IMAGE), g.constant(np.full((1, 1, 1, 1), 1e-38))), tiny))
    assert check_pass(g, func, "mblt-fold-constants", tolerance=1e-4) == ["mul", "div"]


def test_normalization_folds_into_first_layer() -> None:
    g = MbltGraph()
    x = g.op(mblt.DivOp, g.op(mblt.SubOp, g.input(IMAGE), _vector(g)), _vector(g, low=2.0))
    func = g.finish(_conv(g, x, bias=g.weight(4)))
    assert check_pass(g, func, "mblt-fold-constants") == ["conv2d"]


@pytest.mark.parametrize("layer", ["grouped conv2d", "transpose_conv2d", "linear", "padded conv2d"])
def test_factor_folds_into_layer(layer: str) -> None:
    g = MbltGraph()
    channels = 6
    x = g.input((2, 5, 5, channels))
    x = g.op(mblt.MulOp, x, _vector(g, channels))
    builds = {
        "grouped conv2d": lambda: g.op(
            mblt.Conv2dOp, x, kernel=[2, 2], weight=g.weight(9, 2, 2, 2), groups=3, padding=[1, 0, 1, 0]
        ),
        "transpose_conv2d": lambda: g.op(
            mblt.TransposeConv2dOp, x, kernel=[2, 2], strides=[2, 2], weight=g.weight(4, 2, 2, 3), groups=2
        ),
        "linear": lambda: g.op(mblt.LinearOp, x, weight=g.weight(4, 6)),
        "padded conv2d": lambda: g.op(mblt.Conv2dOp, x, kernel=[3, 3], weight=g.weight(4, 3, 3, 6), padding=[1] * 4),
    }
    func = g.finish(builds[layer]())
    assert check_pass(g, func, "mblt-fold-constants") == [layer.split()[-1]]


def test_what_does_not_fold_into_a_layer() -> None:
    g = MbltGraph()
    shifted = g.op(mblt.AddOp, g.input(IMAGE), _vector(g))
    func = g.finish(_conv(g, shifted, padding=[1, 1, 1, 1]))
    assert check_pass(g, func, "mblt-fold-constants") == ["add", "conv2d"]
    g = MbltGraph()
    shared = g.op(mblt.MulOp, g.input(IMAGE), _vector(g))
    assert check_pass(g, g.finish(_conv(g, shared), shared), "mblt-fold-constants") == ["mul", "conv2d"]
    g = MbltGraph()
    expanding = g.op(mblt.MulOp, g.input((2, 6, 5, 1)), _vector(g))
    assert check_pass(g, g.finish(_conv(g, expanding)), "mblt-fold-constants") == ["mul", "conv2d"]


def test_factor_between_two_layers_is_left_to_the_first() -> None:
    g = MbltGraph()
    middle = g.op(mblt.MulOp, _conv(g, g.input(IMAGE)), _vector(g, 4))
    func = g.finish(_conv(g, middle))
    assert check_pass(g, func, "mblt-fold-constants") == ["conv2d", "mul", "conv2d"]
    assert check_pass(g, func, "mblt-fuse-bias") == ["conv2d", "conv2d"]


def test_bounds_become_clips() -> None:
    g = MbltGraph()
    x = g.op(mblt.MaximumOp, g.constant(np.full((1, 1, 1, 1), -0.5)), g.input(IMAGE))
    x = g.op(mblt.MinimumOp, x, g.constant(np.full((1, 1, 1, 1), 0.5)))
    func = g.finish(g.op(mblt.MaximumOp, x, _vector(g)))
    assert check_pass(g, func, "mblt-fold-constants") == ["clip", "clip", "maximum"]


# --- mblt-fuse-pad ---------------------------------------------------------------------------------------------


def _pad(g: MbltGraph, x, before=(0, 1, 2, 0), after=(0, 0, 1, 0), mode="constant", value=0.0):
    return g.op(mblt.PadOp, x, before=list(before), after=list(after), mode=mode, value=value)


PADDED = {
    "conv2d": lambda g, x: _conv(g, x, padding=[1, 0, 1, 0]),
    "avg_pool2d": lambda g, x: g.op(mblt.AvgPool2dOp, x, kernel=[3, 2]),
    "avg_pool2d counting": lambda g, x: g.op(
        mblt.AvgPool2dOp, x, kernel=[3, 2], padding=[1, 0, 1, 0], count_include_pad=True
    ),
}


@pytest.mark.parametrize("case", PADDED)
def test_pad_fuses(case: str) -> None:
    g = MbltGraph()
    func = g.finish(PADDED[case](g, _pad(g, g.input(IMAGE))))
    assert check_pass(g, func, "mblt-fuse-pad") == [case.split()[0]]


def test_pad_fuses_into_max_pool_of_relu() -> None:
    g = MbltGraph()
    x = _conv(g, g.input(IMAGE), activation="relu")
    func = g.finish(g.op(mblt.MaxPool2dOp, _pad(g, x, (0, 1, 1, 0), (0, 1, 1, 0)), kernel=[3, 3], strides=[2, 2]))
    assert check_pass(g, func, "mblt-fuse-pad") == ["conv2d", "max_pool2d"]


NOT_PADDED = {
    "value": lambda g, x: _conv(g, _pad(g, x, value=1.0)),
    "mode": lambda g, x: _conv(g, _pad(g, x, mode="reflect")),
    "channels": lambda g, x: _conv(g, _pad(g, x, before=(0, 0, 0, 1))),
    "batch": lambda g, x: _conv(g, _pad(g, x, before=(1, 0, 0, 0))),
    "average with padding": lambda g, x: g.op(mblt.AvgPool2dOp, _pad(g, x), kernel=[3, 2], padding=[1, 0, 1, 0]),
    "average in ceil mode": lambda g, x: g.op(
        mblt.AvgPool2dOp, _pad(g, x), kernel=[3, 3], strides=[2, 2], ceil_mode=True
    ),
    "maximum of negatives": lambda g, x: g.op(mblt.MaxPool2dOp, _pad(g, x), kernel=[3, 3]),
    "maximum beyond window": lambda g, x: g.op(
        mblt.MaxPool2dOp, _pad(g, g.op(mblt.ReluOp, x), before=(0, 3, 1, 0)), kernel=[3, 3]
    ),
}


@pytest.mark.parametrize("case", NOT_PADDED)
def test_pad_stays(case: str) -> None:
    g = MbltGraph()
    func = g.finish(NOT_PADDED[case](g, g.input(IMAGE)))
    assert "pad" in check_pass(g, func, "mblt-fuse-pad")


def test_shared_pad_stays() -> None:
    g = MbltGraph()
    padded = _pad(g, g.input(IMAGE))
    assert check_pass(g, g.finish(_conv(g, padded), padded), "mblt-fuse-pad") == ["pad", "conv2d"]


# --- mblt-fold-one-hot -----------------------------------------------------------------------------------------


def _one_hot(g: MbltGraph, x, values=None, expand=False):
    count = 5
    shape = [*mblt.shape_of(x), 1]
    index = g.op(mblt.ReshapeOp, x, result_type=TensorType(i32, shape))
    if expand:
        index = g.op(mblt.ExpandOp, index, result_type=TensorType(i32, [*shape[:-1], count]))
    wanted = np.arange(count) if values is None else np.array(values)
    constant = g.constant(wanted.reshape(*[1] * (len(shape) - 1), -1), "int32")
    equal = g.op(mblt.EqualOp, constant, index)
    return g.op(mblt.CastOp, equal, result_type=TensorType(f32, [*shape[:-1], count]))


def _select(g: MbltGraph, hot, **options):
    return g.op(mblt.LinearOp, hot, **{"weight": g.weight(4, 5), "bias": g.weight(4), **options})


@pytest.mark.parametrize("activation", [None, "relu"])
def test_one_hot_product_becomes_gather(activation: str | None) -> None:
    g = MbltGraph()
    func = g.finish(_select(g, _one_hot(g, g.input((2, 6), "int32")), activation=activation))
    assert check_pass(g, func, "mblt-fold-one-hot") == ["gather"]
    assert g.context.notices == ["values of input 'x0' are taken to lie in 0..4"]


def test_functions_of_selected_rows_are_applied_to_the_rows() -> None:
    g = MbltGraph()
    x = g.op(mblt.GeluOp, _select(g, _one_hot(g, g.input((2, 6), "int32")), bias=None))
    func = g.finish(g.op(mblt.LayerNormOp, g.op(mblt.ClipOp, x, min=0.0, max=0.5), normalized_rank=1))
    assert check_pass(g, func, "mblt-fold-one-hot") == ["gather", "layer_norm"]


def test_selections_that_stay() -> None:
    g = MbltGraph()
    func = g.finish(_select(g, _one_hot(g, g.input((2, 6), "int32"), values=[0, 1, 2, 4, 3])))
    assert "gather" not in check_pass(g, func, "mblt-fold-one-hot")
    g = MbltGraph()
    hot = _one_hot(g, g.input((2, 6), "int32"))
    assert "gather" not in check_pass(g, g.finish(_select(g, hot), hot), "mblt-fold-one-hot")
    g = MbltGraph()
    less = g.op(mblt.LessOp, g.input((2, 6, 1), "int32"), g.constant(np.arange(5).reshape(1, 1, 5), "int32"))
    hot = g.op(mblt.CastOp, less, result_type=TensorType(f32, [2, 6, 5]))
    assert "gather" not in check_pass(g, g.finish(_select(g, hot)), "mblt-fold-one-hot")
    assert less.type == TensorType(i1, [2, 6, 5])


# --- mblt-simplify-reshape -------------------------------------------------------------------------------------


def _reshape(g: MbltGraph, x, *shape: int):
    return g.op(mblt.ReshapeOp, x, result_type=TensorType(f32, list(shape)))


def test_squeezes_meet_their_inverse() -> None:
    g = MbltGraph()
    x = g.input((2, 5, 4))
    mean = g.op(mblt.ReduceMeanOp, x, axes=[1])
    squares = g.op(mblt.ReduceMeanOp, g.op(mblt.SquareOp, x), axes=[1])
    variance = g.op(mblt.SubOp, squares, g.op(mblt.SquareOp, mean))
    variance = g.op(mblt.AddOp, g.constant(np.full((1, 4), 0.1)), variance)
    variance, mean = (_reshape(g, value, 2, 1, 4) for value in (variance, mean))
    func = g.finish(g.op(mblt.DivOp, g.op(mblt.SubOp, x, mean), g.op(mblt.SqrtOp, variance)))
    assert "reshape" not in check_pass(g, func, "mblt-simplify-reshape")


def test_squeezes_sink_below_reductions() -> None:
    g = MbltGraph()
    x = _reshape(g, g.input((2, 1, 4)), 2, 4)
    mean = g.op(mblt.ReduceMeanOp, x, axes=[1])
    centered = g.op(mblt.SubOp, x, _reshape(g, mean, 2, 1))
    assert check_pass(g, g.finish(g.op(mblt.SquareOp, centered)), "mblt-simplify-reshape") == [
        "reduce_mean",
        "sub",
        "square",
        "reshape",
    ]


def test_bias_after_a_squeezed_convolution() -> None:
    g = MbltGraph()
    x = g.op(mblt.Conv2dOp, _reshape(g, g.input((2, 9, 3)), 2, 9, 1, 3), kernel=[3, 1], weight=g.weight(4, 3, 1, 3))
    func = g.finish(g.op(mblt.AddOp, _reshape(g, x, 2, 7, 4), _vector(g, 4, 3)))
    assert check_pass(g, func, "mblt-simplify-reshape", "mblt-fuse-bias") == ["reshape", "conv2d", "reshape"]


def test_pooled_classifier_head_is_left_as_it_was() -> None:
    g = MbltGraph()
    mean = g.op(mblt.ReduceMeanOp, g.input(IMAGE), axes=[1, 2])
    func = g.finish(g.op(mblt.LinearOp, mean, weight=g.weight(4, 3)))
    assert check_pass(g, func, "mblt-simplify-reshape") == ["reduce_mean", "linear"]
    g = MbltGraph()
    mean = g.op(mblt.ReduceMeanOp, g.input(IMAGE), axes=[1, 2], keep_dims=True)
    func = g.finish(g.op(mblt.LinearOp, _reshape(g, mean, 2, 3), weight=g.weight(4, 3)))
    assert check_pass(g, func, "mblt-simplify-reshape") == ["reduce_mean", "linear"]


def test_reshapes_that_stay() -> None:
    g = MbltGraph()
    func = g.finish(g.op(mblt.ReluOp, _reshape(g, g.input((2, 5, 4)), 10, 4)))
    assert check_pass(g, func, "mblt-simplify-reshape") == ["reshape", "relu"]
    g = MbltGraph()
    squeezed = _reshape(g, g.input((2, 1, 4)), 2, 4)
    func = g.finish(g.op(mblt.AddOp, squeezed, g.input((2, 4))))
    assert check_pass(g, func, "mblt-simplify-reshape") == ["reshape", "add"]


def test_reductions_of_dynamic_maps_stay() -> None:
    g = MbltGraph()
    mean = g.op(mblt.ReduceMeanOp, g.input((-1, -1, 4, 3)), axes=[2])
    assert check_pass(g, g.finish(g.op(mblt.ReluOp, mean)), "mblt-simplify-reshape") == ["reduce_mean", "relu"]


def test_transpose_of_units_is_a_reshape() -> None:
    g = MbltGraph()
    x = g.op(mblt.TransposeOp, g.input((2, 1, 5, 4)), permutation=[1, 0, 2, 3])
    func = g.finish(g.op(mblt.TransposeOp, x, permutation=[0, 1, 3, 2]))
    assert check_pass(g, func, "mblt-simplify-reshape") == ["reshape", "transpose"]
    assert math.prod(mblt.shape_of(func.body.block.last_op.operands[0])) == 40


@pytest.mark.parametrize(
    ("before", "after", "axes"),
    [
        ((1, 1, 1, 512), (1, 512), (1, 2)),
        ((1, 1, 1, 1), (1, 1), (1, 2)),
        ((2, 1, 5), (2, 5), (1,)),
        ((2, 5, 1), (2, 5), (2,)),
        ((1, 4, 1), (4, 1), (0,)),
        ((2, 5), (2, 5), None),
        ((2, 5), (5, 2), None),
        ((2, 5), (10,), None),
        ((-1, 1, 5), (-1, 5), None),
    ],
)
def test_dropped_axes(before: tuple, after: tuple, axes: tuple | None) -> None:
    assert dropped_axes(before, after) == axes
