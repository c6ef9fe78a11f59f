"""Self-tests notice inexact kernels, and bits do not depend on processor features or threads."""

import hashlib
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from qbc.kernels import families_in_use, prepare, selftest
from qbc.kernels.accumulate import split_weights, sum_bound
from qbc.kernels.families import ORDERS, usable, without
from tests.kernels.samples import all_samples, stored_inputs


def digest() -> str:
    """Hash of the outputs of every sample, and of long extreme sums."""
    sha = hashlib.sha256()
    for name, sample in sorted(all_samples().items()):
        out = np.empty(sample.output.shape, sample.output.numpy_dtype)
        prepare(sample)(*stored_inputs(sample, seed=3), out)
        sha.update(name.encode() + out.tobytes())
    rng = np.random.default_rng(4)
    x = np.where(rng.random((1, 4, 4, 300)) < 0.5, 0, 255).astype(np.uint8)
    weight = np.where(rng.random((20, 3, 3, 300)) < 0.7, 127, -127).astype(np.int8)
    geometry = selftest._geometry((1, 4, 4, 300), 3, 1, 1)
    from qbc.kernels.accumulate import convolution_accumulator

    sha.update(convolution_accumulator(weight, geometry, 1, 0).exact(x).tobytes())
    return sha.hexdigest()


@pytest.mark.parametrize(
    "environment",
    [{"ONEDNN_MAX_CPU_ISA": "AVX2", "OMP_NUM_THREADS": "1"}, {"OMP_WAIT_POLICY": "PASSIVE", "OMP_NUM_THREADS": "2"}],
)
def test_same_bits_in_other_processes(environment):
    code = "from tests.kernels.test_families import digest; print(digest())"
    result = subprocess.run(
        [sys.executable, "-c", code], env=os.environ | environment, capture_output=True, text=True, check=True
    )
    assert result.stdout.strip() == digest()


def test_kernels_are_thread_safe():
    sample = all_samples()["conv2d i16"]
    kernel = prepare(sample)
    inputs = [stored_inputs(sample, seed=i) for i in range(24)]
    outs = [np.empty(sample.output.shape, np.int16) for _ in inputs]
    expected = [np.empty(sample.output.shape, np.int16) for _ in inputs]
    for arrays, out in zip(inputs, expected, strict=True):
        kernel(*arrays, out)
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda pair: kernel(*pair[0], pair[1]), zip(inputs, outs, strict=True)))
    np.testing.assert_array_equal(outs, expected)


def test_families_in_use_lists_every_role():
    families = families_in_use()
    assert families.keys() == ORDERS.keys()
    assert all(family in ORDERS[role] for role, family in families.items())


def test_without_falls_back_to_float64():
    with without(*(family for order in ORDERS.values() for family in order)):
        assert set(families_in_use().values()) == {"float64"}
    assert usable("float64")


def saturating(weight, geometry, groups, zero_point):
    """A kernel that adds pairs of products in saturating int16, as byte kernels without VNNI do."""

    def run(x):
        rows, columns = geometry.positions(0), geometry.positions(1)
        padded = np.zeros((*geometry.output_size, *geometry.kernel, geometry.input[3]), np.int64)
        for ky in range(geometry.kernel[0]):
            for kx in range(geometry.kernel[1]):
                ys, xs = rows[:, ky], columns[:, kx]
                padded[:, :, ky, kx] = x[0][np.ix_(np.clip(ys, 0, 4), np.clip(xs, 0, 5))]
        flat = padded.reshape(-1, weight[0].size)
        products = flat[:, None, :] * weight.reshape(weight.shape[0], -1).astype(np.int64)
        products = products[..., : products.shape[2] // 2 * 2]
        pairs = np.clip(products.reshape(*products.shape[:2], -1, 2).sum(axis=3), -32768, 32767)
        return (
            pairs.sum(axis=2) - zero_point * weight.reshape(weight.shape[0], -1).astype(np.int64).sum(axis=1)
        ).astype(np.float32)

    return run


def test_self_test_rejects_a_saturating_kernel():
    assert not selftest._proves_convolution(saturating, [(512, 17, 1, 1, 1, 0)])


def test_split_weights_keep_every_weight_once():
    rng = np.random.default_rng(5)
    weight = rng.integers(-127, 128, (9, 3, 3, 500)).astype(np.int8)
    weight[3] = 127
    parts = split_weights(weight)
    total = np.zeros(weight.shape, np.int64)
    for members, part in parts:
        assert sum_bound(part).max() <= 1 << 24
        total[members] += part
    np.testing.assert_array_equal(total, weight)
    assert len(parts) > 1
