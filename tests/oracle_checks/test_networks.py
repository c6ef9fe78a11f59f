"""Whole compiled networks against the oracle: equal codes on every record."""

from __future__ import annotations

import pytest

from qbc.runtime.load import load
from tests.oracle_checks.program import differing_records
from tests.support.networks import NETWORKS, compiled

IN_CI = ("digits", "resnet8", "vww", "kws", "ad", "det160")


@pytest.mark.parametrize("name", IN_CI)
def test_every_record_equals_the_oracle(name: str) -> None:
    network = NETWORKS[name]
    simulator = load(compiled(name))
    inputs = {network.input_name: network.inputs(1, 5)[0]}
    assert differing_records(simulator, inputs) == []
