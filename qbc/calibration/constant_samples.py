"""Samples that show nothing of what a network computes: the same value everywhere, most often a broken export."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from qbc.calibration.inputs import InputSpec

Sample = Mapping[str, npt.NDArray[Any]]

NAMED = 3  # samples of an input that are named before the notices would be a flood
FEW_ELEMENTS = 16  # inputs with fewer elements (sizes, thresholds) are often constant by design
_FIRST = 64  # most arrays differ within so many elements


@dataclass
class ConstantWatch:
    """Looks at `count` samples in their order; integer and boolean inputs, masks among them, are not looked at."""

    specs: Sequence[InputSpec]
    count: int
    _seen: int = 0
    _constant: dict[str, int] = field(default_factory=dict)
    _zero: dict[str, int] = field(default_factory=dict)

    def look(self, sample: Sample, origin: str) -> Iterator[str]:
        """Yield what is to be told about one sample, and behind the last one about inputs that were always 0."""
        self._seen += 1
        for spec in self.specs:
            if np.dtype(spec.dtype).kind != "f":
                continue
            array = sample[spec.name]
            if not is_constant(array):
                continue
            value = float(array.flat[0])
            self._zero[spec.name] = self._zero.get(spec.name, 0) + (value == 0)
            if array.size >= FEW_ELEMENTS:
                yield from self._named(spec, value, origin)
            if self._zero[spec.name] == self._seen == self.count:
                yield (
                    f"input {spec.name!r} is 0 in every calibration sample: ranges and accuracy of what is computed "
                    "from it mean nothing"
                )

    def _named(self, spec: InputSpec, value: float, origin: str) -> Iterator[str]:
        found = self._constant[spec.name] = self._constant.get(spec.name, 0) + 1
        if found <= NAMED:
            shown = round(value * (spec.division_factor or 1), 6)
            rest = "; further ones are not named" if found == NAMED else ""
            yield f"{origin}: the sample for input {spec.name!r} is {shown:g} everywhere{rest}"


def is_constant(array: npt.NDArray[Any]) -> bool:
    """Return whether all elements are equal."""
    flat = array.reshape(-1)
    return bool((flat[:_FIRST] == flat[0]).all() and (flat == flat[0]).all())
