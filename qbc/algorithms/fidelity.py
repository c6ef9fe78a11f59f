"""How well one tensor follows another, measured about the mean and over any number of samples."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt


@dataclass
class Fidelity:
    """Running sums of a reference y and its approximation yhat.

    `sqnr` is `10 log10(sum (y - mean y)^2 / sum (y - yhat)^2)`: centred, because a large constant part would hide the
    error. `worst` is the largest absolute error.
    """

    count: int = 0
    total: float = 0.0
    square: float = 0.0
    error: float = 0.0
    worst: float = 0.0

    def add(self, reference: npt.NDArray[np.generic], approximation: npt.NDArray[np.generic]) -> None:
        """Add one pair of arrays of equal shape."""
        y = np.asarray(reference, np.float64)
        difference = y - np.asarray(approximation, np.float64)
        self.count += y.size
        self.total += float(y.sum())
        self.square += float(np.square(y).sum())
        self.error += float(np.square(difference).sum())
        self.worst = max(self.worst, float(np.abs(difference).max(initial=0.0)))

    @property
    def variance(self) -> float:
        """Population variance of the reference."""
        return max(self.square / self.count - (self.total / self.count) ** 2, 0.0) if self.count else 0.0

    @property
    def sqnr(self) -> float:
        """Centred SQNR in dB; infinite for an exact match, minus infinite for a constant reference with an error."""
        if self.error == 0.0:
            return math.inf
        power = self.variance * self.count
        return 10.0 * math.log10(power / self.error) if power > 0.0 else -math.inf
