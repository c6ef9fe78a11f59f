"""Validation of a kernel call: bounded attributes, constants of the right shape, and overflow proofs.

Compiled loops do no bounds checks, so whatever they index with is proved here first. A call that breaks a rule raises
QBCompilerError INVALID_SNAPSHOT; nothing in a damaged file can crash the process or read outside an array.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NoReturn

import numpy as np

from qbc.errors import QBCompilerError
from qbc.kernels.compile import Array
from qbc.kernels.spec import CODE_RANGES, KernelCall, TensorSpec
from qbc.kernels.storage import STORAGE_OFFSETS

MULTIPLIER_LIMIT = (1 << 31) - 1
SHIFT_LIMIT = 62
CODED = ("i8", "i16")
_MAX_ELEMENTS = 1 << 40


@dataclass(frozen=True)
class OutputRange:
    """Zero point and clamp of an output in storage numbers (codes + 128 for i8)."""

    z: int
    lo: int
    hi: int


class CallChecks:
    """Reads one call; every accessor checks what it returns."""

    def __init__(self, call: KernelCall) -> None:
        self.call = call
        for spec in (*call.inputs, call.output):
            if any(extent < 1 for extent in spec.shape) or spec.size > _MAX_ELEMENTS:
                self.fail(f"shape {spec.shape} is not valid")
            if spec.dtype not in ("i8", "i16", "i32", "f32"):
                self.fail(f"dtype {spec.dtype!r} is not valid")

    def fail(self, message: str) -> NoReturn:
        """Raise the error of a call that breaks a rule."""
        raise QBCompilerError(
            f"integer operation {self.call.kind!r}: {message}",
            code="INVALID_SNAPSHOT",
            hint="Build the file again from its source.",
        )

    def require(self, condition: bool, message: str) -> None:
        """Fail with the message unless the condition holds."""
        if not condition:
            self.fail(message)

    def inputs(self, count: int, dtypes: tuple[str, ...] = CODED) -> tuple[TensorSpec, ...]:
        """Return the input specs after checking their number and dtypes."""
        self.require(len(self.call.inputs) == count, f"takes {count} inputs, found {len(self.call.inputs)}")
        for spec in self.call.inputs:
            self.require(spec.dtype in dtypes, f"input dtype {spec.dtype} is not one of {', '.join(dtypes)}")
        return self.call.inputs

    def output(self, shape: tuple[int, ...], dtypes: tuple[str, ...] = CODED) -> TensorSpec:
        """Return the output spec after checking it against the expected shape."""
        spec = self.call.output
        self.require(spec.shape == tuple(shape), f"output shape is {spec.shape}, expected {tuple(shape)}")
        self.require(spec.dtype in dtypes, f"output dtype {spec.dtype} is not one of {', '.join(dtypes)}")
        return spec

    def integer(self, name: str, low: int, high: int, default: int | None = None) -> int:
        """Return an integer attribute inside low..high."""
        value = self.call.attributes.get(name, default)
        if isinstance(value, bool) or not isinstance(value, (int, np.integer)):
            self.fail(f"attribute {name!r} is missing or no integer")
        if not low <= value <= high:
            self.fail(f"attribute {name!r} is {value}, outside {low}..{high}")
        return int(value)

    def integers(
        self, name: str, count: int | None, low: int, high: int, default: tuple[int, ...] | None = None
    ) -> tuple[int, ...]:
        """Return an attribute of `count` integers (any number when None), each inside low..high."""
        value = self.call.attributes.get(name, default)
        if not isinstance(value, (tuple, list)) or (count is not None and len(value) != count):
            self.fail(f"attribute {name!r} is not a list of {'' if count is None else count} integers")
        if any(not isinstance(v, (int, np.integer)) or not low <= v <= high for v in value):
            self.fail(f"attribute {name!r} is {tuple(value)}, outside {low}..{high}")
        return tuple(int(v) for v in value)

    def choice(self, name: str, choices: tuple[str, ...], default: str | None = None) -> str:
        """Return a string attribute that is one of the choices."""
        value = self.call.attributes.get(name, default)
        if not isinstance(value, str) or value not in choices:
            self.fail(f"attribute {name!r} is {value!r}, expected one of {', '.join(choices)}")
        return value

    def has(self, name: str) -> bool:
        """Return whether the call carries the constant."""
        return name in self.call.constants

    def constant(self, name: str, dtypes: tuple[str, ...], shape: tuple[int, ...]) -> Array:
        """Return a writable C-contiguous copy of a constant after checking dtype and shape.

        Constants may lie in a read-only file mapping, for which every loop would be compiled once more.
        """
        value = self.call.constants.get(name)
        if value is None:
            self.fail(f"constant {name!r} is missing")
        if value.dtype.name not in dtypes or value.shape != shape:
            self.fail(f"constant {name!r} is {value.dtype.name}{list(value.shape)}, expected {dtypes[0]}{list(shape)}")
        return np.array(value, order="C")

    def int64(self, name: str, shape: tuple[int, ...], low: int, high: int) -> Array:
        """Return an integer constant widened to int64 after checking its range."""
        value = self.constant(name, ("int64", "int32", "int16", "int8"), shape).astype(np.int64)
        if value.size and (int(value.min()) < low or int(value.max()) > high):
            self.fail(f"constant {name!r} holds values outside {low}..{high}")
        return value

    def zero_point(self, name: str, spec: TensorSpec) -> int:
        """Return a zero point of a tensor in storage numbers."""
        low, high = CODE_RANGES[spec.dtype]
        return self.integer(name, low, high) + STORAGE_OFFSETS[spec.dtype]

    def code_range(self, prefix: str, dtype: str, *, z: bool = True) -> OutputRange:
        """Return `<prefix>z`, `<prefix>lo`, `<prefix>hi` for a code type, in storage numbers."""
        low, high = CODE_RANGES[dtype]
        offset = STORAGE_OFFSETS[dtype]
        zero = self.integer(f"{prefix}z", low, high) if z else 0
        lo = self.integer(f"{prefix}lo", low, high, low)
        hi = self.integer(f"{prefix}hi", low, high, high)
        self.require(lo <= hi, f"the clamp {lo}..{hi} is empty")
        return OutputRange(zero + offset, lo + offset, hi + offset)

    def output_range(self) -> OutputRange:
        """Return z, lo, hi of the output in storage numbers."""
        self.require(self.call.output.dtype in CODED, f"output dtype {self.call.output.dtype} holds no codes")
        return self.code_range("", self.call.output.dtype)

    def rescale(self, bound: int, prefix: str = "") -> tuple[int, int]:
        """Return (m, s) after proving `bound*|m| + 2^(s-1) < 2^63`, where bound limits |acc|."""
        m = self.integer(f"{prefix}m", -MULTIPLIER_LIMIT, MULTIPLIER_LIMIT)
        s = self.integer(f"{prefix}s", 1, SHIFT_LIMIT)
        if bound * abs(m) + (1 << (s - 1)) >= 1 << 63:
            self.fail(f"a sum of up to {bound} times {m} does not fit 63 bits")
        return m, s

    def axis(self, name: str, rank: int) -> int:
        """Return an axis attribute, non-negative."""
        axis = self.integer(name, -rank, rank - 1)
        return axis % rank

    def axes(self, rank: int) -> tuple[int, ...]:
        """Return the attribute `axes`: sorted, non-negative, distinct, not empty."""
        axes = tuple(sorted(axis % rank for axis in self.integers("axes", None, -rank, rank - 1)))
        self.require(0 < len(axes) == len(set(axes)), f"axes {axes} are empty or repeated")
        return axes


def distance_bound(spec: TensorSpec, zero_point: int) -> int:
    """Return the largest |stored - zero_point| over all codes of the tensor, both in storage numbers."""
    low, high = CODE_RANGES[spec.dtype]
    offset = STORAGE_OFFSETS[spec.dtype]
    return max(high + offset - zero_point, zero_point - low - offset)


def prove_channels(checks: CallChecks, bound: Array, multiplier: Array, shift: Array) -> None:
    """Prove `bound*m + 2^(s-1) < 2^63` for each channel; `bound` limits |acc| and is below 2^62."""
    room = np.int64((1 << 63) - 1) - (np.int64(1) << (shift - 1))
    bad = np.flatnonzero(bound > room // np.maximum(multiplier, 1))
    if bad.size:
        checks.fail(f"output channel {int(bad[0])}: a sum of up to {int(bound[bad[0]])} does not fit its multiplier")
