"""`qbcompiler target selftest`: which kernels this machine may use, and whether a file computes what it must."""

from __future__ import annotations

from pathlib import Path

from qbcompiler.console import table


def run_selftest(mxq: Path | None) -> int:
    """Print the kernel families that passed their tests here; with a file, replay its golden vectors.

    The exit status is 1 when a program computes other bytes than were recorded when it was compiled.
    """
    from qbc.kernels.families import families_in_use

    print(table(("role", "kernel family"), sorted(families_in_use().items())))
    return 0 if mxq is None else _replay(mxq)


def _replay(mxq: Path) -> int:
    from qbc.driver.files import require_file
    from qbc.program.package import GOLDEN
    from qbc.runtime.golden import replay
    from qbc.runtime.load import open_model

    require_file(mxq)
    model = open_model(mxq)
    failed = False
    for mode, variant in model.package.programs:
        vectors = model.package.container.sections.get(f"{GOLDEN}/{mode}/{variant}")
        if vectors is None:
            print(f"mode {mode}, variant {variant}: the file holds no golden vectors")
            continue
        result = replay(model.simulator(mode, variant), vectors)
        failed |= not result.passed
        where = f"record {result.first_difference} differs" if result.first_difference is not None else "outputs differ"
        verdict = f"{result.records} records equal" if result.passed else where
        print(f"mode {mode}, variant {variant}: {verdict}")
    return int(failed)
