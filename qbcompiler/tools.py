"""Functions around compilation: presets, configurations, provenance, checks of models, logging."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from qbc.argument_types import LIST, TABLE, TEXT, path_of, whole_of
from qbc.errors import ArgumentError, QBCompilerError, counted

# --- presets and configurations ----------------------------------------------------------------------------------


def list_presets() -> list[dict[str, Any]]:
    """Return every preset as a dictionary: `name`, `base` (or None), `description`, `config` (its own, grouped) and
    `missing`, the features that it needs and this version lacks (a preset with any cannot compile yet).

    Files of the user (QBCOMPILER_PRESETS) that are no presets are left out, with a warning each.
    """
    entries, problems = readable_presets()
    for problem in problems:
        logging.getLogger("qbcompiler").warning("%s", problem)
    return entries


def readable_presets() -> tuple[list[dict[str, Any]], list[str]]:
    """Return the presets that can be read, and a sentence for each file or directory of the user that cannot."""
    from qbc.pipelines.phases import directory_problems, preset_names, user_presets

    own, entries, problems = user_presets(), [], directory_problems()
    for name in preset_names():
        try:
            entries.append(preset_entry(name))
        except QBCompilerError as error:
            if name not in own:
                raise
            reason = error.message.removeprefix(f"preset {name}: ").removeprefix(f"preset file {str(own[name])!r}: ")
            problems.append(f"preset file {str(own[name])!r} is left out: {reason}")
    return entries, problems


def preset_problems() -> list[str]:
    """Return a sentence for each file or directory in QBCOMPILER_PRESETS that is no preset or no directory."""
    from qbc.pipelines.phases import directory_problems, user_presets

    return readable_presets()[1] if user_presets() else directory_problems()


def preset_entry(name: str) -> dict[str, Any]:
    """Return one preset as `list_presets` does; raises ArgumentError for an unknown name."""
    from qbc.config.checks import checked
    from qbc.config.fields import missing_features
    from qbc.config.model import CompileConfig, grouped
    from qbc.pipelines.phases import load_preset

    preset = load_preset(name)
    own = checked(CompileConfig, preset.own_config, where=f"preset {name}")
    config = grouped(own.model_dump(by_alias=True, mode="json", exclude_unset=True))
    missing = missing_features(CompileConfig.from_preset(name))
    return {
        "name": preset.name,
        "base": preset.base,
        "description": preset.description,
        "config": config,
        "missing": missing,
    }


def default_config(preset: str | None = None) -> dict[str, Any]:
    """Return the complete configuration, of a preset or the defaults, in the grouped form of files."""
    from qbc.config.model import CompileConfig

    return (CompileConfig() if preset is None else CompileConfig.from_preset(preset)).grouped()


def dump_default_config(output_path: str | Path, preset: str | None = None) -> None:
    """Write the complete configuration: YAML for .yaml and .yml, else JSON. Raises OUTPUT_WRITE_ERROR."""
    from qbc.config.files import write_config

    if preset is not None:
        TEXT.check("preset", preset)
    write_config(path_of("output_path", output_path), default_config(preset))


# --- snapshots ---------------------------------------------------------------------------------------------------


def read_record(path: Path) -> tuple[str, int, dict[str, Any] | None]:
    """Return suffix, format version and manifest of a .mblt or .mxq (None when the manifest was removed)."""
    from dataclasses import asdict

    from qbc.artifact.manifest import MANIFEST_SECTION, read_manifest
    from qbc.driver.files import require_file
    from qbc.store import read_container

    require_file(path)
    kind = {".mblt": "MBLT", ".mxq": "MXQ"}.get(path.suffix.lower())
    if kind is None:
        raise ArgumentError(f"{str(path)!r} is neither a .mblt nor an .mxq file")
    container = read_container(path, kind)
    if MANIFEST_SECTION not in container.sections:
        return path.suffix.lower(), container.version, None
    manifest = read_manifest(container.section(MANIFEST_SECTION))
    return path.suffix.lower(), container.version, asdict(manifest)


def read_provenance(mblt_path: str | Path) -> dict[str, Any] | None:
    """Return how a .mblt or .mxq was made: producer, versions, pipeline, target, configuration, digests of the source
    and the calibration data (docs/formats.md has the keys); None when the file was made without provenance."""
    return provenance_of(read_record(path_of("mblt_path", mblt_path))[2])


def provenance_of(manifest: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """Return the provenance of a manifest as one dictionary, None where there is none."""
    if manifest is None or not manifest["provenance"]:
        return None
    kept = ("producer", "versions", "pipeline", "target", "config", "notices")
    return {**{key: manifest[key] for key in kept}, **manifest["provenance"]}


def get_body_subgraph(mblt_path: str | Path, output_path: str | Path) -> Path:
    """Write the largest part of a graph that runs on an NPU as a `.mblt`; returns the path.

    This version has no CPU parts: a graph that converted whole is its own body, another one is refused with the
    operators that stayed (UNSUPPORTED_OP).
    """
    from qbc.artifact.mblt import write_mblt
    from qbc.driver.inspect import open_mblt
    from qbc.driver.outputs import check_output

    source, output = path_of("mblt_path", mblt_path), path_of("output_path", output_path)
    check_output(source, output, ".mblt")
    opened = open_mblt(source)
    require_converted(opened.module)
    write_mblt(output, opened.module, opened.ctx.store, opened.manifest)
    return output


def require_converted(module: Any) -> None:
    """Raise UNSUPPORTED_OP with the operators that have no form on an NPU, if there are any."""
    from qbc.driver.inspect import unconverted

    left = unconverted(module)
    if not left:
        return
    shown = ", ".join(left[:5]) + (", ..." if len(left) > 5 else "")
    raise QBCompilerError(
        f"{counted(len(left), 'operator')} without a form on an NPU: {shown}",
        code="UNSUPPORTED_OP",
        hint="cut them off the source model; parts on the CPU are not available in this version",
    )


def validate_model(
    model: str | Path,
    backend: str | None = None,
    input_shapes: Mapping[str, tuple[int, ...]] | None = None,
    target_device: str | Path | None = None,
) -> dict[str, Any]:
    """Check a source model without compiling it: `inputs`, `outputs`, `layers`, `macs`, `uncounted`, `unconverted`,
    `npu_mac_share`, `differences`, `target`, `refused`, `notices`.

    `source_shape` of an input or output is its shape in the layout of the source model, `shape` the one on the NPU.
    `differences` lists those whose shape is not the source model's: `name`, `expected`, `found`. `unconverted` lists
    the operators without a form on the NPU with the reason; `npu_mac_share` is the share of the multiply-accumulates
    in operators that have one (None where there are none). Layers of open size have unknown multiply-accumulates:
    `uncounted` is their number. With a target device, `refused` lists the layers that it cannot run: `node`,
    `operation`, `rule`, `found`. The backend follows from the suffix of the file where none is given. Raises
    QBCompilerError when the model is not valid, TARGET_ERROR for an unknown device.
    """
    from qbc.driver.context import find_target, make_context
    from qbc.driver.inspect import convert_in_memory, layers, shape_differences, signature
    from qbc.driver.samples import main_function
    from qbc.passes.mblt.mblt_check_target import target_breaches
    from qbcompiler.arguments import check_backend, check_kinds

    source = path_of("model", model)
    check_kinds({"backend": backend, "target_device": target_device})
    shapes = _checked_shapes(input_shapes or {})
    before = make_context()
    target = None if target_device is None else find_target(target_device, before)
    imported: dict[str, Any] = {}
    module, ctx = convert_in_memory(
        source, shapes, check_backend(backend), lambda module: imported.update(signature(main_function(module)))
    )
    ctx.target = target
    found = signature(main_function(module))
    rows = layers(module)
    macs = sum(row["macs"] or 0 for row in rows)
    converted = sum(row["macs"] or 0 for row in rows if not row["operation"].startswith("framework."))
    refused = [] if target is None else target_breaches(module, ctx)
    return {
        **found,
        "layers": len(rows),
        "macs": macs,
        "uncounted": sum(row["macs"] is None for row in rows),
        "unconverted": list(ctx.report.get("conversion", [])),
        "npu_mac_share": converted / macs if macs else None,
        "differences": shape_differences(imported, found),
        "target": None if target is None else target.name,
        "refused": [
            {"node": entry.node, "operation": entry.operation.name, "rule": entry.rule, "found": entry.found}
            for entry in refused
        ],
        "notices": [*before.notices, *ctx.notices],
    }


def _checked_shapes(input_shapes: Any) -> dict[str, tuple[int, ...]]:
    TABLE.check("input_shapes", input_shapes)
    shapes = {}
    for name, dims in input_shapes.items():
        LIST.check(f"input_shapes[{name!r}]", dims)
        shapes[name] = tuple(whole_of(f"input_shapes[{name!r}][{index}]", dim) for index, dim in enumerate(dims))
    return shapes


# --- logging -----------------------------------------------------------------------------------------------------


def set_log_level(level: int | str) -> None:
    """Set the level of the log `qbcompiler`, by number or name ("debug", "info", "warning", "error", "critical")."""
    logger = logging.getLogger("qbcompiler")
    if isinstance(level, str):
        number = logging.getLevelNamesMapping().get(level.upper())
        if number is None:
            raise ArgumentError(f"unknown log level {level!r}", hint="choose debug, info, warning, error or critical")
        level = number
    if isinstance(level, bool) or not isinstance(level, int):
        raise ArgumentError(f"log level {level!r} is neither a number nor a name")
    logger.setLevel(level)
    if not logger.hasHandlers():
        logger.addHandler(logging.StreamHandler())
