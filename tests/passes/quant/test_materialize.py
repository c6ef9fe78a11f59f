"""Every operation family: dequantized integer results are within half a step (and a stated bound) of float64."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from xdsl.dialects.builtin import TensorType, f32
from xdsl.ir import SSAValue

from qbc.dialects import mblt
from tests.support.quant_single_op import Array, Graph, grid_weights, run_both

HALF = 0.5005
RNG = np.random.default_rng(7)


def normal(*shape: int, scale: float = 2.0, shift: float = 0.3) -> Array:
    """Return seeded normal data."""
    return RNG.standard_normal(shape) * scale + shift


def conv(groups: int = 1, with_bias: bool = True, **properties: object) -> Callable[[Graph], SSAValue]:
    """Return a builder of a 3x3 convolution on 8 channels."""

    def build(g: Graph) -> SSAValue:
        weight = g.blob(grid_weights(RNG, 8, 3, 3, 8 // groups))
        bias = g.blob(RNG.standard_normal(8)) if with_bias else None
        op = mblt.Conv2dOp.of(g.args[0], weight=weight, bias=bias, kernel=[3, 3], groups=groups, **properties)
        return g.add(op, "conv")

    return build


SAME = {"padding": [1, 1, 1, 1]}
CONVOLUTIONS: dict[str, dict[str, object]] = {
    "plain": SAME,
    "relu": {**SAME, "activation": "relu"},
    "relu6": {"activation": "relu6"},
    "clip": {"activation": "clip", "activation_min": -1.25, "activation_max": 3.5},
    "strided": {"padding": [0, 1, 2, 1], "strides": [2, 1]},
    "dilated": {"padding": [2, 2, 2, 2], "dilations": [2, 2]},
    "grouped": {**SAME, "groups": 2},
    "depthwise": {**SAME, "groups": 8},
}


@pytest.mark.parametrize("name", CONVOLUTIONS)
@pytest.mark.parametrize(("storage", "out"), [("i8", "i8"), ("i16", "i8"), ("i8", "i16"), ("i16", "i16")])
def test_conv2d(name: str, storage: str, out: str) -> None:
    # From 8-bit inputs the grid of the bias is coarser than a 16-bit output step: there without bias.
    build = conv(with_bias=(storage, out) != ("i8", "i16"), **CONVOLUTIONS[name])
    bound = HALF if out == "i8" else 0.55
    assert run_both(build, [normal(1, 7, 6, 8)], storage=storage, out_storage=out).worst() < bound


def test_symmetric_method() -> None:
    assert run_both(conv(**CONVOLUTIONS["relu"]), [normal(1, 5, 5, 8)], method=1, symmetric=True).worst() < HALF


@pytest.mark.parametrize("groups", [1, 2])
def test_transpose_conv2d(groups: int) -> None:
    def build(g: Graph) -> SSAValue:
        weight, bias = g.blob(grid_weights(RNG, 6, 3, 2, 4 // groups)), g.blob(RNG.standard_normal(6))
        window = {"kernel": [3, 2], "strides": [2, 2], "padding": [1, 0, 1, 0], "output_padding": [1, 0]}
        op = mblt.TransposeConv2dOp.of(g.args[0], weight=weight, bias=bias, groups=groups, **window)
        return g.add(op, "deconv")

    assert run_both(build, [normal(1, 4, 5, 4)]).worst() < 0.51  # half a step of the bias grid


@pytest.mark.parametrize("storage", ["i8", "i16"])
@pytest.mark.parametrize("shape", [(2, 16), (1, 3, 16)])
def test_linear(shape: tuple[int, ...], storage: str) -> None:
    def build(g: Graph) -> SSAValue:
        weight, bias = g.blob(grid_weights(RNG, 10, 16)), g.blob(RNG.standard_normal(10))
        return g.add(mblt.LinearOp.of(g.args[0], weight=weight, bias=bias), "fc")

    assert run_both(build, [normal(*shape)], storage=storage, out_storage="i8").worst() < HALF


@pytest.mark.parametrize("transpose_b", [False, True])
@pytest.mark.parametrize("storage", ["i8", "i16"])
def test_matmul(transpose_b: bool, storage: str) -> None:
    def build(g: Graph) -> SSAValue:
        return g.add(mblt.MatmulOp.of(*g.args, transpose_b=transpose_b), "mm")

    b_shape = (2, 4, 6) if transpose_b else (2, 6, 4)
    assert run_both(build, [normal(2, 5, 6), normal(*b_shape)], storage=storage, out_storage="i8").worst() < HALF


BINARY = {"add": mblt.AddOp, "sub": mblt.SubOp, "mul": mblt.MulOp, "maximum": mblt.MaximumOp, "minimum": mblt.MinimumOp}


@pytest.mark.parametrize("name", BINARY)
@pytest.mark.parametrize(("storage", "out"), [("i8", "i8"), ("i16", "i16")])
def test_binary_with_broadcasting(name: str, storage: str, out: str) -> None:
    def build(g: Graph) -> SSAValue:
        return g.add(BINARY[name].of(*g.args), name)

    # Rows of maximum and minimum hold both operands, so rounding the narrow one to the common grid adds half a step.
    bound = 1.01 if name in ("maximum", "minimum") else HALF
    outcome = run_both(build, [normal(2, 3, 4), normal(1, 3, 1, scale=5.0)], storage=storage, out_storage=out)
    assert outcome.worst() < bound


@pytest.mark.parametrize("method", [0, 1, 2, 3])
@pytest.mark.parametrize("name", ["concat", "maximum"])
def test_union_operations_under_every_method(name: str, method: int) -> None:
    def build(g: Graph) -> SSAValue:
        left = g.add(mblt.SigmoidOp.of(g.args[0]), "left")
        right = g.add(mblt.TanhOp.of(g.args[1]), "right")
        joined = mblt.ConcatOp.of(left, right, axis=1) if name == "concat" else mblt.MaximumOp.of(left, right)
        return g.add(mblt.ReshapeOp.of(g.add(joined, name), result_type=joined.results[0].type), "end")

    outcome = run_both(build, [normal(2, 3), normal(2, 3)], method=method, symmetric=method < 2)
    assert outcome.worst() < 1.01


def test_div_by_activation_and_by_constant() -> None:
    def by_value(g: Graph) -> SSAValue:
        return g.add(mblt.DivOp.of(*g.args), "div")

    def by_constant(g: Graph) -> SSAValue:
        divisor = g.add(mblt.ConstantOp.of_value(g.blob(np.full((1, 4), 8.0))), "c")
        return g.add(mblt.DivOp.of(g.args[0], divisor), "div")

    assert run_both(by_value, [normal(3, 4), np.abs(normal(3, 4)) + 1.0]).worst() < HALF
    assert run_both(by_constant, [normal(3, 4)]).worst() < HALF


UNARY: dict[str, dict[str, object]] = {
    "leaky_relu": {"alpha": 0.1}, "sigmoid": {}, "hard_sigmoid": {"alpha": 0.2, "beta": 0.5}, "hard_swish": {},
    "silu": {}, "gelu": {"approximate": "none"}, "tanh": {}, "exp": {}, "abs": {}, "neg": {}, "erf": {}, "softplus": {},
    "elu": {"alpha": 1.0}, "mish": {}, "sin": {}, "cos": {}, "floor": {}, "ceil": {}, "square": {},
}  # fmt: skip
POSITIVE = ("log", "sqrt", "rsqrt", "reciprocal")


def op_class(name: str) -> type[mblt.UnaryOp]:
    """Return the mblt class of a mnemonic."""
    found: type[mblt.UnaryOp] = next(op for op in mblt.Mblt.operations if op.name == f"mblt.{name}")
    return found


@pytest.mark.parametrize("name", [*UNARY, *POSITIVE])
@pytest.mark.parametrize("out", ["i8", "i16"])
def test_function_of_8_bit_codes(name: str, out: str) -> None:
    x = np.abs(normal(500)) + 0.2 if name in POSITIVE else normal(500)

    def build(g: Graph) -> SSAValue:
        return g.add(op_class(name).of(g.args[0], **UNARY.get(name, {})), name)

    assert run_both(build, [x], out_storage=out).worst() < HALF


@pytest.mark.parametrize("name", [name for name in UNARY if name not in ("floor", "ceil")])
def test_function_of_16_bit_codes_interpolates(name: str) -> None:
    def build(g: Graph) -> SSAValue:
        return g.add(op_class(name).of(g.args[0], **UNARY[name]), name)

    outcome = run_both(build, [normal(2000)], storage="i16")
    # Between nodes a kink is cut off; nodes and interpolation each round once.
    assert outcome.worst() < (64.0 if name in ("leaky_relu", "hard_sigmoid", "hard_swish", "abs") else 8.0)
    assert run_both(build, [normal(2000)], storage="i16", out_storage="i8").worst() < 1.1


@pytest.mark.parametrize("name", POSITIVE)
def test_mantissa_functions_of_16_bit_codes(name: str) -> None:
    x = np.abs(RNG.standard_normal(3000)) * 3.0 + 0.01

    def build(g: Graph) -> SSAValue:
        return g.add(op_class(name).of(g.args[0]), name)

    assert run_both(build, [x], storage="i16").worst() < 0.6


def test_softmax_over_any_axis() -> None:
    for axis in (-1, 1):

        def build(g: Graph, axis: int = axis) -> SSAValue:
            soft = g.add(mblt.SoftmaxOp.of(g.args[0], axis=axis), "softmax")
            return g.add(mblt.MulOp.of(soft, soft), "end")

        assert run_both(build, [normal(2, 5, 7)], storage="i16", out_storage="i8").worst() < 0.6
        head = run_both(lambda g, a=axis: g.add(mblt.SoftmaxOp.of(g.args[0], axis=a), "head"), [normal(2, 5, 7)])
        assert head.worst() < 0.51
        assert head.step["y0"] == pytest.approx(1 / 255)


@pytest.mark.parametrize("storage", ["i8", "i16"])
def test_log_softmax_and_arg_max(storage: str) -> None:
    def build(g: Graph) -> SSAValue:
        return g.add(mblt.LogSoftmaxOp.of(g.args[0], axis=1), "log_softmax")

    assert run_both(build, [normal(2, 5, 7)], storage=storage, out_storage="i8").worst() < 0.56
    x = np.array([[0.5, 2.0, 2.0, -1.0], [-3.0, -4.0, -3.5, -9.0]])
    outcome = run_both(lambda g: g.add(mblt.ArgMaxOp.of(g.args[0], axis=1)), [x], storage=storage)
    assert outcome.got["y0"].tolist() == [1, 0]


@pytest.mark.parametrize("rank", [1, 2])
@pytest.mark.parametrize("storage", ["i8", "i16"])
def test_layer_norm(rank: int, storage: str) -> None:
    def build(g: Graph) -> SSAValue:
        size = (6,) if rank == 1 else (4, 6)
        scale, bias = g.blob(RNG.standard_normal(size)), g.blob(RNG.standard_normal(size))
        return g.add(mblt.LayerNormOp.of(g.args[0], scale=scale, bias=bias, normalized_rank=rank), "ln")

    assert run_both(build, [normal(3, 4, 6)], storage=storage).worst() < 0.58


def test_instance_norm_and_batch_norm_and_prelu() -> None:
    def instance(g: Graph) -> SSAValue:
        return g.add(mblt.InstanceNormOp.of(g.args[0], scale=g.blob(np.ones(4)), bias=g.blob(np.zeros(4))), "in")

    def batch(g: Graph) -> SSAValue:
        names = ("scale", "bias", "mean")
        blobs = {name: g.blob(RNG.standard_normal(4)) for name in names}
        return g.add(mblt.BatchNormOp.of(g.args[0], variance=g.blob(np.ones(4)), **blobs), "bn")

    def prelu(g: Graph) -> SSAValue:
        return g.add(mblt.PreluOp.of(g.args[0], slope=g.blob(np.array([0.1, 0.2, 0.3, 0.4]))), "prelu")

    assert run_both(instance, [normal(2, 5, 5, 4)], storage="i16", out_storage="i8").worst() < 0.6
    assert run_both(batch, [normal(2, 5, 4)], out_storage="i8").worst() < 1.6  # weights round to 8 bits
    assert run_both(prelu, [normal(2, 5, 5, 4)], storage="i16", out_storage="i8").worst() < 0.6


@pytest.mark.parametrize("include_pad", [False, True])
@pytest.mark.parametrize("ceil_mode", [False, True])
@pytest.mark.parametrize("storage", ["i8", "i16"])
def test_avg_pool2d(include_pad: bool, ceil_mode: bool, storage: str) -> None:
    def build(g: Graph) -> SSAValue:
        window = {"kernel": [3, 3], "strides": [2, 2], "padding": [1, 1, 1, 1]}
        op = mblt.AvgPool2dOp.of(g.args[0], **window, count_include_pad=include_pad, ceil_mode=ceil_mode)
        return g.add(op, "pool")

    assert run_both(build, [normal(1, 8, 7, 3)], storage=storage).worst() < 0.51


@pytest.mark.parametrize("name", ["reduce_mean", "reduce_sum", "reduce_max", "reduce_min", "reduce_l2"])
@pytest.mark.parametrize("keep", [False, True])
@pytest.mark.parametrize("storage", ["i8", "i16"])
def test_reductions(name: str, keep: bool, storage: str) -> None:
    def build(g: Graph) -> SSAValue:
        return g.add(op_class(name).of(g.args[0], axes=[1, 2], keep_dims=keep), name)

    assert run_both(build, [normal(2, 5, 6, 4)], storage=storage).worst() < 0.51


@pytest.mark.parametrize("mode", ["half_pixel", "pytorch_half_pixel", "asymmetric", "align_corners"])
@pytest.mark.parametrize("scales", [(2.0, 2.0), (1.5, 0.5), (4 / 3, 2.25)])
def test_linear_resize(mode: str, scales: tuple[float, float]) -> None:
    def build(g: Graph) -> SSAValue:
        return g.add(mblt.ResizeOp.of(g.args[0], mode="linear", coordinate_mode=mode, scales=list(scales)), "resize")

    assert run_both(build, [normal(1, 6, 8, 3)]).worst() < 0.65
    assert run_both(build, [normal(1, 6, 8, 3)], storage="i16", out_storage="i8").worst() < 0.65


@pytest.mark.parametrize("mode", ["half_pixel", "pytorch_half_pixel", "asymmetric", "align_corners"])
@pytest.mark.parametrize("rounding", ["round_prefer_floor", "round_prefer_ceil", "floor", "ceil"])
def test_nearest_resize_moves_codes(mode: str, rounding: str) -> None:
    def build(g: Graph) -> SSAValue:
        properties = {"mode": "nearest", "coordinate_mode": mode, "nearest_mode": rounding, "scales": [2.0, 1.5]}
        return g.add(mblt.ResizeOp.of(g.args[0], **properties), "resize")

    assert run_both(build, [normal(1, 6, 8, 3)]).worst() < 1e-4
    assert run_both(build, [normal(1, 6, 8, 3)], storage="i16").worst() < 5e-3


MOVEMENT: dict[str, Callable[[Graph, SSAValue], SSAValue]] = {
    "reshape": lambda g, x: g.add(mblt.ReshapeOp.of(x, result_type=TensorType(f32, [6, 4]))),
    "transpose": lambda g, x: g.add(mblt.TransposeOp.of(x, permutation=[2, 0, 1])),
    "slice": lambda g, x: g.add(mblt.SliceOp.of(x, starts=[0, 1, 0], ends=[2, 3, 4], steps=[1, 1, 2])),
    "expand": lambda g, x: g.add(
        mblt.ExpandOp.of(
            g.add(mblt.SliceOp.of(x, starts=[0, 0, 0], ends=[2, 1, 4], steps=[1, 1, 1])),
            result_type=TensorType(f32, [2, 5, 4]),
        )
    ),
    "pad": lambda g, x: g.add(mblt.PadOp.of(x, before=[0, 1, 0], after=[0, 2, 1], mode="constant", value=0.0)),
    "edge": lambda g, x: g.add(mblt.PadOp.of(x, before=[0, 1, 2], after=[0, 2, 1], mode="edge", value=0.0)),
    "reflect": lambda g, x: g.add(mblt.PadOp.of(x, before=[0, 1, 2], after=[0, 2, 1], mode="reflect", value=0.0)),
    "concat": lambda g, x: g.add(mblt.ConcatOp.of(x, x, axis=2)),
    "tile": lambda g, x: g.add(mblt.TileOp.of(x, repeats=[2, 1, 3])),
}


@pytest.mark.parametrize("name", MOVEMENT)
@pytest.mark.parametrize("storage", ["i8", "i16"])
def test_movement_is_exact(name: str, storage: str) -> None:
    exact = 1e-4 if storage == "i8" else 5e-3  # float32 results of 16-bit codes
    assert run_both(lambda g: MOVEMENT[name](g, g.args[0]), [normal(2, 3, 4)], storage=storage).worst() < exact


@pytest.mark.parametrize("storage", ["i8", "i16"])
def test_max_pool2d_is_exact(storage: str) -> None:
    def build(g: Graph) -> SSAValue:
        window = {"kernel": [3, 3], "strides": [2, 2], "padding": [1, 1, 1, 1], "ceil_mode": True}
        return g.add(mblt.MaxPool2dOp.of(g.args[0], **window), "pool")

    assert run_both(build, [normal(1, 8, 7, 3)], storage=storage).worst() < 5e-3


def test_gather_of_a_constant_table_by_graph_indices() -> None:
    def build(g: Graph) -> SSAValue:
        table = g.add(mblt.ConstantOp.of_value(g.blob(normal(7, 5))))
        return g.add(mblt.GatherOp.of(table, g.args[0], axis=0), "embedding")

    outcome = run_both(build, [np.array([[0, 6, -7], [3, -1, 2]], dtype=np.int32)])
    assert outcome.worst() < HALF


@pytest.mark.parametrize("name", ["equal", "greater", "less"])
@pytest.mark.parametrize("method", [0, 3])
def test_masks_select_exactly(name: str, method: int) -> None:
    compare = {"equal": mblt.EqualOp, "greater": mblt.GreaterOp, "less": mblt.LessOp}[name]

    def build(g: Graph) -> SSAValue:
        mask = g.add(compare.of(*g.args), name)
        fixed = g.add(mblt.ConstantOp.of_value(g.blob(np.array([[True, False, True, True]]))))
        both = g.add(mblt.LogicalOrOp.of(mask, g.add(mblt.LogicalNotOp.of(fixed))), "or")
        chosen = g.add(mblt.WhereOp.of(both, g.args[0], g.args[1]), "where")
        counted = g.add(mblt.CastOp.of(both, result_type=TensorType(f32, [3, 4])), "cast")
        return g.add(mblt.MulOp.of(chosen, counted), "end")

    left = normal(3, 4)
    right = np.where(RNG.random((3, 4)) < 0.5, left, normal(3, 4))
    right.flat[0], right.flat[1] = left.min(), left.max()
    outcome = run_both(build, [left, np.clip(right, left.min(), left.max())], method=method)
    assert outcome.worst() < 1.01
