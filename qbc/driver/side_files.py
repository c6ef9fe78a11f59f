"""Files that a compilation writes beside its result: configuration, widths, samples, a preview of the graph."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from xdsl.dialects.builtin import ModuleOp

from qbc.driver.context import DriverContext
from qbc.driver.plan import Plan

if TYPE_CHECKING:
    from qbc.artifact.manifest import Manifest


def configured_files(plan: Plan) -> tuple[list[str], list[str]]:
    """Return the files that the configuration has read and written: statistics, widths of layers."""
    if plan.config is None:
        return [], []
    statistics = plan.config.calibration.statistics
    written = [plan.config.bit.save_info.save_path]
    if not statistics.apply:
        return [], [path for path in written if path]
    if statistics.save_path != statistics.load_path:  # the same file may be read and kept again
        written.append(statistics.save_path)
    return [path for path in (statistics.load_path,) if path], [path for path in written if path]


def save_config(path: Path | None, plan: Plan, source: Path, output: Path) -> None:
    """Write the resolved configuration with the paths of this run, so that it can be given again."""
    if path is None or plan.config is None:
        return
    from qbc.config.files import write_config

    paths = {"model_paths": [str(source)], "save_paths": [str(output)]}
    config = plan.config.model_copy(update={**paths, "calib_data_path": _as_paths(plan.calibration)})
    write_config(path, config.grouped())


def _as_paths(calibration: Any) -> list[str]:
    """Return calibration data as the configuration records it; arrays in memory have no path."""
    entries = calibration if isinstance(calibration, list | tuple) else [calibration]
    return [str(entry) for entry in entries if isinstance(entry, str | Path)]


def save_widths(plan: Plan, ctx: DriverContext) -> None:
    """Write the bits of each layer where `bit.saveInfo.savePath` asks for them."""
    path = "" if plan.config is None else plan.config.bit.save_info.save_path
    if not path:
        return
    from qbc.config.files import write_config

    accuracy = ctx.report.get("accuracy")
    layers = {} if accuracy is None else {layer.layer: layer.bits for layer in accuracy.layers}
    write_config(Path(path), {"layers": layers})


def save_chosen_samples(plan: Plan, module: ModuleOp, ctx: DriverContext) -> None:
    """Write calibration samples where the section saveSample asks for them."""
    if plan.config is None or not plan.config.save_sample.apply:
        return
    from qbc.driver.save_samples import save_samples

    save_samples(module, ctx, plan.config.save_sample)


def save_preview(path: Path | None, module: ModuleOp, ctx: DriverContext, manifest: Manifest) -> None:
    """Write the parsed graph for viewing, before quantization changes it."""
    if path is None:
        return
    from qbc.artifact.mblt import write_mblt

    write_mblt(path, module, ctx.store, replace(manifest, preview=True))
