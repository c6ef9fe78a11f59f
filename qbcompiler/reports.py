"""The tables that a compilation shows: what did not convert, accuracy by layer, estimated latency by layer."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from qbc.errors import counted
from qbcompiler.console import human_bytes, table

if TYPE_CHECKING:
    from qbc.driver.compile import CompileResult

SLOWEST_LAYERS = 12
ACCURACY_LAYERS = 40  # a longer table shows only the worst; --report writes all layers
ACCURACY_COLUMNS = (
    "signal to noise against the float model in dB: own with exact inputs, total in the integer program; "
    "worst/step: largest error in steps of the scale"
)


def render_reports(result: CompileResult, *, whole: bool = False) -> list[str]:
    """Return the texts of all reports of a compilation, in the order of the phases; `whole` shows every layer."""
    texts = [
        _conversion(result.reports.get("conversion")),
        _accuracy(result.reports.get("accuracy"), whole=whole),
        _latency(result, whole=whole),
    ]
    return [text for text in texts if text]


def report_tables(result: CompileResult) -> dict[str, Any]:
    """Return all reports as plain data: notices, conversion, accuracy of every layer, latency of every layer."""
    accuracy = result.reports.get("accuracy")
    return {
        "notices": list(result.ctx.notices),
        "conversion": result.reports.get("conversion", []),
        "accuracy": accuracy.as_dict() if accuracy is not None else None,
        "latency": result.reports.get("latency"),
    }


def write_reports(result: CompileResult, path: Path) -> None:
    """Write all reports as JSON."""
    from qbc.atomic import write_file

    write_file(path, json.dumps(report_tables(result), indent=1) + "\n")


def _conversion(report: Any) -> str:
    if not report:
        return ""
    rows = [(str(item.get("node", "")), str(item.get("operator", "")), str(item.get("reason", ""))) for item in report]
    verb = "stays as it is" if len(rows) == 1 else "stay as they are"
    return f"{counted(len(rows), 'operator')} {verb} in the source model\n{table(('node', 'operator', 'reason'), rows)}"


def _accuracy(report: Any, *, whole: bool) -> str:
    if not report:
        return ""
    from qbc.report.accuracy import render_accuracy

    if whole or len(report.layers) <= ACCURACY_LAYERS:
        return f"accuracy ({ACCURACY_COLUMNS})\n{render_accuracy(report)}"
    note = f"accuracy, the {ACCURACY_LAYERS} worst of {len(report.layers)} layers (--report FILE writes all)"
    return f"{note}\n({ACCURACY_COLUMNS})\n{render_accuracy(report, limit=ACCURACY_LAYERS)}"


def _latency(result: CompileResult, *, whole: bool) -> str:
    report = result.reports.get("latency")
    if not report:
        return ""
    slowest = sorted(report["layers"], key=lambda layer: -float(layer["us"]))
    slowest = slowest if whole else slowest[:SLOWEST_LAYERS]
    rows = [
        (layer["name"], layer["kind"], f"{layer['us']:.2f}", layer["bound"], f"{layer['macs'] / 1e6:.3f}")
        for layer in slowest
    ]
    count = len(report["layers"])
    shown = (
        f"the {len(rows)} slowest of {count} layers"
        if len(rows) < count
        else f"{counted(count, 'layer')}, slowest first"
    )
    head = (
        f"latency on {report['target']}, core mode {report['mode']} ({report['what']}): "
        f"NPU {report['npu_ms']:.4f} ms, with host transfers {report['end_to_end_ms']:.4f} ms; "
        f"{report['macs'] / 1e6:.2f} M MACs, {human_bytes(report['dram_bytes'])} of external memory traffic"
    )
    layers = f"{head}\n{shown}\n{table(('layer', 'operation', 'us', 'bound by', 'M MACs'), rows)}"
    return f"{layers}\n{_modes(report)}" if "not_modelled" in report else layers


def _modes(report: Any) -> str:
    rows = [
        (row["mode"], str(row["cores"]), str(row["images"]), f"{row['npu_ms']:.4f}", f"{row['fps_all_cores']:.0f}")
        for row in report["modes"]
    ]
    heads = ("core mode", "cores", "images a run", "NPU ms a run", "images/s on all cores")
    return f"core modes ({report['not_modelled']})\n{table(heads, rows)}"
