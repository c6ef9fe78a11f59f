"""Collection, ranges, promotion and bias correction on small networks against numpy and torch."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as functional
from xdsl.dialects.builtin import ModuleOp, StringAttr

from qbc.calibration import ArraySamples, InputSpec
from qbc.dialects import quant
from qbc.dialects.blob import read_blob, write_blob
from qbc.driver.context import DriverContext, make_context
from qbc.errors import QBCompilerError
from qbc.passes.quant.lift import lift
from qbc.passes.quant.quant_assign_ranges import QuantAssignRanges
from qbc.passes.quant.quant_bias_correction import QuantBiasCorrection
from qbc.passes.quant.quant_collect import INPUT_MEAN, QuantCollect
from qbc.passes.quant.quant_promote_16 import QuantPromote16
from qbc.passes.quant.row_statistics import read_statistics
from qbc.store import BlobStore

QUANT_TEXT = """
builtin.module {
  quant.params "r0"
  quant.params "r1"
  quant.params "r2"
  quant.params "r3"
  func.func @main(%x: tensor<1x9x8x3xf32> {mblt.name = "x"}) -> (tensor<1x5x4x6xf32> {mblt.name = "y"}) {
    %0 = quant.quantize %x : tensor<1x9x8x3xf32> -> tensor<1x9x8x3x!quant.q<"r0">>
    %1 = quant.conv2d %0 {weight = WEIGHT, bias = BIAS, kernel = [3, 3], strides = [2, 2], padding = [1, 1, 1, 1], \
dilations = [1, 1], groups = 1} : tensor<1x9x8x3x!quant.q<"r0">> -> tensor<1x5x4x6x!quant.q<"r1">>
    %2 = quant.lut %1 {function = "hard_swish"} : tensor<1x5x4x6x!quant.q<"r1">> -> tensor<1x5x4x6x!quant.q<"r2">>
    %3 = quant.add %2, %2 : (tensor<1x5x4x6x!quant.q<"r2">>, tensor<1x5x4x6x!quant.q<"r2">>) -> \
tensor<1x5x4x6x!quant.q<"r3">>
    %4 = quant.dequantize %3 : tensor<1x5x4x6x!quant.q<"r3">> -> tensor<1x5x4x6xf32>
    func.return %4 : tensor<1x5x4x6xf32>
  }
}
"""
SPEC = InputSpec("x", (1, 9, 8, 3))


class Network:
    """The network above with seeded weights, its samples, and torch's idea of its values."""

    def __init__(self, gain: float = 1.0) -> None:
        from xdsl.parser import Parser
        from xdsl.printer import Printer

        rng = np.random.default_rng(7)
        self.weight = (gain * rng.standard_normal((6, 3, 3, 3))).astype(np.float32)
        self.bias = rng.standard_normal(6).astype(np.float32)
        self.samples = [(rng.standard_normal(SPEC.shape) + 0.7).astype(np.float32) for _ in range(6)]
        self.ctx: DriverContext = make_context(store=BlobStore())
        self.ctx.samples = ArraySamples(tuple({"x": sample} for sample in self.samples), (SPEC,))
        text = QUANT_TEXT
        for name, array in (("WEIGHT", self.weight), ("BIAS", self.bias)):
            text = text.replace(name, _text_of(Printer, write_blob(self.ctx.store, array)))
        self.module: ModuleOp = Parser(self.ctx, text).parse_module()
        self.module.verify()

    def pre_activation(self) -> np.ndarray:
        x = torch.from_numpy(np.concatenate(self.samples).transpose(0, 3, 1, 2).copy()).double()
        weight = torch.from_numpy(self.weight.transpose(0, 3, 1, 2).copy()).double()
        y = functional.conv2d(x, weight, torch.from_numpy(self.bias).double(), 2, 1)
        return y.numpy().transpose(0, 2, 3, 1)

    def row(self, name: str) -> quant.ParamsOp:
        return quant.ParamTable(self.module).rows[name]

    @property
    def conv(self) -> quant.Conv2dOp:
        return next(op for op in self.module.walk() if isinstance(op, quant.Conv2dOp))


def _text_of(printer_class: Any, attribute: Any) -> str:
    from io import StringIO

    stream = StringIO()
    printer_class(stream).print_attribute(attribute)
    return stream.getvalue()


@pytest.fixture
def network() -> Network:
    network = Network()
    QuantCollect().run(network.module, network.ctx)
    return network


