"""The tables that a compilation shows: what did not convert, accuracy by layer, estimated latency by layer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from qbcompiler.console import human_bytes, table

if TYPE_CHECKING:
    from qbc.driver.compile import CompileResult

SLOWEST_LAYERS = 12


def render_reports(result: CompileResult) -> list[str]:
    """Return the texts of all reports of a compilation, in the order of the phases."""
    texts = [
        _conversion(result.reports.get("conversion")),
        _accuracy(result.reports.get("accuracy")),
        _latency(result),
    ]
    return [text for text in texts if text]


def _conversion(report: Any) -> str:
    if not report:
        return ""
    rows = [(str(item.get("node", "")), str(item.get("operator", "")), str(item.get("reason", ""))) for item in report]
    return f"{len(rows)} operators stay as they are in the source model\n{table(('node', 'operator', 'reason'), rows)}"


def _accuracy(report: Any) -> str:
    if not report:
        return ""
    from qbc.report.accuracy import render_accuracy

    return str(render_accuracy(report))


def _latency(result: CompileResult) -> str:
    images = result.reports.get("images")
    if not images or result.ctx.target is None:
        return ""
    from qbc.program import decode_debug, decode_program
    from qbc.report.performance import estimate_program

    image = next(iter(images.values()))
    estimate = estimate_program(decode_program(image.code), decode_debug(image.debug), result.ctx.target)
    slowest = sorted(estimate.layers, key=lambda layer: -layer.seconds)[:SLOWEST_LAYERS]
    rows = [
        (layer.work.name, layer.work.kind, f"{1e6 * layer.seconds:.2f}", layer.bound, f"{layer.work.macs / 1e6:.3f}")
        for layer in slowest
    ]
    shown = f", the {len(rows)} slowest" if len(rows) < len(estimate.layers) else ""
    head = (
        f"latency on {estimate.target.name}, core mode single (an estimate on an assumed machine): "
        f"NPU {estimate.npu_ms:.4f} ms, with host transfers {estimate.end_to_end_ms:.4f} ms; "
        f"{estimate.macs / 1e6:.2f} M MACs, {human_bytes(estimate.dram_bytes)} of external memory traffic"
    )
    return f"{head}\nlayers{shown}\n{table(('layer', 'operation', 'us', 'bound by', 'M MACs'), rows)}"
