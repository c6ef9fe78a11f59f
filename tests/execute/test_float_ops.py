"""Every mblt op: torch execution equals onnxruntime on the exported graph, in both graph layouts."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import onnx
import onnxruntime
import pytest
from xdsl.dialects.builtin import TensorType, f32, i32
from xdsl.ir import SSAValue

from qbc.dialects import mblt
from qbc.execute.float_ort import FloatSession
from qbc.execute.float_torch import KERNELS, FloatProgram, run
from qbc.export.onnx import mblt_to_onnx
from tests.support.mblt_graphs import MbltGraph

Build = Callable[[MbltGraph], SSAValue]


def _image(g: MbltGraph, channels: int = 6, size: tuple[int, int] = (9, 8)) -> SSAValue:
    return g.input((2, *size, channels), layout="nchw")


def _conv(**options: object) -> Build:
    def build(g: MbltGraph) -> SSAValue:
        groups, kernel = options.get("groups", 1), options.get("kernel", [3, 3])
        out, depth = (12, 6 // groups)
        bias = g.weight(out) if options.pop("with_bias", True) else None
        properties = {"kernel": kernel, "weight": g.weight(out, *kernel, depth, scale=0.3), "bias": bias, **options}
        return g.op(mblt.Conv2dOp, _image(g), **properties)

    return build


def _transpose_conv(**options: object) -> Build:
    def build(g: MbltGraph) -> SSAValue:
        groups, kernel = options.get("groups", 1), options.get("kernel", [3, 2])
        properties = {"kernel": kernel, "weight": g.weight(4, *kernel, 6 // groups), "bias": g.weight(4), **options}
        return g.op(mblt.TransposeConv2dOp, _image(g), **properties)

    return build


def _pool(cls: type[mblt.MbltOp], **options: object) -> Build:
    return lambda g: g.op(cls, _image(g), **{"kernel": [3, 2], **options})


def _unary(cls: type[mblt.MbltOp], positive: bool = False, **options: object) -> Build:
    def build(g: MbltGraph) -> SSAValue:
        x = _image(g)
        if positive:
            x = g.op(mblt.AddOp, g.op(mblt.AbsOp, x), g.constant(np.full((1, 1, 1, 1), 0.1)))
        return g.op(cls, x, **options)

    return build


def _binary(cls: type[mblt.MbltOp], **options: object) -> Build:
    return lambda g: g.op(cls, _image(g), g.input((2, 1, 8, 6)), **options)


def _reduce(cls: type[mblt.MbltOp], axes: list[int], keep: bool, conv: bool = True) -> Build:
    def build(g: MbltGraph) -> SSAValue:
        x = _conv()(g) if conv else _image(g)
        return g.op(cls, x, axes=axes, keep_dims=keep)

    return build


def _after_conv(cls: type[mblt.MbltOp], **options: object) -> Build:
    return lambda g: g.op(cls, _conv()(g), **options)


def _batch_norm(g: MbltGraph) -> SSAValue:
    variance = g.blob(np.abs(g.random.standard_normal(6)).astype(np.float32) + 0.1)
    blobs = {"scale": g.weight(6), "bias": g.weight(6), "mean": g.weight(6), "variance": variance}
    return g.op(mblt.BatchNormOp, _image(g), epsilon=1e-3, **blobs)


def _resize(mode: str, coordinate: str, scales: list[float], nearest: str = "round_prefer_floor") -> Build:
    return lambda g: g.op(
        mblt.ResizeOp, _image(g), mode=mode, coordinate_mode=coordinate, nearest_mode=nearest, scales=scales
    )


def _attention(g: MbltGraph) -> SSAValue:
    x = g.op(mblt.ReshapeOp, _conv()(g), result_type=TensorType(f32, [2, 42, 12]))
    q, k = (g.op(mblt.LinearOp, x, weight=g.weight(8, 12), bias=g.weight(8)) for _ in range(2))
    scores = g.op(mblt.MatmulOp, q, k, transpose_b=True)
    return g.op(mblt.MatmulOp, g.op(mblt.SoftmaxOp, scores, axis=-1, beta=0.25), x)


CASES: dict[str, Build] = {
    "conv": _conv(),
    "conv strides": _conv(strides=[2, 3], padding=[1, 0, 2, 1], with_bias=False),
    "conv dilations": _conv(dilations=[2, 1], padding=[2, 1, 2, 1], activation="relu"),
    "conv groups": _conv(groups=3, activation="clip", activation_min=-0.5, activation_max=0.7),
    "conv depthwise": _conv(groups=6, kernel=[3, 3], padding=[1, 1, 1, 1], activation="relu6"),
    "conv 1x1": _conv(kernel=[1, 1]),
    "conv chain": lambda g: g.op(
        mblt.Conv2dOp, _conv(padding=[1, 1, 1, 1])(g), kernel=[1, 1], weight=g.weight(4, 1, 1, 12), activation="relu"
    ),
    "transpose conv": _transpose_conv(),
    "transpose conv strides": _transpose_conv(
        strides=[2, 3], padding=[1, 0, 0, 1], output_padding=[1, 2], activation="relu"
    ),
    "transpose conv groups": _transpose_conv(groups=2, dilations=[2, 1], strides=[2, 2], padding=[1, 1, 1, 1]),
    "max pool": _pool(mblt.MaxPool2dOp, strides=[2, 2], padding=[1, 0, 1, 1]),
    "max pool ceil": _pool(mblt.MaxPool2dOp, strides=[2, 3], ceil_mode=True),
    "max pool ceil pad": _pool(mblt.MaxPool2dOp, kernel=[3, 3], strides=[2, 2], padding=[1, 1, 0, 1], ceil_mode=True),
    "max pool dilations": _pool(mblt.MaxPool2dOp, dilations=[2, 3]),
    "avg pool": _pool(mblt.AvgPool2dOp, strides=[2, 2]),
    "avg pool pad": _pool(mblt.AvgPool2dOp, strides=[2, 1], padding=[1, 1, 2, 0]),
    "avg pool include": _pool(mblt.AvgPool2dOp, strides=[2, 1], padding=[1, 1, 2, 0], count_include_pad=True),
    "avg pool ceil": _pool(mblt.AvgPool2dOp, kernel=[3, 3], strides=[2, 2], padding=[1, 0, 0, 0], ceil_mode=True),
    "avg pool ceil include": _pool(
        mblt.AvgPool2dOp, kernel=[2, 3], strides=[2, 2], padding=[0, 1, 0, 1], ceil_mode=True, count_include_pad=True
    ),
    "max pool padding beyond the kernel": _pool(mblt.MaxPool2dOp, dilations=[3, 3], padding=[2, 2, 2, 2]),
    "avg pool padding beyond the kernel": _pool(mblt.AvgPool2dOp, dilations=[3, 3], padding=[2, 2, 2, 2]),
    "avg pool include padding beyond the kernel": _pool(
        mblt.AvgPool2dOp, strides=[2, 1], padding=[3, 0, 2, 4], count_include_pad=True
    ),
    "add": _binary(mblt.AddOp),
    "add relu": _binary(mblt.AddOp, activation="relu"),
    "sub": _binary(mblt.SubOp, activation="clip", activation_min=-1.0, activation_max=float("inf")),
    "mul": _binary(mblt.MulOp),
    "div": _binary(mblt.DivOp),
    "maximum": _binary(mblt.MaximumOp),
    "minimum": _binary(mblt.MinimumOp),
    "pow": lambda g: g.op(mblt.PowOp, _unary(mblt.AbsOp)(g), g.constant(np.full((1, 1, 1, 1), 1.5))),
    "where": lambda g: g.op(
        mblt.WhereOp, g.input((2, 1, 8, 6), "bool"), g.input((2, 9, 8, 6)), g.constant(np.zeros((1, 1, 1, 1)))
    ),
    "equal": lambda g: g.op(mblt.EqualOp, g.input((4, 5), "int32"), g.input((4, 5), "int32")),
    "greater": _binary(mblt.GreaterOp),
    "less": _binary(mblt.LessOp),
    "logical_and": lambda g: g.op(mblt.LogicalAndOp, g.input((4, 5), "bool"), g.input((4, 5), "bool")),
    "logical_or": lambda g: g.op(mblt.LogicalOrOp, g.input((4, 5), "bool"), g.input((4, 5), "bool")),
    "logical_not": lambda g: g.op(mblt.LogicalNotOp, g.input((4, 5), "bool")),
    "relu": _unary(mblt.ReluOp),
    "clip": _unary(mblt.ClipOp, min=-0.3, max=0.4),
    "clip open": _unary(mblt.ClipOp, min=-0.3, max=float("inf")),
    "leaky_relu": _unary(mblt.LeakyReluOp, alpha=0.2),
    "prelu": lambda g: g.op(mblt.PreluOp, _image(g), slope=g.weight(6)),
    "prelu conv": lambda g: g.op(mblt.PreluOp, _conv()(g), slope=g.weight(12)),
    "sigmoid": _unary(mblt.SigmoidOp),
    "hard_sigmoid": _unary(mblt.HardSigmoidOp, alpha=0.3, beta=0.4),
    "hard_swish": _unary(mblt.HardSwishOp),
    "silu": _unary(mblt.SiluOp),
    "gelu": _unary(mblt.GeluOp),
    "gelu tanh": _unary(mblt.GeluOp, approximate="tanh"),
    "tanh": _unary(mblt.TanhOp),
    "exp": _unary(mblt.ExpOp),
    "log": _unary(mblt.LogOp, positive=True),
    "sqrt": _unary(mblt.SqrtOp, positive=True),
    "rsqrt": _unary(mblt.RsqrtOp, positive=True),
    "reciprocal": _unary(mblt.ReciprocalOp, positive=True),
    "abs": _unary(mblt.AbsOp),
    "neg": _unary(mblt.NegOp),
    "erf": _unary(mblt.ErfOp),
    "softplus": _unary(mblt.SoftplusOp),
    "elu": _unary(mblt.EluOp, alpha=0.7),
    "mish": _unary(mblt.MishOp),
    "sin": _unary(mblt.SinOp),
    "cos": _unary(mblt.CosOp),
    "floor": _unary(mblt.FloorOp),
    "ceil": _unary(mblt.CeilOp),
    "square": _unary(mblt.SquareOp),
    "linear": lambda g: g.op(
        mblt.LinearOp, g.input((3, 6)), weight=g.weight(5, 6), bias=g.weight(5), activation="relu"
    ),
    "linear rank 3": lambda g: g.op(mblt.LinearOp, g.input((3, 4, 6)), weight=g.weight(5, 6), bias=g.weight(5)),
    "linear map": lambda g: g.op(mblt.LinearOp, _conv()(g), weight=g.weight(5, 12)),
    "attention": _attention,
    "batch_norm": _batch_norm,
    "instance_norm": lambda g: g.op(mblt.InstanceNormOp, _image(g), scale=g.weight(6), bias=g.weight(6)),
    "instance_norm of one position": lambda g: g.op(
        mblt.InstanceNormOp, g.input((2, 1, 1, 6)), scale=g.weight(6), bias=g.weight(6)
    ),
    "layer_norm": lambda g: g.op(mblt.LayerNormOp, _image(g), scale=g.weight(6), bias=g.weight(6), epsilon=1e-6),
    "layer_norm by moments": lambda g: g.op(
        mblt.LayerNormOp, _image(g), scale=g.weight(6), bias=g.weight(6), variance="moments"
    ),
    "layer_norm by moments rank 2": lambda g: g.op(mblt.LayerNormOp, _image(g), normalized_rank=2, variance="moments"),
    "layer_norm rank 2": lambda g: g.op(mblt.LayerNormOp, _image(g), normalized_rank=2),
    "softmax": _after_conv(mblt.SoftmaxOp, axis=3, beta=2.0),
    "softmax axis 1": _after_conv(mblt.SoftmaxOp, axis=1),
    "log_softmax": _after_conv(mblt.LogSoftmaxOp, axis=-1),
    "reduce_mean global": _reduce(mblt.ReduceMeanOp, [1, 2], True),
    "reduce_mean flat": _reduce(mblt.ReduceMeanOp, [1, 2], False),
    "reduce_mean last": _reduce(mblt.ReduceMeanOp, [3], False),
    "reduce_sum": _reduce(mblt.ReduceSumOp, [0], False),
    "reduce_max": _reduce(mblt.ReduceMaxOp, [2], False),
    "reduce_min": _reduce(mblt.ReduceMinOp, [1, 3], False),
    "reduce_l2": _reduce(mblt.ReduceL2Op, [3], True, conv=False),
    "arg_max": _after_conv(mblt.ArgMaxOp, axis=3, keep_dims=False),
    "arg_max keep": _after_conv(mblt.ArgMaxOp, axis=1, keep_dims=True),
    "reshape": _after_conv(mblt.ReshapeOp, result_type=TensorType(f32, [2, 504])),
    "transpose": _after_conv(mblt.TransposeOp, permutation=[0, 3, 1, 2]),
    "transpose back": lambda g: g.op(
        mblt.Conv2dOp,
        g.op(mblt.TransposeOp, g.input((2, 6, 9, 8)), permutation=[0, 2, 3, 1]),
        kernel=[1, 1],
        weight=g.weight(3, 1, 1, 6),
    ),
    "transpose other": _after_conv(mblt.TransposeOp, permutation=[2, 0, 3, 1]),
    "concat": lambda g: g.op(mblt.ConcatOp, _conv()(g), g.input((2, 7, 6, 3)), axis=3),
    "slice": _after_conv(mblt.SliceOp, starts=[0, 1, 0, 2], ends=[2, 7, 6, 11], steps=[1, 2, 1, 3]),
    "slice nothing": _after_conv(mblt.SliceOp, starts=[0] * 4, ends=[2, 7, 6, 12], steps=[1] * 4),
    "expand": lambda g: g.op(mblt.ExpandOp, g.input((2, 1, 1, 3)), result_type=TensorType(f32, [2, 4, 5, 3])),
    "pad": _after_conv(mblt.PadOp, before=[0, 1, 2, 0], after=[0, 0, 1, 3], mode="constant", value=0.5),
    "pad reflect": _after_conv(mblt.PadOp, before=[0, 1, 2, 0], after=[0, 0, 1, 0], mode="reflect"),
    "pad edge": _after_conv(mblt.PadOp, before=[0, 1, 2, 0], after=[0, 3, 1, 1], mode="edge"),
    "gather one of a vector": lambda g: g.op(mblt.GatherOp, g.input((6,)), g.input((), "int64"), axis=0),
    "gather": lambda g: g.op(mblt.GatherOp, _conv()(g), g.input((4, 2), "int32"), axis=1),
    "gather constant": lambda g: g.op(mblt.GatherOp, g.constant(np.eye(5)), g.input((4,), "int64"), axis=0),
    "tile": _after_conv(mblt.TileOp, repeats=[1, 2, 1, 3]),
    "cast": _after_conv(mblt.CastOp, result_type=TensorType(i32, [2, 7, 6, 12])),
    "resize nearest": _resize("nearest", "asymmetric", [2.0, 3.0], "floor"),
    "resize nearest half": _resize("nearest", "half_pixel", [1.5, 0.5]),
    "resize linear": _resize("linear", "half_pixel", [2.0, 2.0]),
    "resize linear corners": _resize("linear", "align_corners", [2.0, 1.5]),
    "resize linear pytorch": _resize("linear", "pytorch_half_pixel", [0.5, 2.5]),
    "constant": lambda g: g.op(mblt.AddOp, g.input((2, 3)), g.constant(np.arange(6).reshape(2, 3))),
}


def _compare(found: np.ndarray, expected: np.ndarray) -> None:
    assert found.shape == expected.shape
    assert found.dtype == expected.dtype
    scale = max(float(np.abs(expected).max(initial=0)), 1e-6)
    np.testing.assert_allclose(found / scale, expected / scale, atol=1e-5)


@pytest.mark.parametrize("case", CASES)
def test_torch_equals_onnxruntime(case: str) -> None:
    graph = MbltGraph()
    func = graph.finish(CASES[case](graph))
    feed = graph.samples()
    expected = FloatSession(func, graph.store).run_outputs(feed)
    found = run(func, graph.store, feed)
    assert list(found) == ["y0"]
    _compare(found["y0"], expected["y0"])


@pytest.mark.parametrize("case", CASES)
def test_model_is_valid_onnx_and_takes_source_layout(case: str) -> None:
    graph = MbltGraph()
    func = graph.finish(CASES[case](graph))
    feed = graph.samples()
    model = mblt_to_onnx(func, graph.store, source_layout=True)
    onnx.checker.check_model(model, full_check=True)
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    layouts = [entry.data.get("mblt.source_layout") for entry in func.arg_attrs.data]
    moved = {
        name: np.ascontiguousarray(np.moveaxis(data, -1, 1)) if layout is not None else data
        for (name, data), layout in zip(feed.items(), layouts, strict=True)
    }
    _compare(run(func, graph.store, feed)["y0"], session.run(None, moved)[0])


def test_every_mblt_op_is_covered() -> None:
    names = {op.name for op in mblt.Mblt.operations}
    assert set(KERNELS) == names
    used = set()
    for build in CASES.values():
        graph = MbltGraph()
        used |= {op.name for op in graph.finish(build(graph)).body.block.ops}
    assert names <= used


def test_observers_see_values_and_float64_refines() -> None:
    graph = MbltGraph()
    middle = _conv(activation="relu")(graph)
    func = graph.finish(graph.op(mblt.ReduceMeanOp, middle, axes=[1, 2]))
    feed, seen = graph.samples(), {}
    program = FloatProgram(func, graph.store)
    result = program.run(feed, {middle: lambda array: seen.update(middle=array)})["y0"]
    np.testing.assert_allclose(seen["middle"].mean((1, 2)), result, rtol=1e-5)
    precise = run(func, graph.store, feed, float_type="float64")["y0"]
    assert precise.dtype == np.float64
    np.testing.assert_allclose(precise, result, rtol=1e-5, atol=1e-6)