def test_lift_runs_the_same_function() -> None:
    from qbc.execute.float_torch.runner import run

    network = Network()
    lifted = lift(next(op for op in network.module.body.block.ops if op.name == "func.func"))  # type: ignore[arg-type]
    lifted.function.verify()
    got = run(lifted.function, network.ctx.store, {"x": network.samples[0]})["y"]
    y = network.pre_activation()[:1]
    np.testing.assert_allclose(got, 2 * y * np.clip(y / 6 + 0.5, 0, 1), rtol=1e-4, atol=1e-5)


def test_statistics_are_those_of_the_float_values(network: Network) -> None:
    y = network.pre_activation()
    (statistics,) = read_statistics(network.ctx.store, network.row("r1")).values()
    assert statistics.count == y.size
    np.testing.assert_allclose([statistics.minimum, statistics.maximum], [y.min(), y.max()], rtol=1e-5)
    np.testing.assert_allclose([statistics.mean, statistics.variance], [y.mean(), y.var()], rtol=1e-4)
    (inputs,) = read_statistics(network.ctx.store, network.row("r0")).values()
    assert inputs.minimum == min(float(s.min()) for s in network.samples)


def test_input_means_give_the_mean_output(network: Network) -> None:
    mean = read_blob(network.ctx.store, network.conv.attributes[INPUT_MEAN])
    got = np.einsum("ohwc,hwc->o", network.weight, mean) + network.bias
    np.testing.assert_allclose(got, network.pre_activation().mean((0, 1, 2)), rtol=1e-4, atol=1e-5)


def test_collecting_needs_samples() -> None:
    network = Network()
    network.ctx.samples = None
    with pytest.raises(QBCompilerError) as caught:
        QuantCollect().run(network.module, network.ctx)
    assert caught.value.code == "NO_CALIBRATION_DATA"


def test_infinite_values_are_refused() -> None:
    network = Network(gain=1e38)
    with pytest.raises(QBCompilerError) as caught:
        QuantCollect().run(network.module, network.ctx)
    assert caught.value.code == "INVALID_CALIBRATION_DATA" and "sample 0" in str(caught.value)


@pytest.mark.parametrize("method,zero_point", [(1, False), (3, True)])
def test_ranges_of_mode_0(network: Network, method: int, zero_point: bool) -> None:
    QuantAssignRanges(mode=0, method=method, flat_zones=False).run(network.module, network.ctx)
    y = network.pre_activation()
    storage, scale, zero = network.row("r1").encoding or ("", 0.0, 0)
    if zero_point:
        assert scale == pytest.approx((y.max() - y.min()) / 255, rel=1e-5)
        assert zero == round(-128 - y.min() / scale)
    else:
        assert (scale, zero) == (pytest.approx(np.abs(y).max() / 127, rel=1e-5), 0)
    assert storage == "i8" and quant.level(network.module) == "ranged"


def test_flat_zones_are_not_given_codes(network: Network) -> None:
    QuantAssignRanges(mode=0).run(network.module, network.ctx)
    _, scale, zero = network.row("r1").encoding or ("", 0.0, 0)
    lowest = scale * (-128 - zero)
    assert network.pre_activation().min() < -3.2
    assert -3.1 < lowest < -2.7
    x = np.linspace(-20, lowest, 100)
    at_lowest = lowest * np.clip(lowest / 6 + 0.5, 0, 1)
    output_scale = (network.row("r2").encoding or ("", 0.0, 0))[1]
    assert np.abs(x * np.clip(x / 6 + 0.5, 0, 1) - at_lowest).max() <= 0.3 * output_scale + scale


def test_ranges_need_statistics() -> None:
    network = Network()
    with pytest.raises(QBCompilerError) as caught:
        QuantAssignRanges().run(network.module, network.ctx)
    assert caught.value.code == "QUANTIZATION_ERROR"


@pytest.mark.parametrize("options", [{"mode": 3}, {"method": 4}, {"percentile": 0.2}])
def test_wrong_options_are_refused(network: Network, options: dict[str, Any]) -> None:
    with pytest.raises(QBCompilerError) as caught:
        QuantAssignRanges(**options).run(network.module, network.ctx)
    assert caught.value.code == "PIPELINE_ERROR"


def test_fixed_rows_are_kept(network: Network) -> None:
    from xdsl.dialects.builtin import UnitAttr

    row = network.row("r3")
    quant.ParamTable(network.module).set_encoding(row, "i8", 0.25, -128)
    row.properties["fixed"] = UnitAttr()
    QuantAssignRanges().run(network.module, network.ctx)
    QuantPromote16(sqnr=200.0).run(network.module, network.ctx)
    assert row.encoding == ("i8", 0.25, -128)


