"""Which rows get 16 bits: logits, normalizations, lookups, products."""

from __future__ import annotations

import numpy as np
import pytest
from xdsl.parser import Parser

from qbc.calibration import ArraySamples, InputSpec
from qbc.dialects import quant
from qbc.dialects.blob import write_blob
from qbc.driver.context import make_context
from qbc.passes.quant.quant_assign_ranges import QuantAssignRanges
from qbc.passes.quant.quant_collect import QuantCollect
from qbc.passes.quant.quant_promote_16 import QuantPromote16
from qbc.store import BlobStore
from tests.support.calibrated_network import CalibratedNetwork, collected, row_type, text_of


@pytest.fixture
def network() -> CalibratedNetwork:
    return collected()


def test_lookup_promotion_follows_the_bound(network: CalibratedNetwork) -> None:
    QuantAssignRanges().run(network.module, network.ctx)
    QuantPromote16(sqnr=10.0).run(network.module, network.ctx)
    assert network.row("r1").bits == "i8"
    QuantPromote16(sqnr=120.0).run(network.module, network.ctx)
    assert [network.row(name).bits for name in ("r0", "r1", "r2", "r3")] == ["i8", "i16", "i8", "i8"]
    _, scale, zero = network.row("r1").encoding or ("", 0.0, 0)
    assert zero == 0 and scale == pytest.approx(network.pre_activation().max() / 32639, rel=0.01)


def test_logits_of_a_softmax_are_promoted() -> None:
    network = CalibratedNetwork()
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

    rng = np.random.default_rng(6)
    ctx = make_context(store=BlobStore())
    text = PRODUCTS_TEXT
    for name, shape in (("FIRST", (2, 1, 1, 1)), ("SECOND", (9, 1, 1, 2))):
        blob = write_blob(ctx.store, rng.standard_normal(shape).astype(np.float32))
        text = text.replace(name, text_of(blob))
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


SCALED_TEXT = """
builtin.module {
  quant.params "r0" {storage = i8, scale = 0.25 : f32, zero_point = 0}
  quant.params "r1" {storage = i8, scale = 1.0 : f32, zero_point = 0}
  quant.params "r2" {storage = i8, scale = 0.0625 : f32, zero_point = 0}
  quant.params "r3" {storage = i8, scale = 0.00392 : f32, zero_point = -128}
  func.func @main(%x: tensor<1x4xf32>) -> tensor<1x4xf32> {
    %c = quant.constant {value = #blob.inline<"NUMBER" : tensor<1x1xf32>>} : tensor<1x1x!quant.q<"r1">>
    %0 = quant.quantize %x : tensor<1x4xf32> -> tensor<1x4x!quant.q<"r0">>
    %1 = OPERATION -> tensor<1x4x!quant.q<"r2">>
    %2 = quant.softmax %1 {axis = 1} : tensor<1x4x!quant.q<"r2">> -> tensor<1x4x!quant.q<"r3">>
    %3 = quant.dequantize %2 : tensor<1x4x!quant.q<"r3">> -> tensor<1x4xf32>
    func.return %3 : tensor<1x4xf32>
  }
}
"""
Q4, Q1 = 'tensor<1x4x!quant.q<"r0">>', 'tensor<1x1x!quant.q<"r1">>'


@pytest.mark.parametrize(
    "operation,value,gain",
    [
        (f"quant.mul %0, %c : ({Q4}, {Q1})", 2.0, 2.0),
        (f"quant.mul %c, %0 : ({Q1}, {Q4})", -2.0, 2.0),
        (f"quant.div %0, %c : ({Q4}, {Q1})", 0.5, 2.0),
        (f"quant.div %0, %c : ({Q4}, {Q1})", 0.0, None),
        (f"quant.div %c, %0 : ({Q1}, {Q4})", 2.0, None),
    ],
)
def test_logits_are_followed_through_constant_factors(operation: str, value: float, gain: float | None) -> None:
    """The step of %0 is 1/4, so one step counts gain / 4 in the exponent."""
    import struct

    text = SCALED_TEXT.replace("OPERATION", operation).replace("NUMBER", struct.pack("<f", value).hex())
    for step, is_coarse in ((0.24 * (gain or 1.0), True), (0.26 * (gain or 1.0), False)):
        ctx = make_context(store=BlobStore())
        module = Parser(ctx, text).parse_module()
        proposed = QuantPromote16(logit_step=step)._proposals(module, quant.ParamTable(module), ctx)
        names = {row.row_name for row, rule in proposed if rule == "logits"}
        assert ("r0" in names) == (is_coarse and gain is not None)


def test_long_chains_of_additions_stay_cheap() -> None:
    network = CalibratedNetwork()
    add = next(op for op in network.module.walk() if isinstance(op, quant.AddOp))
    block, value = add.parent, add.results[0]
    assert block is not None and block.last_op is not None
    table = quant.ParamTable(network.module)
    dequantize = next(op for op in network.module.walk() if isinstance(op, quant.DequantizeOp))
    for _ in range(60):
        row = table.new_row()
        following = quant.AddOp.make([value, value], row_type((1, 5, 4, 6), row.row_name), {}, add.location)
        block.insert_op_before(following, dequantize)
        value = following.results[0]
    softmax = quant.SoftmaxOp.make([value], row_type((1, 5, 4, 6), "r3"), {}, add.location)
    block.insert_op_before(softmax, dequantize)
    dequantize.operands[0] = softmax.results[0]
    for row in quant.ParamTable(network.module):
        quant.ParamTable(network.module).set_encoding(row, "i8", 1.0, 0)
    rows = {
        row.row_name for row, _ in QuantPromote16()._logits(value, 1.0, quant.ParamTable(network.module), network.ctx)
    }
    assert len(rows) >= 60
