"""Statistics of rows, mean inputs and extremes of channels, against numpy and torch."""

from __future__ import annotations

import numpy as np
import pytest
from xdsl.dialects.builtin import StringAttr
from xdsl.parser import Parser

from qbc.dialects import quant
from qbc.dialects.blob import read_blob
from qbc.errors import QBCompilerError
from qbc.passes.quant.kept_statistics import CHANNEL_EXTREMES, INPUT_MEAN
from qbc.passes.quant.quant_collect import QuantCollect
from qbc.passes.quant.row_statistics import read_statistics
from tests.support.calibrated_network import CalibratedNetwork, collected


@pytest.fixture
def network() -> CalibratedNetwork:
    return collected()


def test_statistics_are_those_of_the_float_values(network: CalibratedNetwork) -> None:
    y = network.pre_activation()
    (statistics,) = read_statistics(network.ctx.store, network.row("r1")).values()
    assert statistics.count == y.size
    np.testing.assert_allclose([statistics.minimum, statistics.maximum], [y.min(), y.max()], rtol=1e-5)
    np.testing.assert_allclose([statistics.mean, statistics.variance], [y.mean(), y.var()], rtol=1e-4)
    (inputs,) = read_statistics(network.ctx.store, network.row("r0")).values()
    assert inputs.minimum == min(float(s.min()) for s in network.samples)


def test_input_means_give_the_mean_output(network: CalibratedNetwork) -> None:
    mean = read_blob(network.ctx.store, network.conv.attributes[INPUT_MEAN])
    got = np.einsum("ohwc,hwc->o", network.weight, mean) + network.bias
    np.testing.assert_allclose(got, network.pre_activation().mean((0, 1, 2)), rtol=1e-4, atol=1e-5)


def test_extremes_of_the_channels_of_an_output(network: CalibratedNetwork) -> None:
    y = network.pre_activation()
    output = 2 * y * np.clip(y / 6 + 0.5, 0, 1)
    (add,) = [op for op in network.module.walk() if CHANNEL_EXTREMES in op.attributes]
    assert isinstance(add, quant.AddOp)
    low, high, count = read_blob(network.ctx.store, add.attributes[CHANNEL_EXTREMES])
    np.testing.assert_allclose(low, output.min((0, 1, 2)), rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(high, output.max((0, 1, 2)), rtol=1e-4, atol=1e-5)
    assert count.tolist() == [output[..., 0].size] * 6


def test_collecting_needs_samples() -> None:
    network = CalibratedNetwork()
    network.ctx.samples = None
    with pytest.raises(QBCompilerError) as caught:
        QuantCollect().run(network.module, network.ctx)
    assert caught.value.code == "NO_CALIBRATION_DATA"


def test_infinite_values_are_refused() -> None:
    network = CalibratedNetwork(gain=1e38)
    with pytest.raises(QBCompilerError) as caught:
        QuantCollect().run(network.module, network.ctx)
    assert caught.value.code == "INVALID_CALIBRATION_DATA" and "sample 0" in str(caught.value)


def test_collected_modules_print_and_parse(network: CalibratedNetwork) -> None:

    text = str(network.module)
    again = Parser(network.ctx, text).parse_module()
    assert str(again) == text and StringAttr("r1") == network.row("r1").properties["row"]