def test_lookup_promotion_follows_the_bound(network: Network) -> None:
    QuantAssignRanges().run(network.module, network.ctx)
    QuantPromote16(sqnr=10.0).run(network.module, network.ctx)
    assert network.row("r1").bits == "i8"
    QuantPromote16(sqnr=120.0).run(network.module, network.ctx)
    assert [network.row(name).bits for name in ("r0", "r1", "r2", "r3")] == ["i8", "i16", "i8", "i8"]
    _, scale, zero = network.row("r1").encoding or ("", 0.0, 0)
    assert zero == 0 and scale == pytest.approx(network.pre_activation().max() / 32639, rel=0.01)


def test_bias_correction_removes_the_mean_error(network: Network) -> None:
    from qbc.algorithms.fixed_point import weight_codes, weight_scales

    QuantBiasCorrection().run(network.module, network.ctx)
    first = network.conv.properties["bias_delta"]
    QuantBiasCorrection().run(network.module, network.ctx)
    assert network.conv.properties["bias_delta"] == first
    expected = network.pre_activation().mean((0, 1, 2))
    scales = weight_scales(network.weight)
    network.weight = (weight_codes(network.weight, scales) * scales.reshape(-1, 1, 1, 1)).astype(np.float32)
    before = np.abs(network.pre_activation().mean((0, 1, 2)) - expected)
    network.bias = network.bias + read_blob(network.ctx.store, first)
    after = np.abs(network.pre_activation().mean((0, 1, 2)) - expected)
    assert after.max() < 1e-5 < before.max()


def test_bias_correction_of_chosen_layers(network: Network) -> None:
    from qbc.passes.base import name_loc

    network.conv.location = name_loc("stem/conv")
    QuantBiasCorrection(exclude=("stem/*",)).run(network.module, network.ctx)
    assert "bias_delta" not in network.conv.properties
    QuantBiasCorrection(layers=("stem/conv",)).run(network.module, network.ctx)
    assert "bias_delta" in network.conv.properties
    with pytest.raises(QBCompilerError, match="matches no layer"):
        QuantBiasCorrection(layers=("head/*",)).run(network.module, network.ctx)


def test_logits_of_a_softmax_are_promoted() -> None:
    network = Network()
    module = network.module
    add = next(op for op in module.walk() if isinstance(op, quant.AddOp))
    softmax = quant.SoftmaxOp.make(add.operands[:1], add.results[0].type, {}, add.location)
    assert isinstance(softmax, quant.SoftmaxOp)
    block = add.parent
    assert block is not None
    block.insert_op_before(softmax, add)
    add.results[0].replace_all_uses_with(softmax.results[0])
    add.detach()
    add.erase()
    QuantCollect().run(network.module, network.ctx)
    QuantAssignRanges().run(network.module, network.ctx)
    step = (network.row("r2").encoding or ("", 0.0, 0))[1]
    QuantPromote16(logit_step=1.01 * step, sqnr=-100.0).run(network.module, network.ctx)
    assert network.row("r2").bits == "i8"
    QuantPromote16(logit_step=0.99 * step, sqnr=-100.0).run(network.module, network.ctx)
    assert network.row("r2").bits == "i16"
    assert network.ctx.report["promoted"][0]["rule"] == "logits"


def test_collected_modules_print_and_parse(network: Network) -> None:
    from xdsl.parser import Parser

    text = str(network.module)
    again = Parser(network.ctx, text).parse_module()
    assert str(again) == text and StringAttr("r1") == network.row("r1").properties["row"]


AFFINE_TEXT = """
builtin.module {
  quant.params "r0"
  quant.params "r1"
  quant.params "r2"
  quant.params "r3"
  quant.params "r4"
  quant.params "r5"
  func.func @main(%x: tensor<1x4xf32> {mblt.name = "x"}) -> (tensor<1x4xf32> {mblt.name = "y"}) {
    %c = quant.constant {value = #blob.inline<"0000003f" : tensor<1x1xf32>>} : tensor<1x1x!quant.q<"r4">>
    %d = quant.constant {value = #blob.inline<"00000040" : tensor<1x1xf32>>} : tensor<1x1x!quant.q<"r5">>
    %0 = quant.quantize %x : tensor<1x4xf32> -> tensor<1x4x!quant.q<"r0">>
    %1 = quant.lut %0 {function = "FUNCTION"} : tensor<1x4x!quant.q<"r0">> -> tensor<1x4x!quant.q<"r1">>
    %2 = quant.mul %1, %c : (tensor<1x4x!quant.q<"r1">>, tensor<1x1x!quant.q<"r4">>) -> tensor<1x4x!quant.q<"r2">>
    %3 = quant.sub %d, %2 : (tensor<1x1x!quant.q<"r5">>, tensor<1x4x!quant.q<"r2">>) -> tensor<1x4x!quant.q<"r3">>
    %4 = quant.dequantize %3 : tensor<1x4x!quant.q<"r3">> -> tensor<1x4xf32>
    func.return %4 : tensor<1x4xf32>
  }
}
"""


