"""The latency report of a compiled program: per layer, totals, and how public figures compare."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import resources
from typing import Any

from qbc.program import DebugRow, Program
from qbc.report.work import layer_steps
from qbc.targets.latency import DISCLAIMER, LatencyEstimate, estimate_steps
from qbc.targets.model import Target

_HOST_BYTES = {"f32": 4, "i32": 4, "u8": 1}


def program_latency(program: Program, debug: Sequence[DebugRow], target: Target) -> LatencyEstimate:
    """Estimate one run of a program on the cores of its mode, host transfers of float inputs and outputs included."""
    host = [*program.inputs, *program.outputs]
    host_bytes = program.images * sum(tensor.operand.size * _HOST_BYTES[tensor.dtype] for tensor in host)
    steps = layer_steps(program, debug, target.core.mfu)
    return estimate_steps(
        steps, target, host_bytes=host_bytes, transfers=len(host), images=program.images, cores=program.cores
    )


def mode_row(mode: str, result: LatencyEstimate) -> dict[str, Any]:
    """Return the totals of one core mode; a run of mode multi computes four images."""
    return {
        "mode": mode,
        "cores": result.cores,
        "images": result.images,
        "npu_ms": round(result.npu_ms, 6),
        "end_to_end_ms": round(result.end_to_end_ms, 6),
        "fps_all_cores": round(result.fps_all_cores(), 3),
    }


def latency_table(result: LatencyEstimate) -> dict[str, Any]:
    """Return the estimate as plain data for JSON and reports; times in microseconds and milliseconds."""
    return {
        "what": DISCLAIMER,
        "target": result.target.name,
        "target_digest": result.target.digest,
        "facts": result.target.status_counts(),
        "npu_ms": round(result.npu_ms, 6),
        "end_to_end_ms": round(result.end_to_end_ms, 6),
        "fps_all_cores": round(result.fps_all_cores(), 3),
        "macs": result.macs,
        "dram_bytes": result.dram_bytes,
        "layers": [
            {
                "name": layer.work.name,
                "kind": layer.work.kind,
                "us": round(layer.seconds * 1e6, 6),
                "bound": layer.bound,
                "macs": layer.work.macs,
                "dram_bytes": layer.work.dram_read + layer.work.dram_write,
                "l2_bytes": layer.work.l2_bytes,
            }
            for layer in result.layers
        ],
    }


@dataclass(frozen=True)
class PublicRow:
    """One published measurement: network, quantity (`npu_ms` or `fps`), value and source."""

    network: str
    quantity: str
    value: float
    source: str


def public_rows() -> list[PublicRow]:
    """Return the published measurements that the estimate is compared with."""
    text = resources.files("qbc.targets").joinpath("public_figures.csv").read_text(encoding="utf-8")
    rows = csv.DictReader(text.splitlines())
    return [PublicRow(row["network"], row["quantity"], float(row["value"]), row["source"]) for row in rows]


def compare_with_public(result: LatencyEstimate, network: str) -> list[tuple[PublicRow, float, float]]:
    """Return (row, prediction, relative error) for every published figure of a network."""
    predictions = {"npu_ms": result.npu_ms, "fps": result.fps_all_cores()}
    rows = [row for row in public_rows() if row.network == network]
    return [(row, predictions[row.quantity], predictions[row.quantity] / row.value - 1) for row in rows]
