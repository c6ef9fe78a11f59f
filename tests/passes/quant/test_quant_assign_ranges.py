"""Encodings from statistics: modes, methods, flat zones, graph outputs."""

from __future__ import annotations

import numpy as np
import pytest
from xdsl.parser import Parser

from qbc.calibration import ArraySamples, InputSpec
from qbc.dialects import quant
from qbc.dialects.quant.base import ints_attr
from qbc.driver.context import make_context
from qbc.errors import QBCompilerError
from qbc.passes.quant.quant_assign_ranges import QuantAssignRanges
from qbc.passes.quant.quant_collect import QuantCollect
from qbc.passes.quant.quant_promote_16 import QuantPromote16
from qbc.store import BlobStore
from tests.support.calibrated_network import CalibratedNetwork, collected, row_type


@pytest.fixture
def network() -> CalibratedNetwork:
    return collected()


@pytest.mark.parametrize("method,zero_point", [(1, False), (3, True)])
def test_ranges_of_mode_0(network: CalibratedNetwork, method: int, zero_point: bool) -> None:
    QuantAssignRanges(mode=0, method=method, flat_zones=False).run(network.module, network.ctx)
    y = network.pre_activation()
    storage, scale, zero = network.row("r1").encoding or ("", 0.0, 0)
    if zero_point:
        assert scale == pytest.approx((y.max() - y.min()) / 255, rel=1e-5)
        assert zero == round(-128 - y.min() / scale)
    else:
        assert (scale, zero) == (pytest.approx(np.abs(y).max() / 127, rel=1e-5), 0)
    assert storage == "i8" and quant.level(network.module) == "ranged"


def test_flat_zones_are_not_given_codes(network: CalibratedNetwork) -> None:
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
    network = CalibratedNetwork()
    with pytest.raises(QBCompilerError) as caught:
        QuantAssignRanges().run(network.module, network.ctx)
    assert caught.value.code == "QUANTIZATION_ERROR"


def test_fixed_rows_are_kept(network: CalibratedNetwork) -> None:
    from xdsl.dialects.builtin import UnitAttr

    row = network.row("r3")
    quant.ParamTable(network.module).set_encoding(row, "i8", 0.25, -128)
    row.properties["fixed"] = UnitAttr()
    QuantAssignRanges().run(network.module, network.ctx)
    QuantPromote16(sqnr=200.0).run(network.module, network.ctx)
    assert row.encoding == ("i8", 0.25, -128)


def test_values_behind_a_maximum_keep_their_tail(network: CalibratedNetwork) -> None:
    axes = {"axes": ints_attr((1, 2)), "keep_dims": None}
    function = next(op for op in network.module.body.block.ops if op.name == "func.func")
    lookup = next(op for op in function.walk() if isinstance(op, quant.LutOp))
    QuantAssignRanges(percentile=0.9, spared=0, flat_zones=False).run(network.module, network.ctx)
    clipped = (network.row("r2").encoding or ("", 0.0, 0))[1]
    result = quant.ReduceMaxOp.make([lookup.results[0]], row_type((1, 6), "r2"), axes, lookup.location)
    block = lookup.parent
    assert block is not None and block.last_op is not None
    block.insert_op_before(result, block.last_op)
    QuantAssignRanges(percentile=0.9, spared=0, flat_zones=False).run(network.module, network.ctx)
    y = network.pre_activation()
    activated = y * np.clip(y / 6 + 0.5, 0, 1)
    scale = (network.row("r2").encoding or ("", 0.0, 0))[1]
    assert scale == pytest.approx((activated.max() - activated.min()) / 255, rel=1e-4) and scale > 1.2 * clipped
    assert (network.row("r1").encoding or ("", 0.0, 0))[1] == pytest.approx((y.max() - y.min()) / 255, rel=1e-4)


@pytest.mark.parametrize("mode", [0, 1, 2])
def test_graph_outputs_are_never_clipped(network: CalibratedNetwork, mode: int) -> None:
    QuantAssignRanges(mode=mode, percentile=0.9, spared=0, output_margin=0.5).run(network.module, network.ctx)
    y = network.pre_activation()
    output = 2 * y * np.clip(y / 6 + 0.5, 0, 1)
    scale = (network.row("r3").encoding or ("", 0.0, 0))[1]
    assert scale == pytest.approx(1.5 * (output.max() - output.min()) / 255, rel=1e-4)


JOINED_TEXT = """
builtin.module {
  quant.params "r0"
  quant.params "r1"
  quant.params "r2"
  quant.params "r3"
  func.func @main(%x: tensor<1x64xf32> {mblt.name = "x"}) -> (tensor<1x192xf32> {mblt.name = "y"}) {
    %0 = quant.quantize %x : tensor<1x64xf32> -> tensor<1x64x!quant.q<"r0">>
    %1 = quant.add %0, %0 : (tensor<1x64x!quant.q<"r0">>, tensor<1x64x!quant.q<"r0">>) -> tensor<1x64x!quant.q<"r1">>
    %2 = quant.mul %0, %0 : (tensor<1x64x!quant.q<"r0">>, tensor<1x64x!quant.q<"r0">>) -> tensor<1x64x!quant.q<"r2">>
    %3 = quant.concat %1, %2, READ {axis = 1} : (tensor<1x64x!quant.q<"r1">>, tensor<1x64x!quant.q<"r2">>, \
tensor<1x64x!quant.q<"r0">>) -> tensor<1x192x!quant.q<"r3">>
    %4 = quant.dequantize %3 : tensor<1x192x!quant.q<"r3">> -> tensor<1x192xf32>
    func.return %4 : tensor<1x192xf32>
  }
}
"""


@pytest.mark.parametrize("mode", [1, 2])
def test_what_a_concatenation_carries_out_of_the_graph_is_not_clipped(mode: int) -> None:
    """Rows of operands that only such a concatenation reads are outputs too; %0 is read by others and is none."""
    ctx = make_context(store=BlobStore())
    data = np.random.default_rng(2).standard_normal((20, 1, 64)).astype(np.float32) ** 3
    ctx.samples = ArraySamples(tuple({"x": x} for x in data), (InputSpec("x", (1, 64)),))
    module = Parser(ctx, JOINED_TEXT.replace("READ", "%0")).parse_module()
    QuantCollect().run(module, ctx)
    QuantAssignRanges(mode=mode, method=0, percentile=0.9, spared=0, output_margin=0.5).run(module, ctx)
    rows = quant.ParamTable(module).rows
    scales = {name: (row.encoding or ("", 0.0, 0))[1] for name, row in rows.items()}
    assert scales["r1"] == pytest.approx(1.5 * np.abs(2 * data).max() / 127, rel=1e-4)
    assert scales["r2"] == pytest.approx(1.5 * np.square(data).max() / 127, rel=1e-4)
    assert scales["r0"] <= np.float32(np.abs(data).max() / 127)