def _affine_module(function: str) -> tuple[ModuleOp, DriverContext]:
    from xdsl.parser import Parser

    ctx = make_context(store=BlobStore())
    return Parser(ctx, AFFINE_TEXT.replace("FUNCTION", function)).parse_module(), ctx


def test_constants_move_into_the_lookup() -> None:
    from qbc.execute.float_torch.runner import run
    from qbc.passes.quant.quant_fold_affine import QuantFoldAffine

    module, ctx = _affine_module("silu")
    QuantFoldAffine().run(module, ctx)
    module.verify()
    (lookup,) = [op for op in module.walk() if isinstance(op, quant.LutOp)]
    assert not [op for op in module.walk() if isinstance(op, quant.MulOp | quant.SubOp | quant.ConstantOp)]
    assert len(quant.ParamTable(module).rows) == 2
    assert quant.quantized_element(lookup.results[0]) == quant.QType.of_row("r3")
    x = np.linspace(-4, 4, 4, dtype=np.float32)[None]
    function = next(op for op in module.body.block.ops if op.name == "func.func")
    got = run(lift(function).function, ctx.store, {"x": x})["y"]  # type: ignore[arg-type]
    np.testing.assert_allclose(got, 2.0 - 0.5 * x / (1 + np.exp(-x)), rtol=1e-5)


def test_mantissa_functions_keep_their_readers() -> None:
    from qbc.passes.quant.quant_fold_affine import QuantFoldAffine

    module, ctx = _affine_module("sqrt")
    before = str(module)
    QuantFoldAffine().run(module, ctx)
    assert str(module) == before


def test_tables_hold_gain_and_offset() -> None:
    from qbc.algorithms.tables import Function, byte_table

    function = Function.of("hard_swish", {"gain": 0.75, "offset": -0.3})
    table = byte_table(function, 0.05, 3, 0.04, -20, -128, 127)
    x = 0.05 * (np.arange(-128, 128) - 3)
    expected = np.floor((0.75 * x * np.clip(x / 6 + 0.5, 0, 1) - 0.3) / 0.04 + 0.5) - 20
    assert np.abs(table - np.clip(expected, -128, 127)).max() <= 1
    assert (table == np.clip(expected, -128, 127)).mean() > 0.98


REST = (
    "builtin.module(quant-assign-bits,quant-collect,quant-group-scales,quant-assign-ranges{mode=0},quant-promote-16,"
    "quant-insert-requant,quant-bias-correction,quant-canonicalize,quant-materialize,quant-verify,quant-report)"
)


def _run_to_report(network: Network) -> Any:
    from qbc.pipelines.grammar import parse_pipeline
    from qbc.pipelines.runner import run_pipeline

    for index, op in enumerate(network.module.walk()):
        op.location = _named(f"node{index}")
    run_pipeline(network.module, parse_pipeline(REST), network.ctx)
    return network.ctx.report["accuracy"]


def _named(name: str) -> Any:
    from qbc.passes.base import name_loc

    return name_loc(name)


def test_report_measures_the_integer_program() -> None:
    network = Network()
    report = _run_to_report(network)
    assert [layer.operation for layer in report.layers] == ["conv2d", "lut", "add"]
    assert report.samples == 2 and set(report.outputs) == {"y"}
    assert all(layer.own_sqnr > 30 and layer.total_sqnr > 30 for layer in report.layers)
    assert all(layer.worst_steps < 8 for layer in report.layers)

    from qbc.execute.integer import run

    y = network.pre_activation()[:2]
    reference = 2 * y * np.clip(y / 6 + 0.5, 0, 1)
    function = next(op for op in network.module.body.block.ops if op.name == "func.func")
    got = np.concatenate(
        [run(function, network.ctx.store, {"x": sample})["y"] for sample in network.samples[:2]]  # type: ignore[arg-type]
    )
    noise = np.square(reference - got).sum()
    expected = 10 * np.log10(np.square(reference - reference.mean()).sum() / noise)
    assert report.outputs["y"] == pytest.approx(expected, abs=0.01)


