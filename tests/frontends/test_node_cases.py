"""A sample of the onnx node cases through the frontend and back (all: `python -m tests.frontends.node_cases`)."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from tests.frontends.node_cases import all_cases, check

STEP = 16


def test_sample_round_trips(tmp_path: Path) -> None:
    outcome: Counter[str] = Counter()
    for case in all_cases()[::STEP]:
        result = check(case, tmp_path)
        assert result in ("same", "refused", "not comparable"), f"{case.name}: {result}"
        outcome[result] += 1
    assert outcome["same"] > 80  # of 118; a quarter of all cases is newer than the pinned opset or has no kernel
