"""Kernel families: which ways to compute an exact integer sum work on this machine.

Fast library kernels are exact only on some processors (without VNNI instructions, oneDNN's byte kernels add products in
saturating 16 bits). So each family is tested once a process, at its first use, with the inputs that would show it; a
family that fails is not used, and the next one of its order takes over. The result bits are the same in any case.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from threading import RLock

ORDERS: dict[str, tuple[str, ...]] = {
    "conv2d": ("onednn_conv", "split_k_float32", "float64"),
    "depthwise_conv2d": ("depthwise_loop", "split_k_float32", "float64"),
    "linear": ("onednn_linear", "split_k_float32", "float64"),
    "matmul": ("split_k_float32", "float64"),
}
_LOCK = RLock()
_RESULTS: dict[str, bool] = {"float64": True}
_DISABLED: set[str] = set()


def usable(family: str) -> bool:
    """Return whether a family passed its self-test in this process; the test runs at the first question."""
    if family in _DISABLED:
        return False
    with _LOCK:
        if family not in _RESULTS:
            from qbc.kernels.selftest import run_self_test

            _RESULTS[family] = run_self_test(family)
        return _RESULTS[family]


def choose(role: str) -> str:
    """Return the first usable family of a role; float64 sums are the last one and need no test."""
    return next((family for family in ORDERS[role] if usable(family)), "float64")


def families_in_use() -> dict[str, str]:
    """Return the family that serves each role on this machine, for reports."""
    return {role: choose(role) for role in ORDERS}


@contextmanager
def without(*families: str) -> Iterator[None]:
    """Prepare kernels inside the block without some families; for tests and benchmarks."""
    added = set(families) - _DISABLED
    _DISABLED.update(added)
    try:
        yield
    finally:
        _DISABLED.difference_update(added)