def test_report_needs_the_collecting_run() -> None:
    from qbc.passes.quant.quant_report import QuantReport

    with pytest.raises(QBCompilerError) as caught:
        QuantReport().run(Network().module, Network().ctx)
    assert caught.value.code == "NO_CALIBRATION_DATA"


NORM_TEXT = """
builtin.module {
  quant.params "r0"
  quant.params "r1"
  quant.params "r2"
  func.func @main(%x: tensor<1x4x8xf32> {mblt.name = "x"}) -> (tensor<1x4x8xf32> {mblt.name = "y"}) {
    %0 = quant.quantize %x : tensor<1x4x8xf32> -> tensor<1x4x8x!quant.q<"r0">>
    %1 = quant.add %0, %0 : (tensor<1x4x8x!quant.q<"r0">>, tensor<1x4x8x!quant.q<"r0">>) -> tensor<1x4x8x!quant.q<"r1">>
    %2 = quant.layer_norm %1 {normalized_rank = 1, epsilon = 1.0e-5 : f32} : tensor<1x4x8x!quant.q<"r1">> -> \
tensor<1x4x8x!quant.q<"r2">>
    %3 = quant.dequantize %2 : tensor<1x4x8x!quant.q<"r2">> -> tensor<1x4x8xf32>
    func.return %3 : tensor<1x4x8xf32>
  }
}
"""


def test_coarse_inputs_of_a_layer_norm_are_promoted() -> None:
    from xdsl.parser import Parser

    spec = InputSpec("x", (1, 4, 8))
    x = np.random.default_rng(5).standard_normal((6, 4, 8)).astype(np.float32)
    for spread, expected in ((1.0, "i8"), (0.01, "i16")):
        ctx = make_context(store=BlobStore())
        samples = x.copy()
        samples[:, 1] *= spread  # one row of small spread: 8-bit steps are coarse for it
        ctx.samples = ArraySamples(tuple({"x": sample[None]} for sample in samples), (spec,))
        module = Parser(ctx, NORM_TEXT).parse_module()
        for step in (QuantCollect(), QuantAssignRanges(), QuantPromote16()):
            step.run(module, ctx)
        rows = quant.ParamTable(module).rows
        assert [rows[name].bits for name in ("r0", "r1", "r2")] == ["i8", expected, "i8"]


def test_values_behind_a_maximum_keep_their_tail(network: Network) -> None:
    axes = {"axes": quant_ints((1, 2)), "keep_dims": None}
    function = next(op for op in network.module.body.block.ops if op.name == "func.func")
    lookup = next(op for op in function.walk() if isinstance(op, quant.LutOp))
    QuantAssignRanges(percentile=0.9, spared=0, flat_zones=False).run(network.module, network.ctx)
    clipped = (network.row("r2").encoding or ("", 0.0, 0))[1]
    result = quant.ReduceMaxOp.make([lookup.results[0]], network_type((1, 6), "r2"), axes, lookup.location)
    block = lookup.parent
    assert block is not None and block.last_op is not None
    block.insert_op_before(result, block.last_op)
    QuantAssignRanges(percentile=0.9, spared=0, flat_zones=False).run(network.module, network.ctx)
    y = network.pre_activation()
    activated = y * np.clip(y / 6 + 0.5, 0, 1)
    scale = (network.row("r2").encoding or ("", 0.0, 0))[1]
    assert scale == pytest.approx((activated.max() - activated.min()) / 255, rel=1e-4) and scale > 1.2 * clipped
    assert (network.row("r1").encoding or ("", 0.0, 0))[1] == pytest.approx((y.max() - y.min()) / 255, rel=1e-4)


def quant_ints(values: tuple[int, ...]) -> Any:
    from qbc.dialects.quant.base import ints_attr

    return ints_attr(values)


def network_type(shape: tuple[int, ...], row: str) -> Any:
    from xdsl.dialects.builtin import TensorType

    return TensorType(quant.QType.of_row(row), shape)


