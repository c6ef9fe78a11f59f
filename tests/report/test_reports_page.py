"""docs/reports.md explains every column that is printed and every key that is written."""

from __future__ import annotations

import re
from dataclasses import fields
from pathlib import Path

import numpy as np

from qbc.report.accuracy import COLUMNS, LayerAccuracy
from qbcompiler import mxq_compile
from qbcompiler.demo import digits_model_path
from qbcompiler.reports import render_reports

PAGE = (Path(__file__).parents[2] / "docs" / "reports.md").read_text(encoding="utf-8")


def test_accuracy_columns() -> None:
    rows = re.findall(r"^\| `([^|]*)` \| .* \| `(\w+)` \|$", PAGE, re.MULTILINE)
    expected = list(zip(COLUMNS, [field.name for field in fields(LayerAccuracy)], strict=True))
    assert rows[: len(expected)] == expected


def test_columns_of_all_printed_tables(tmp_path: Path) -> None:
    samples = np.random.default_rng(0).random((2, 1, 8, 8), dtype=np.float32)
    result = mxq_compile(digits_model_path(), "aries-rb", samples, tmp_path / "a.mxq", inference_scheme="all")
    lines = "\n".join(render_reports(result)).splitlines()
    heads = [line for line, below in zip(lines, lines[1:], strict=False) if set(below) == {"-", " "}]
    assert len(heads) == 3
    columns = {cell for head in heads for cell in re.split(r" {2,}", head.strip())}
    assert {column for column in columns if f"`{column}`" not in PAGE} == set()
    layer = result.reports["latency"]["layers"][0]
    assert {"name", "kind", "us", "bound", "macs"} <= layer.keys()


def test_units_that_bound_a_layer() -> None:
    from qbc.targets.latency import LayerTime

    names = [field.name.removesuffix("_s") for field in fields(LayerTime) if field.name.endswith("_s")]
    assert all(f"`{name}` " in PAGE for name in names)
