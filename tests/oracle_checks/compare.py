"""Runs one kernel call through the kernels and through the oracle, both on integer codes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from qbc.kernels import KernelCall, TensorSpec, prepare
from qbc.kernels.storage import load_codes, store_codes
from tests.oracle import run

GUARD = 1024  # elements before and behind an output
GUARD_VALUE = 85


def kernel_codes(call: KernelCall, inputs: Sequence[np.ndarray]) -> np.ndarray:
    """Codes that the kernel computes; it must not write beside its output."""
    arrays = [store_codes(codes, spec.dtype) for codes, spec in zip(inputs, call.inputs, strict=True)]
    guarded = np.full(call.output.size + 2 * GUARD, GUARD_VALUE, call.output.numpy_dtype)
    out = guarded[GUARD : GUARD + call.output.size].reshape(call.output.shape)
    prepare(call)(*arrays, out)
    assert (guarded[:GUARD] == GUARD_VALUE).all() and (guarded[-GUARD:] == GUARD_VALUE).all(), "wrote beside the output"
    return load_codes(out).astype(np.int64)


def oracle_codes(call: KernelCall, inputs: Sequence[np.ndarray]) -> np.ndarray:
    """Codes that the oracle computes."""
    plain = [np.asarray(codes).astype(np.int64) for codes in inputs]
    constants = dict(call.constants)
    return run(call.kind, plain, dict(call.attributes), constants, call.output.shape, call.output.dtype)


def assert_equal_codes(call: KernelCall, inputs: Sequence[np.ndarray]) -> None:
    """Fail with the first differing element when kernel and oracle disagree."""
    ours, expected = kernel_codes(call, inputs), oracle_codes(call, inputs)
    different = np.argwhere(ours != expected)
    if len(different):
        where = tuple(int(i) for i in different[0])
        raise AssertionError(
            f"{call.kind}: {len(different)} of {ours.size} codes differ, first at {where}: "
            f"kernel {ours[where]}, oracle {expected[where]}; attributes {dict(call.attributes)}"
        )


def spec(shape: Sequence[int], dtype: str) -> TensorSpec:
    """Shorthand for a tensor spec."""
    return TensorSpec(tuple(int(n) for n in shape), dtype)
