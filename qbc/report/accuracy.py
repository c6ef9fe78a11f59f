"""The per-layer accuracy table: rows as `quant-report` leaves them, and their rendering as text."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

COLUMNS = ("layer", "operation", "bits", "scale", "own dB", "total dB", "worst/step")
WORST_LAYERS = 20


@dataclass(frozen=True)
class LayerAccuracy:
    """One operation of the quantized graph against the float graph.

    - `own_sqnr`: centred SQNR in dB when the operation reads exact (quantized once) inputs, or None where not measured;
    - `total_sqnr`: centred SQNR in dB in the running integer program, errors of earlier layers included;
    - `worst_steps`: largest absolute error of the running program in output steps.
    """

    layer: str
    operation: str
    bits: str
    scale: float
    own_sqnr: float | None
    total_sqnr: float
    worst_steps: float


@dataclass(frozen=True)
class AccuracyReport:
    """All layers in program order, the outputs by name (SQNR in dB) and the number of samples."""

    layers: tuple[LayerAccuracy, ...]
    outputs: Mapping[str, float]
    samples: int

    def as_dict(self) -> dict[str, Any]:
        """Return plain data for JSON; infinities become None."""
        return {
            "samples": self.samples,
            "outputs": {name: _finite(value) for name, value in self.outputs.items()},
            "layers": [{key: _finite(value) for key, value in asdict(layer).items()} for layer in self.layers],
        }


def render_accuracy(report: AccuracyReport, *, limit: int | None = None) -> str:
    """Return the table as text; with `limit`, only that many layers with the lowest total SQNR, in program order."""
    layers = report.layers if limit is None else _worst(report.layers, limit)
    rows = [COLUMNS, *(_cells(layer) for layer in layers)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(COLUMNS))]
    lines = [_line(row, widths) for row in rows]
    lines.insert(1, "  ".join("-" * width for width in widths))
    if len(layers) < len(report.layers):
        lines.append(f"({len(report.layers) - len(layers)} better layers not shown)")
    lines.extend(
        f"output {name}: {_decibels(value)} dB over {report.samples} samples" for name, value in report.outputs.items()
    )
    return "\n".join(lines)


def _worst(layers: Sequence[LayerAccuracy], limit: int) -> list[LayerAccuracy]:
    ranked = sorted(range(len(layers)), key=lambda index: layers[index].total_sqnr)[:limit]
    return [layers[index] for index in sorted(ranked)]


def _cells(layer: LayerAccuracy) -> tuple[str, ...]:
    return (
        _shorten(layer.layer),
        layer.operation,
        layer.bits,
        f"{layer.scale:.4g}",
        "" if layer.own_sqnr is None else _decibels(layer.own_sqnr),
        _decibels(layer.total_sqnr),
        f"{layer.worst_steps:.1f}",
    )


def _line(row: Sequence[str], widths: Sequence[int]) -> str:
    left = [cell.ljust(width) for cell, width in zip(row[:3], widths[:3], strict=True)]
    right = [cell.rjust(width) for cell, width in zip(row[3:], widths[3:], strict=True)]
    return "  ".join([*left, *right]).rstrip()


def _shorten(name: str, width: int = 40) -> str:
    return name if len(name) <= width else f"...{name[3 - width :]}"


def _decibels(value: float) -> str:
    return f"{value:.1f}" if math.isfinite(value) else ("exact" if value > 0 else "-inf")


def _finite(value: Any) -> Any:
    return None if isinstance(value, float) and not math.isfinite(value) else value
