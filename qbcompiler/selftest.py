"""`qbcompiler target selftest`: which kernels this machine may use, and whether a file computes what it must."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from qbcompiler.channel import channel
from qbcompiler.console import table


def run_selftest(mxq: Path | None) -> int:
    """Print the kernel families that passed their tests here; with a file, replay its golden vectors.

    The exit status is 1 when a program computes other bytes than were recorded when it was compiled.
    """
    from qbc.kernels.families import families_in_use

    families = dict(sorted(families_in_use().items()))
    replays = [] if mxq is None else _replay(mxq)
    data = {"kernels": families, "programs": replays}
    lines = [table(("role", "kernel family"), list(families.items())), *map(_line, replays)]
    channel().result("target selftest", data, "\n".join(lines))
    return int(any(entry["passed"] is False for entry in replays))


def _line(entry: dict[str, Any]) -> str:
    where = f"mode {entry['mode']}, variant {entry['variant']}"
    return f"{where}: {entry['verdict']}"


def _replay(mxq: Path) -> list[dict[str, Any]]:
    """Run every program of the file on its golden vectors; `passed` is None where it holds none."""
    from qbc.driver.files import require_file
    from qbc.program.package import GOLDEN
    from qbc.runtime.golden import replay
    from qbc.runtime.load import open_model

    require_file(mxq)
    model = open_model(mxq)
    entries: list[dict[str, Any]] = []
    for mode, variant in model.package.programs:
        vectors = model.package.container.sections.get(f"{GOLDEN}/{mode}/{variant}")
        entry: dict[str, Any] = {"mode": mode, "variant": variant, "passed": None}
        entries.append(entry)
        if vectors is None:
            entry["verdict"] = "the file holds no golden vectors"
            continue
        result = replay(model.simulator(mode, variant), vectors)
        entry["passed"] = bool(result.passed)
        where = f"record {result.first_difference} differs" if result.first_difference is not None else "outputs differ"
        entry["verdict"] = f"{result.records} records equal" if result.passed else where
    return entries