@pytest.mark.parametrize("mode", [0, 1, 2])
def test_graph_outputs_are_never_clipped(network: Network, mode: int) -> None:
    QuantAssignRanges(mode=mode, percentile=0.9, spared=0, output_margin=0.5).run(network.module, network.ctx)
    y = network.pre_activation()
    output = 2 * y * np.clip(y / 6 + 0.5, 0, 1)
    scale = (network.row("r3").encoding or ("", 0.0, 0))[1]
    assert scale == pytest.approx(1.5 * (output.max() - output.min()) / 255, rel=1e-4)


PRODUCTS_TEXT = """
builtin.module {
  quant.params "r0"
  quant.params "r1"
  quant.params "r2"
  quant.params "r3"
  func.func @main(%x: tensor<1x4x4x2xf32> {mblt.name = "x"}) -> (tensor<1x4x4x9xf32> {mblt.name = "y"}) {
    %0 = quant.quantize %x : tensor<1x4x4x2xf32> -> tensor<1x4x4x2x!quant.q<"r0">>
    %1 = quant.mul %0, %0 : (tensor<1x4x4x2x!quant.q<"r0">>, tensor<1x4x4x2x!quant.q<"r0">>) -> \
tensor<1x4x4x2x!quant.q<"r1">>
    %2 = quant.conv2d %1 {weight = FIRST, strides = [1, 1], padding = [0, 0, 0, 0], dilations = [1, 1], groups = 2} : \
tensor<1x4x4x2x!quant.q<"r1">> -> tensor<1x4x4x2x!quant.q<"r2">>
    %3 = quant.conv2d %2 {weight = SECOND, strides = [1, 1], padding = [0, 0, 0, 0], dilations = [1, 1], groups = 1} : \
tensor<1x4x4x2x!quant.q<"r2">> -> tensor<1x4x4x9x!quant.q<"r3">>
    %4 = quant.dequantize %3 : tensor<1x4x4x9x!quant.q<"r3">> -> tensor<1x4x4x9xf32>
    func.return %4 : tensor<1x4x4x9xf32>
  }
}
"""


@pytest.mark.parametrize("budget,expected", [(0.0, "i8"), (0.09, "i8"), (0.11, "i16")])
def test_coarse_inputs_of_products_are_promoted_within_the_budget(budget: float, expected: str) -> None:
    from xdsl.parser import Parser
    from xdsl.printer import Printer

    rng = np.random.default_rng(6)
    ctx = make_context(store=BlobStore())
    text = PRODUCTS_TEXT
    for name, shape in (("FIRST", (2, 1, 1, 1)), ("SECOND", (9, 1, 1, 2))):
        blob = write_blob(ctx.store, rng.standard_normal(shape).astype(np.float32))
        text = text.replace(name, _text_of(Printer, blob))
    module = Parser(ctx, text).parse_module()
    samples = rng.standard_normal((60, 1, 4, 4, 2)).astype(np.float32)
    samples[0, 0, 0, 0, 0] = 40.0  # one large value makes the steps of its square coarse
    ctx.samples = ArraySamples(tuple({"x": sample} for sample in samples), (InputSpec("x", (1, 4, 4, 2)),))
    QuantCollect().run(module, ctx)
    QuantAssignRanges().run(module, ctx)
    QuantPromote16(mac_budget=budget).run(module, ctx)
    # 32 multiplications read r1 and 288 read r2: a tenth of the graph, and nine tenths.
    rows = quant.ParamTable(module).rows
    assert [rows[name].bits for name in ("r0", "r1", "r2", "r3")] == ["i8", expected, "i8", "i8"]


def test_long_chains_of_additions_stay_cheap() -> None:
    network = Network()
    add = next(op for op in network.module.walk() if isinstance(op, quant.AddOp))
    block, value = add.parent, add.results[0]
    assert block is not None and block.last_op is not None
    table = quant.ParamTable(network.module)
    dequantize = next(op for op in network.module.walk() if isinstance(op, quant.DequantizeOp))
    for _ in range(60):
        row = table.new_row()
        following = quant.AddOp.make([value, value], network_type((1, 5, 4, 6), row.row_name), {}, add.location)
        block.insert_op_before(following, dequantize)
        value = following.results[0]
    softmax = quant.SoftmaxOp.make([value], network_type((1, 5, 4, 6), "r3"), {}, add.location)
    block.insert_op_before(softmax, dequantize)
    dequantize.operands[0] = softmax.results[0]
    for row in quant.ParamTable(network.module):
        quant.ParamTable(network.module).set_encoding(row, "i8", 1.0, 0)
    rows = {
        row.row_name for row, _ in QuantPromote16()._logits(value, 1.0, quant.ParamTable(network.module), network.ctx)
    }
    assert len(rows) >= 60
