"""Write the reference pages that are made from the code: dialects, passes, errors, configuration, commands, ...

    python docs/generate.py           # writes docs/dialects.md, docs/passes.md and the others of PAGES
    python docs/generate.py --check   # exit status 1 when a page differs from the code

A test runs the check, so a changed docstring and its page arrive together.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path

from xdsl.ir import Operation
from xdsl.irdl import IRDLOperation, OptionalDef, VariadicDef

from qbc.driver.context import OWN_DIALECTS, make_context
from qbc.error_pages import page_text
from qbc.errors import ERROR_CODES
from qbc.pipelines.grammar import print_value
from qbc.pipelines.registry import all_passes, option_infos

DOCS = Path(__file__).parent
sys.path.insert(0, str(DOCS))

import reference  # noqa: E402  # needs the path above

NOTE = "<!-- Made by docs/generate.py; edit the docstrings in the code instead. -->\n"
TABLE_ONLY = ("framework",)  # one class per ONNX operator: their meaning is the one of the ONNX specification


def docstring(item: object) -> str:
    """Return the docstring of a class or function without indentation; empty for generated and inherited ones."""
    own = vars(item).get("__doc__") if isinstance(item, type) else getattr(item, "__doc__", None)
    return inspect.cleandoc(own) if own else ""


def dialects_page() -> str:
    """Return the page of all dialects."""
    parts = [NOTE, "# Dialects\n"]
    ctx = make_context()
    for name in OWN_DIALECTS:
        dialect = ctx.get_dialect(name)
        package = sys.modules[f"qbc.dialects.{name}"]
        parts.append(f"## {name}\n\n{docstring(package)}\n")
        for attribute in dialect.attributes:
            parts.append(f"### `{attribute.name}`\n\n{docstring(attribute)}\n")
        operations = sorted(dialect.operations, key=lambda op: op.name)
        if name in TABLE_ONLY:
            parts.append(", ".join(f"`{op.name.split('.', 1)[1]}`" for op in operations) + "\n")
            continue
        parts.extend(op_section(op) for op in operations)
    return "\n".join(parts)


def op_section(op: type[Operation]) -> str:
    """Return the section of one op: docstring, operands, properties, results."""
    lines = [f"### `{op.name}`\n"]
    text = docstring(op)
    if text:
        lines.append(f"{text}\n")
    if issubclass(op, IRDLOperation):
        definition = op.get_irdl_definition()
        for title, entries in (("Operands", definition.operands), ("Results", definition.results)):
            if entries:
                lines.append(f"{title}: {', '.join(_named(name, kind) for name, kind in entries)}.")
        if definition.properties:
            names = (
                f"`{name}`{' (optional)' if _is_optional(kind) else ''}" for name, kind in definition.properties.items()
            )
            lines.append(f"Properties: {', '.join(names)}.")
    return "\n".join(lines).rstrip() + "\n"


def _named(name: str, kind: object) -> str:
    note = " (optional)" if isinstance(kind, OptionalDef) else " (any number)" if isinstance(kind, VariadicDef) else ""
    return f"`{name}`{note}"


def _is_optional(kind: object) -> bool:
    return isinstance(kind, OptionalDef)


def passes_page() -> str:
    """Return the page of all passes."""
    parts = [NOTE, "# Passes\n"]
    for cls in sorted(all_passes(), key=lambda item: item.name):
        parts.append(f"## `{cls.name}`\n\nRuns on `{cls.anchor}`.\n\n{docstring(cls)}\n")
        infos = option_infos(cls)
        if infos:
            rows = [f"| `{info.name}` | {_cell(info.type_text)} | `{print_value(info.default)}` |" for info in infos]
            parts.append("| option | type | default |\n| --- | --- | --- |\n" + "\n".join(rows) + "\n")
    return "\n".join(parts)


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def errors_page() -> str:
    """Return the index of all error codes."""
    rows: Iterable[str] = (
        f"| [{code}](errors/{code}.md) | {_cell(ERROR_CODES[code].summary)} |" for code in ERROR_CODES
    )
    intro = (
        "The command line prints `ERROR [CODE]: message`, `qbc-opt` prints `error[CODE]: message`; both end with exit\n"
        "status 1. In Python the exception is `QBCompilerError` with `code`, `message`, `node` and `hint`.\n"
        "`qbcompiler explain CODE` prints the page of a code. The examples on the pages are run by a test.\n"
    )
    return "\n".join([NOTE, "# Error codes\n", intro, "| code | meaning |", "| --- | --- |", *rows, ""])


def error_page(code: str) -> str:
    """Return the page of one error code."""
    return f"{NOTE}\n{page_text(code)}\n[All error codes](../errors.md)\n"


PAGES: dict[str, Callable[[], str]] = {
    "dialects.md": dialects_page,
    "passes.md": passes_page,
    "errors.md": errors_page,
    "configuration.md": reference.configuration_page,
    "presets.md": reference.presets_page,
    "commands.md": reference.commands_page,
    "functions.md": reference.functions_page,
    **{f"errors/{code}.md": partial(error_page, code) for code in ERROR_CODES},
}


def main() -> int:
    stale = [f"errors/{path.name}" for path in DOCS.glob("errors/*.md") if f"errors/{path.name}" not in PAGES]
    if "--check" not in sys.argv:
        for name in stale:  # of codes that are no more
            (DOCS / name).unlink()
    for name, page in PAGES.items():
        path, text = DOCS / name, page()
        if path.exists() and path.read_text(encoding="utf-8") == text:
            continue
        stale.append(name)
        if "--check" not in sys.argv:
            path.parent.mkdir(exist_ok=True)
            path.write_text(text, encoding="utf-8")
    if "--check" in sys.argv:
        for name in stale:
            print(f"docs/{name} differs from the code: run python docs/generate.py", file=sys.stderr)
        return 1 if stale else 0
    return 0


if __name__ == "__main__":
    sys.exit(main())
