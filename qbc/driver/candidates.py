"""Candidate percentiles of kept statistics: the one that the program is made with, and a program for each of them."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from qbc.driver.events import ignore
from qbc.errors import ConfigError

if TYPE_CHECKING:
    from qbc.config.model import CompileConfig
    from qbc.driver.plan import CompileOptions

PERCENTILES = "calibration.statistics.percentiles"
_MODE = 1  # of calibration.mode: ranges from percentiles
_NO_SIDE_FILES: dict[str, Any] = {"save_sample": {"apply": False}, "bit": {"save_info": {"save_path": ""}}}
_NO_OUTPUTS: dict[str, Any] = {"config_save_path": None, "preview": None, "dump_ir": None, "report": None}


def chosen_percentile(config: CompileConfig) -> tuple[float | None, list[str]]:
    """Return the percentile that `percentileIndex` chooses (None without candidates) and what there is to tell.

    Raises CONFIG_ERROR for `percentileIndex` or `sweep` without a list.
    """
    statistics = config.calibration.statistics
    if not statistics.apply:
        return None, []
    if not statistics.percentiles:
        if statistics.sweep or statistics.percentile_index:
            name = "sweep" if statistics.sweep else "percentileIndex"
            raise ConfigError(f"calibration.statistics.{name} needs percentiles", hint="list the candidates there")
        return None, []
    if config.calibration.mode != _MODE:
        return None, [f"{PERCENTILES} has no effect: calibration.mode is {config.calibration.mode}, not {_MODE}"]
    percentile = statistics.percentiles[statistics.percentile_index]
    if len(statistics.percentiles) == 1 or statistics.sweep:
        return percentile, []
    chosen = f"percentile {percentile}, candidate {statistics.percentile_index} (percentileIndex) of the list"
    return percentile, [f"the program is made with {chosen}; calibration.statistics.sweep: true writes one for each"]


def candidate_runs(
    options: CompileOptions, config: CompileConfig | None, output: Path
) -> Iterator[tuple[Path, CompileOptions]]:
    """Yield output and options of the further programs that `calibration.statistics.sweep` asks for.

    They lie beside the output as `<stem>_<percentile>.mxq` and read the statistics that the first run read or kept, so
    none of them runs the samples again; files beside a program belong to the first.
    """
    if config is None or config.pass_pipeline:
        return
    statistics = config.calibration.statistics
    if not statistics.sweep or chosen_percentile(config)[0] is None:
        return
    kept = statistics.load_path or statistics.save_path
    for percentile in statistics.percentiles:
        own = {"sweep": False, "percentiles": [percentile], "percentile_index": 0, "load_path": kept, "save_path": ""}
        arguments = _merged(options.arguments, {"calibration": {"statistics": own}, **_NO_SIDE_FILES})
        path = output.with_name(f"{output.stem}_{percentile}{output.suffix}")
        yield path, replace(options, arguments=arguments, origin=config.origin, on_event=ignore, **_NO_OUTPUTS)


def _merged(base: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """Return nested mappings with the changes on top."""
    result = {key: copy.copy(value) for key, value in base.items()}
    for key, value in changes.items():
        old = result.get(key)
        result[key] = _merged(old, value) if isinstance(value, Mapping) and isinstance(old, Mapping) else value
    return result
