"""An import-linter contract that lists what a folder may import; everything else is a violation.

Folders of the project and packages of others are listed alike, the standard library is free. A closed list also catches
a folder that is new and a package that nobody thought of. Imports inside functions count, those for type checkers do
not.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any, cast

from grimp import ImportGraph
from importlinter.application import output
from importlinter.domain import fields
from importlinter.domain.contract import Contract, ContractCheck


class AllowedImports(Contract):  # type: ignore[misc]  # import-linter has no types
    """`modules` (with what is below them) import each other, and what `may_import` lists.

    An entry stands for a module and everything below it, or with `=` in front for that module alone.
    """

    type_name = "allowed"
    modules = fields.ListField(subfield=fields.StringField())
    may_import = fields.ListField(subfield=fields.StringField(), required=False, default=[])

    def check(self, graph: ImportGraph, verbose: bool) -> ContractCheck:
        found = sorted(set(self._violations(graph)))
        return ContractCheck(kept=not found, metadata={"found": found})

    def render_broken_contract(self, check: ContractCheck) -> None:
        for importer, line, imported in check.metadata["found"]:
            output.print_error(f"{importer}:{line} imports {imported}", bold=False)

    def _violations(self, graph: ImportGraph) -> Iterator[tuple[str, int, str]]:
        for module in graph.modules:
            if not _is_in(module, self.modules):
                continue
            for imported in graph.find_modules_directly_imported_by(module):
                if not self._is_allowed(imported):
                    yield module, _line(graph, module, imported), imported

    def _is_allowed(self, imported: str) -> bool:
        top = imported.partition(".")[0]
        if top in sys.stdlib_module_names:
            return True
        return _is_in(imported, [*cast("list[str]", self.modules), *cast("list[str]", self.may_import)])


def _is_in(module: str, entries: Any) -> bool:
    return any(module == entry.lstrip("=") or _is_below(module, entry) for entry in entries)


def _is_below(module: str, entry: str) -> bool:
    return not entry.startswith("=") and module.startswith(f"{entry}.")


def _line(graph: ImportGraph, importer: str, imported: str) -> int:
    details = graph.get_import_details(importer=importer, imported=imported)
    return min((detail["line_number"] for detail in details), default=0)
