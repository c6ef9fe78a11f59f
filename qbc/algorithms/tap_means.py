"""Means over the inputs of layers: per kernel tap of a weighted operation, with zero padding counted exactly.

A convolution output position o reads input row `o*stride + tap*dilation - padding`; outside the input it reads zero.
The mean over all output positions of what a tap reads is linear in the input, so two small counting matrices (rows and
columns) give it with one pass over the data:

    mean[i, j, c] = sum_{h,w} rows[i, h] * columns[j, w] * x[h, w, c] / (OH * OW)

With it the mean output of a channel is `sum(weight * mean) + bias`, borders included.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

F32 = npt.NDArray[np.float32]
F64 = npt.NDArray[np.float64]


@dataclass(frozen=True)
class TapWindow:
    """One spatial axis: input and output size, kernel, stride, padding before, dilation, direction."""

    size: int
    out_size: int
    kernel: int
    stride: int
    padding: int
    dilation: int
    transposed: bool = False

    def counts(self) -> F32:
        """Return [kernel, size]: how many output positions read input position h through a tap."""
        counts = np.zeros((self.kernel, self.size), np.float32)
        for tap in range(self.kernel):
            positions = self._read_positions(tap)
            np.add.at(counts[tap], positions, 1.0)
        return counts

    def _read_positions(self, tap: int) -> npt.NDArray[np.int64]:
        if self.transposed:
            inputs = np.arange(self.size)
            outputs = inputs * self.stride + tap * self.dilation - self.padding
            return inputs[(outputs >= 0) & (outputs < self.out_size)]
        positions = np.arange(self.out_size) * self.stride + tap * self.dilation - self.padding
        return positions[(positions >= 0) & (positions < self.size)]


@dataclass
class TapMean:
    """Running mean over samples; `add` takes NHWC arrays, `mean` is [KH, KW, C]."""

    rows: TapWindow
    columns: TapWindow
    _sum: F64 | float = 0.0
    _images: int = 0
    _row_counts: F32 = field(init=False)
    _column_counts: F32 = field(init=False)

    def __post_init__(self) -> None:
        self._row_counts = self.rows.counts()
        self._column_counts = self.columns.counts()

    def add(self, x: npt.NDArray[np.generic]) -> None:
        """Add a batch of inputs [N, H, W, C]."""
        with np.errstate(over="ignore", invalid="ignore"):  # infinite activations are refused where they are counted
            for image in np.asarray(x, np.float32):
                planes = image.transpose(2, 0, 1)
                by_tap = self._by_plane(planes) if planes.flags.c_contiguous else self._by_row(image)
                self._sum = self._sum + by_tap.astype(np.float64)
        self._images += x.shape[0]

    def _by_plane(self, planes: F32) -> F32:
        """Return tap sums of a channel-first image; no copy is made."""
        by_tap: F32 = np.matmul(np.matmul(self._row_counts, planes), self._column_counts.T)
        return by_tap.transpose(1, 2, 0)

    def _by_row(self, image: F32) -> F32:
        """Return tap sums of a channel-last image."""
        height, width, channels = image.shape
        by_row = self._row_counts @ image.reshape(height, width * channels)
        by_tap: F32 = np.matmul(self._column_counts, by_row.reshape(-1, width, channels))
        return by_tap

    @property
    def mean(self) -> F64:
        """Mean input per tap, [KH, KW, C]."""
        return np.asarray(self._sum / (max(self._images, 1) * self.rows.out_size * self.columns.out_size))


@dataclass
class ChannelMean:
    """Running mean over all positions of the last axis, for linear layers."""

    _sum: F64 | float = 0.0
    _count: int = 0

    def add(self, x: npt.NDArray[np.generic]) -> None:
        """Add inputs [..., C]."""
        flat = np.asarray(x, np.float32).reshape(-1, x.shape[-1])
        self._sum = self._sum + flat.sum(axis=0, dtype=np.float64)
        self._count += flat.shape[0]

    @property
    def mean(self) -> F64:
        """Mean input, [C]."""
        return np.asarray(self._sum / max(self._count, 1))


@dataclass
class InverseVariance:
    """Running mean of `1 / (variance + epsilon)` over the rows (trailing `rank` axes) of what a layer norm reads."""

    rank: int
    epsilon: float
    _sum: float = 0.0
    _rows: int = 0

    def add(self, x: npt.NDArray[np.generic]) -> None:
        """Add inputs whose trailing axes are normalized."""
        axes = tuple(range(x.ndim - self.rank, x.ndim))
        variance = np.asarray(x, np.float64).var(axis=axes)
        self._sum += float((1.0 / np.maximum(variance + self.epsilon, 1e-30)).sum())
        self._rows += variance.size

    @property
    def mean(self) -> float:
        """Mean over all rows."""
        return self._sum / max(self._rows, 1)


def mean_output_error(error: F64, mean: F64, groups: int = 1) -> F64:
    """Return the mean of `conv(x, error)` per output channel: `sum over taps of error[o] * mean`.

    `error` is [OC, KH, KW, IC/groups] with `mean` [KH, KW, IC], or [OC, IC] with [IC].
    """
    if error.ndim == 2:
        return np.asarray(error @ mean)
    channels_out, kernel_h, kernel_w, per_group = error.shape
    grouped_error = error.reshape(groups, channels_out // groups, kernel_h, kernel_w, per_group)
    grouped_mean = mean.reshape(kernel_h, kernel_w, groups, per_group)
    return np.asarray(np.einsum("gohwc,hwgc->go", grouped_error, grouped_mean)).reshape(channels_out)
