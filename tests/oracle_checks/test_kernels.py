"""Every kernel kind against the oracle on random calls: equal codes."""

from __future__ import annotations

import zlib

import numpy as np
import pytest

from qbc.kernels import FAMILY_KINDS, KernelCall
from tests.oracle_checks.calls import CASES
from tests.oracle_checks.compare import assert_equal_codes, kernel_codes, oracle_codes, spec
from tests.oracle_checks.integer_helpers import check_helpers

RUNS = 60
NOT_INTEGER = {"quantize", "dequantize"}  # the host boundary is float, see tests/kernels


def test_every_kind_has_calls() -> None:
    kinds = {kind for family in FAMILY_KINDS.values() for kind in family}
    aliases = {"sub": "add", "depthwise_conv2d": "conv2d"}
    assert {aliases.get(kind, kind) for kind in kinds - NOT_INTEGER} == set(CASES)


@pytest.mark.parametrize("kind", CASES)
def test_kernel_equals_oracle(kind: str) -> None:
    rng = np.random.default_rng(zlib.crc32(kind.encode()))
    for _ in range(RUNS):
        call, inputs = CASES[kind](rng)
        assert_equal_codes(call, inputs)


@pytest.mark.parametrize("seed", range(4))
def test_helpers_equal_python_integers(seed: int) -> None:
    check_helpers(np.random.default_rng(seed))


@pytest.mark.parametrize("kind", ["conv2d", "linear"])
def test_two_planes_equal_one_command(kind: str) -> None:
    rng = np.random.default_rng(11)
    seen = 0
    while seen < 20:
        call, inputs = CASES[kind](rng)
        if call.inputs[0].dtype != "i16" or len(inputs) > 1:
            continue
        seen += 1
        acc_spec = spec(call.output.shape, "i32")
        high = KernelCall(call.kind, call.inputs, acc_spec, {**call.attributes, "plane": "hi"}, call.constants)
        acc = kernel_codes(high, inputs)
        assert np.array_equal(acc, oracle_codes(high, inputs))
        low = KernelCall(
            call.kind, (call.inputs[0], acc_spec), call.output, {**call.attributes, "plane": "lo"}, call.constants
        )
        assert np.array_equal(kernel_codes(low, [inputs[0], acc]), oracle_codes(call, inputs))
