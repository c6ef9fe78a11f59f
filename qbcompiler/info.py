"""`qbcompiler info` and `qbcompiler target show`."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

from qbc.errors import ArgumentError
from qbcompiler.console import table


def print_info(path: Path) -> int:
    """Print the manifest of a snapshot as JSON."""
    import json

    from qbc.artifact.manifest import MANIFEST_SECTION, read_manifest
    from qbc.driver.files import require_file
    from qbc.store import read_container

    require_file(path)
    kinds = {".mblt": "MBLT", ".mxq": "MXQ"}
    kind = kinds.get(path.suffix.lower())
    if kind is None:
        raise ArgumentError(f"{str(path)!r} is neither a .mblt nor an .mxq file")
    container = read_container(path, kind)
    if MANIFEST_SECTION not in container.sections:
        print("null")
        return 0
    print(json.dumps(asdict(read_manifest(container.section(MANIFEST_SECTION))), indent=2, ensure_ascii=False))
    return 0


def print_target(name: str) -> int:
    """Print the facts of a device with the status and reason of each."""
    from qbc.driver.context import find_target, make_context
    from qbc.targets.model import STATUSES

    ctx = make_context()
    target = find_target(name, ctx)
    for notice in ctx.notices:
        print(f"notice: {notice}")
    rows = [
        (key, str(fact.value), STATUSES.get(fact.status, fact.status), fact.reason)
        for key, fact in target.facts.items()
    ]
    print(f"{target.name} (core modes: {', '.join(target.modes)})")
    print(table(("fact", "value", "status", "reason"), rows))
    return 0
