"""Contract of the text form: the default pipeline runs pass by pass through files, with the result of one run."""

from __future__ import annotations

from pathlib import Path

import pytest

from qbc.driver.opt import main
from qbc.driver.plan import CompileOptions, make_plan
from qbc.pipelines.grammar import Pipeline
from qbc.pipelines.phases import PHASES
from qbc.pipelines.runner import remaining_pipeline, steps_of
from qbcompiler.demo import digits_model_path

FLAGS = ("--use-random-calib", "--target-device", "aries-rb")


def _opt(source: Path, pipeline: Pipeline, output: Path) -> None:
    assert main([str(source), "-p", str(pipeline), "-o", str(output), *FLAGS]) == 0


@pytest.fixture(scope="module")
def whole() -> Pipeline:
    plan = make_plan(CompileOptions(target="aries-rb"), PHASES)
    return Pipeline(tuple(item for phase in PHASES for item in plan.pipelines[phase].items))


def test_every_pass_through_a_file_of_its_own(whole: Pipeline, tmp_path: Path) -> None:
    at_once = tmp_path / "whole" / "x.mlir"
    at_once.parent.mkdir()
    _opt(Path(digits_model_path()), whole, at_once)
    source = Path(digits_model_path())
    for step in steps_of(whole):
        written = tmp_path / str(step.index) / "x.mlir"
        written.parent.mkdir()
        _opt(source, remaining_pipeline([step]), written)
        source = written
    assert source.read_text() == at_once.read_text()
    assert _weights(source) == _weights(at_once)


def _weights(path: Path) -> set[str]:
    return {blob.name for blob in path.with_suffix(".blobs").iterdir()}
