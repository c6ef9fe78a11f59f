"""The map of an artifact: source node -> operations -> records, or the reason why none stands for it.

Operations and records name the nodes they compute. Nodes that nothing stands for are rows of the report `removed` in
the manifest: `{"node", "reason"}` in the order in which they went away.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from xdsl.dialects.builtin import ModuleOp

from qbc.dialects.framework import ConstantOp
from qbc.errors import QBCompilerError
from qbc.passes.base import CompileContext, source_names
from qbc.passes.mblt.removed_nodes import named_nodes

if TYPE_CHECKING:
    from qbc.program.writer import ProgramImage

REMOVED_REPORT = "removed"
_UNUSED = "nothing that was computed depends on it"  # where no pass says more


class NodeAccount:
    """The source nodes of a run, all of which must be accounted for in each artifact."""

    def __init__(self, module: ModuleOp) -> None:
        self._nodes = tuple(named_nodes(module))

    def of_module(self, module: ModuleOp, ctx: CompileContext) -> list[dict[str, str]]:
        """Return the rows of nodes that no operation of `module` names, and make them the report of `ctx`."""
        return self._rows(named_nodes(module), ctx)

    def of_programs(self, images: Iterable[ProgramImage], ctx: CompileContext) -> list[dict[str, str]]:
        """Return the rows of nodes that no record of the programs names, and make them the report of `ctx`."""
        from qbc.program import decode_debug

        return self._rows({node for image in images for row in decode_debug(image.debug) for node in row.nodes}, ctx)

    def _rows(self, present: Iterable[str], ctx: CompileContext) -> list[dict[str, str]]:
        names = set(present)
        reasons = {**ctx.report.get(REMOVED_REPORT, {})}
        for name in self._nodes:
            reasons.setdefault(name, _UNUSED)
        removed = {name: reason for name, reason in reasons.items() if name not in names}
        ctx.report[REMOVED_REPORT] = removed
        return [{"node": name, "reason": reason} for name, reason in removed.items()]


def removed_of(reports: Mapping[str, Any], source: Path) -> dict[str, str]:
    """Return the nodes that a manifest records as removed; raises INVALID_SNAPSHOT when it cannot be read."""
    rows = reports.get(REMOVED_REPORT, [])
    if not isinstance(rows, list) or not all(_is_row(row) for row in rows):
        raise QBCompilerError(
            f"{str(source)!r} records removed nodes in a way that cannot be read",
            code="INVALID_SNAPSHOT",
            hint="build the file again from its source",
        )
    return {row["node"]: row["reason"] for row in rows}


def _is_row(row: object) -> bool:
    return isinstance(row, dict) and all(isinstance(row.get(key), str) for key in ("node", "reason"))


def source_map(module: ModuleOp, removed: Mapping[str, str]) -> list[dict[str, Any]]:
    """Return for each source node the operations that stand for it, those in bodies included, or why none does."""
    found: dict[str, list[str]] = {}
    for op in module.walk():
        if isinstance(op, ConstantOp):
            continue
        for name in source_names(op):
            found.setdefault(name, []).append(op.name)
    rows = [{"node": name, "operations": operations, "reason": None} for name, operations in found.items()]
    return [*rows, *_removed_rows(removed, found)]


def record_map(path: Path) -> list[dict[str, Any]]:
    """Return for each source node of an `.mxq` its operations and its records, or why there is none.

    A record is `{"mode", "variant", "number"}`: the number of the command in the program of that core mode.
    """
    from qbc.artifact.manifest import MANIFEST_SECTION, read_manifest
    from qbc.driver.files import require_file
    from qbc.program.package import read_package

    require_file(path)
    package = read_package(path)
    section = package.container.sections.get(MANIFEST_SECTION)
    removed = {} if section is None else removed_of(read_manifest(section).reports, path)
    found: dict[str, dict[str, Any]] = {}
    for (mode, variant), program in package.programs.items():
        rows = package.debug[mode, variant]
        for number, command in enumerate(program.commands):
            for name in rows[command.debug].nodes if command.debug < len(rows) else ():
                entry = found.setdefault(name, {"node": name, "operations": [], "reason": None, "records": []})
                entry["records"].append({"mode": mode, "variant": variant, "number": number})
                if rows[command.debug].op not in entry["operations"]:
                    entry["operations"].append(rows[command.debug].op)
    return [*found.values(), *({**row, "records": []} for row in _removed_rows(removed, found))]


def _removed_rows(removed: Mapping[str, str], found: Mapping[str, Any]) -> list[dict[str, Any]]:
    return [{"node": name, "operations": [], "reason": reason} for name, reason in removed.items() if name not in found]
