"""`dump-config`, `presets`, `check` and `explain`."""

from __future__ import annotations

import argparse
import difflib
from typing import Any

from qbc.errors import ArgumentError
from qbcompiler.channel import channel


def dump_config(options: argparse.Namespace) -> int:
    """Write or print a complete configuration."""
    from qbcompiler.tools import default_config, dump_default_config

    if options.output is None:
        from qbc.config.files import config_text

        values = default_config(options.preset)
        channel().result("dump-config", {"config": values}, lambda: config_text(values, as_yaml=True).rstrip())
        return 0
    dump_default_config(options.output, options.preset)
    channel().result("dump-config", {"output": str(options.output)}, f"wrote {options.output}")
    return 0


def presets(options: argparse.Namespace) -> int:
    """List the presets, or show one."""
    from qbcompiler.tools import preset_entry, readable_presets

    if options.name is not None:
        entry = preset_entry(options.name)
        channel().result("presets", {"presets": [entry]}, lambda: _one_preset(entry))
        return 0
    entries, problems = readable_presets()
    for problem in problems:
        channel().notice(problem)
    channel().result("presets", {"presets": entries}, lambda: _preset_table(entries))
    return 0


def _preset_table(entries: list[dict[str, Any]]) -> str:
    from qbcompiler.console import table

    rows = [(entry["name"], entry["base"] or "", entry["description"]) for entry in entries]
    lines = [table(("preset", "base", "description"), rows)]
    missing = [f"  {entry['name']}: {'; '.join(entry['missing'])}" for entry in entries if entry["missing"]]
    if missing:
        lines += ["", "cannot compile yet, for lack of", *missing]
    return "\n".join(lines)


def _one_preset(entry: dict[str, Any]) -> str:
    from qbc.config.files import config_text

    missing = f"# cannot compile yet, not available: {'; '.join(entry['missing'])}\n" if entry["missing"] else ""
    own = {key: value for key, value in entry.items() if key != "missing"}  # what a preset file may hold
    return missing + config_text(own, as_yaml=True).rstrip()


def check(options: argparse.Namespace) -> int:
    """Tell what this version can do."""
    from qbcompiler.capabilities import capabilities

    found = capabilities()
    channel().result("check", found, lambda: _capability_text(found))
    return 0


def _capability_text(found: dict[str, Any]) -> str:
    lines = []
    for key, value in found.items():
        if isinstance(value, dict):
            value = [f"{name} {text}" for name, text in value.items()]
        between = "; " if key == "problems" else ", "  # these are sentences
        lines.append(f"{key}: {between.join(map(str, value)) or 'none' if isinstance(value, list) else value}")
    return "\n".join(lines)


def explain(options: argparse.Namespace) -> int:
    """Print the page of an error code, or the list of all codes."""
    from qbc.error_pages import ERROR_PAGES, page_file, page_text
    from qbc.errors import ERROR_CODES
    from qbcompiler.console import table

    if options.code is None:
        rows = [(entry.code, entry.summary) for entry in ERROR_CODES.values()]
        channel().result("explain", dict(rows), lambda: table(("code", "meaning"), rows))
        return 0
    code = options.code.upper().strip("[]:")
    if code not in ERROR_CODES:
        near = difflib.get_close_matches(code, ERROR_CODES, n=1)
        raise ArgumentError(
            f"there is no error code {options.code!r}",
            hint=f"did you mean {near[0]}?" if near else "`qbcompiler explain` lists the codes",
        )
    entry, page = ERROR_CODES[code], ERROR_PAGES[code]
    data = {"code": code, "summary": entry.summary, "causes": page.causes, "remedy": entry.remedy}
    text = f"{page_text(code)}\nThis page is {page_file(code)}; docs/errors.md lists all."
    channel().result("explain", {**data, "page": page_file(code)}, text)
    return 0
