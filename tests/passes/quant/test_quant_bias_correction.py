"""The mean output over the calibration data is that of the float weights."""

from __future__ import annotations

import numpy as np
import pytest

from qbc.dialects.blob import read_blob
from qbc.errors import QBCompilerError
from qbc.passes.base import name_loc
from qbc.passes.quant.quant_bias_correction import QuantBiasCorrection
from tests.support.calibrated_network import CalibratedNetwork, collected


@pytest.fixture
def network() -> CalibratedNetwork:
    return collected()


def test_bias_correction_removes_the_mean_error(network: CalibratedNetwork) -> None:
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


def test_bias_correction_of_chosen_layers(network: CalibratedNetwork) -> None:

    network.conv.location = name_loc("stem/conv")
    QuantBiasCorrection(exclude=("stem/*",)).run(network.module, network.ctx)
    assert "bias_delta" not in network.conv.properties
    QuantBiasCorrection(layers=("stem/conv",)).run(network.module, network.ctx)
    assert "bias_delta" in network.conv.properties
    with pytest.raises(QBCompilerError, match="matches no layer"):
        QuantBiasCorrection(layers=("head/*",)).run(network.module, network.ctx)
