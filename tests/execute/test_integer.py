"""Integer execution of materialized functions: a small network end to end, calls, observers, refusals."""

from __future__ import annotations

import numpy as np
import pytest
from xdsl.ir import SSAValue

from qbc.dialects import mblt, quant
from qbc.errors import QBCompilerError
from qbc.execute.integer import IntegerProgram, check_operation, kernel_call, run
from qbc.kernels.storage import load_codes, store_codes
from tests.support.quant_single_op import Graph, function_of, grid_weights, run_both

RNG = np.random.default_rng(3)


def small_network(g: Graph) -> SSAValue:
    """Convolution, depthwise with residual and hard swish, pool, concat, mean, linear."""
    weights = [g.blob(grid_weights(RNG, *shape)) for shape in ((8, 3, 3, 3), (8, 3, 3, 1), (10, 16))]
    same = {"kernel": [3, 3], "padding": [1, 1, 1, 1]}
    x = g.add(mblt.Conv2dOp.of(g.args[0], weight=weights[0], **same, activation="relu"), "stem")
    y = g.add(mblt.Conv2dOp.of(x, weight=weights[1], groups=8, **same), "depthwise")
    y = g.add(mblt.AddOp.of(x, g.add(mblt.HardSwishOp.of(y), "act")), "residual")
    y = g.add(mblt.MaxPool2dOp.of(y, kernel=[2, 2], strides=[2, 2]), "pool")
    y = g.add(mblt.ConcatOp.of(y, y, axis=3), "concat")
    y = g.add(mblt.ReduceMeanOp.of(y, axes=[1, 2], keep_dims=False), "mean")
    return g.add(mblt.LinearOp.of(y, weight=weights[2], bias=g.blob(RNG.standard_normal(10))), "head")


def signal_to_noise(wanted: np.ndarray, got: np.ndarray) -> float:
    """Return the ratio of power to error power in dB."""
    return float(10 * np.log10((wanted**2).mean() / ((wanted - got) ** 2).mean()))


@pytest.mark.parametrize(("storage", "decibel"), [("i8", 25.0), ("i16", 60.0)])
def test_network_end_to_end(storage: str, decibel: float) -> None:
    outcome = run_both(small_network, [RNG.standard_normal((1, 8, 8, 3))], storage=storage)
    assert signal_to_noise(outcome.wanted["y0"], outcome.got["y0"]) > decibel


def test_operations_take_the_names_of_the_machine() -> None:
    outcome = run_both(small_network, [RNG.standard_normal((1, 8, 8, 3))])
    names = [op.name for op in function_of(outcome.module).body.block.ops]
    assert names.count("quant.reduce_sum") == 1  # the mean
    assert "quant.reduce_mean" not in names


def _materialized() -> tuple[object, Graph]:
    graphs: list[Graph] = []

    def build(g: Graph) -> SSAValue:
        graphs.append(g)
        weight = g.blob(grid_weights(RNG, 2, 4))
        return g.add(mblt.LinearOp.of(g.args[0], weight=weight, bias=g.blob(np.ones(2)), activation="relu"), "fc")

    outcome = run_both(build, [RNG.standard_normal((3, 4))])
    return function_of(outcome.module), graphs[0]


def test_kernel_call_and_observers_see_codes() -> None:
    function, graph = _materialized()
    linear = next(op for op in function.body.block.ops if isinstance(op, quant.LinearOp))  # type: ignore[attr-defined]
    call = kernel_call(linear, graph.store)
    assert call.kind == "linear"
    assert set(call.attributes) == {"zx", "z", "lo", "hi", "plane"}
    assert {name: data.dtype.name for name, data in call.constants.items()} == {
        "weight": "int8",
        "bias": "int64",
        "multiplier": "int64",
        "shift": "int64",
    }
    assert (call.inputs[0].shape, call.inputs[0].dtype, call.output.dtype) == ((3, 4), "i8", "i8")
    seen: list[np.ndarray] = []
    x = RNG.standard_normal((3, 4)).astype(np.float32)
    results = run(function, graph.store, {"x0": x}, {linear.results[0]: lambda codes: seen.append(codes.copy())})
    # The accumulator by hand, then one rounding: the definition of the operation.
    codes = load_codes(store_codes(_quantized(function, x), "i8")).astype(np.int64)
    acc = codes @ call.constants["weight"].astype(np.int64).T + call.constants["bias"]
    m, s = call.constants["multiplier"], call.constants["shift"]
    z, low, high = (call.attributes[name] for name in ("z", "lo", "hi"))
    wanted = np.clip(z + ((acc * m + (1 << (s - 1))) >> s), low, high)
    assert seen[0].dtype == np.int8
    assert (seen[0] == wanted).all()
    scale = linear.results[0].type.element_type.encoding[1]  # type: ignore[attr-defined]
    assert (results["y0"] == (wanted - z).astype(np.float32) * np.float32(scale)).all()


def _quantized(function: object, x: np.ndarray) -> np.ndarray:
    op = next(op for op in function.body.block.ops if isinstance(op, quant.QuantizeOp))  # type: ignore[attr-defined]
    _, scale, zero = op.results[0].type.element_type.encoding  # type: ignore[attr-defined]
    steps = np.clip(np.rint(x / np.float32(scale)), -128 - zero, 127 - zero)
    return steps.astype(np.int64) + zero


@pytest.mark.parametrize(
    ("inputs", "message"),
    [
        ({}, "'x0' is missing"),
        ({"x0": np.zeros((4, 3), np.float32)}, r"has shape \[4, 3\], expected \[3, 4\]"),
    ],
)
def test_wrong_inputs_are_refused(inputs: dict[str, np.ndarray], message: str) -> None:
    function, graph = _materialized()
    with pytest.raises(QBCompilerError, match=message) as caught:
        IntegerProgram(function, graph.store).run(inputs)  # type: ignore[arg-type]
    assert caught.value.code == "INVALID_INPUT"


def test_a_float_property_is_refused() -> None:
    from xdsl.dialects.builtin import FloatAttr, f32

    function, graph = _materialized()
    linear = next(op for op in function.body.block.ops if isinstance(op, quant.LinearOp))  # type: ignore[attr-defined]
    check_operation(linear, graph.store)
    linear.properties["activation_min"] = FloatAttr(0.5, f32)
    with pytest.raises(QBCompilerError, match="no integer"):
        check_operation(linear, graph.store)
