"""Views for graph viewers: any file of ours as an ONNX file."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from qbc.driver.context import make_context
from qbc.driver.files import read_module, require_file
from qbc.driver.outputs import check_output
from qbc.driver.program import programs_of
from qbc.errors import ArgumentError
from qbc.pipelines.verify import verify_module

if TYPE_CHECKING:
    from qbc.artifact.manifest import Manifest

SUFFIXES = (".mblt", ".mxq", ".mlir")


@dataclass(frozen=True)
class View:
    """What was written: the file, the number of nodes, the core modes of the programs that were not chosen."""

    output: Path
    nodes: int
    other_modes: tuple[str, ...]


def write_view(source: Path, output: Path | None = None, core_mode: str | None = None) -> View:
    """Write an ONNX view of a `.mblt`, `.mxq` or `.mlir` file, by default to the same name with `.onnx` added.

    `qbc.export.onnx_view.module_view` says what it shows. Weights above 1.5 GB go to a file beside it. Raises
    ArgumentError for other files and for an `output` that is not called `.onnx`.
    """
    from qbc.export.onnx_mblt import write_export
    from qbc.export.onnx_view import module_view

    require_file(source)
    if source.suffix.lower() == ".onnx":
        hint = "viewers open it as it is; parse it to see what the compiler makes of it"
        raise ArgumentError(f"{str(source)!r} is an ONNX model", hint=hint)
    if source.suffix.lower() not in SUFFIXES:
        raise ArgumentError(f"{str(source)!r} cannot be shown", hint=f"files to show are {', '.join(SUFFIXES)}")
    target = source.with_name(f"{source.name}.onnx") if output is None else output
    check_output(source, target, ".onnx")
    ctx = make_context()
    module = read_module(source, ctx)
    verify_module(module)
    manifest = _manifest(source)
    facts = _facts(source, manifest)
    exported = module_view(module, ctx.store, facts, core_mode=core_mode, estimates=_estimates(manifest))
    write_export(exported, target)
    entries = [(entry.key, entry.value) for entry in exported.model.metadata_props]
    shown = dict(entries).get("core mode")
    return View(target, len(exported.model.graph.node), _other_modes(module, shown))


def _manifest(source: Path) -> Manifest | None:
    from qbc.artifact.manifest import MANIFEST_SECTION, read_manifest
    from qbc.store import read_container

    if source.suffix.lower() == ".mlir":
        return None
    container = read_container(source, verify=False)  # the module was read from it with its checksums
    section = container.sections.get(MANIFEST_SECTION)
    return None if section is None else read_manifest(section)


def _estimates(manifest: Manifest | None) -> dict[str, list[dict[str, Any]]]:
    """Return the rows of the latency report by core mode; reports are not checked when a file is read."""
    latency = None if manifest is None else manifest.reports.get("latency")
    if not isinstance(latency, dict) or not isinstance(latency.get("mode"), str):
        return {}
    rows = latency.get("layers")
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        return {}
    return {latency["mode"]: rows}


def _facts(source: Path, manifest: Manifest | None) -> dict[str, object]:
    facts: dict[str, object] = {"view of": source.suffix.lower()}
    return facts if manifest is None else {**facts, "target": manifest.target, "pipeline": manifest.pipeline}


def _other_modes(module: Any, shown: str | None) -> tuple[str, ...]:
    return tuple(program.mode.data for program in programs_of(module) if program.mode.data != shown)
