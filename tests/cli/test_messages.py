"""Small things that people read: lists on one line, numbers with nouns, what objects print."""

from __future__ import annotations

from pathlib import Path

import pytest

import qbcompiler
from qbc.driver.compile import parse
from qbc.errors import counted
from qbcompiler.channel import one_line
from qbcompiler.cli import main
from tests.robustness.zoo import write_zoo


def test_entries_of_a_list_stay_apart_on_one_line() -> None:
    assert one_line("2 fail:\n  a: no form\n  b: no form") == "2 fail: a: no form; b: no form"
    assert one_line("2 fail:\n  A rule.\n    a\n    b") == "2 fail: A rule. a; b"
    assert one_line("") == ""


def test_nouns_agree_with_their_number() -> None:
    assert [counted(number, "input") for number in (0, 1, 2)] == ["0 inputs", "1 input", "2 inputs"]


def test_the_result_of_a_compilation_prints_on_one_line(tmp_path: Path) -> None:
    result = parse(write_zoo(tmp_path / "m.onnx"), tmp_path / "m.mblt")
    assert "m.mblt" in repr(result) and len(repr(result)) < 300


def test_dir_shows_what_users_call() -> None:
    names = set(dir(qbcompiler))
    assert {"mxq_compile", "__version__"} <= names
    assert not names & {"Any", "TYPE_CHECKING", "importlib", "annotations"}


def test_the_columns_of_the_accuracy_table_are_explained(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model = write_zoo(tmp_path / "m.onnx")
    assert main(["compile", "--model", str(model), "--output", str(tmp_path / "m.mxq"), "--use-random-calib"]) == 0
    out = capsys.readouterr().out

    assert "largest error in steps of the scale" in out


def test_a_missing_weight_names_its_layer(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from qbc.driver.opt import main as opt

    text = tmp_path / "m.mlir"
    assert opt([str(write_zoo(tmp_path / "m.onnx")), "-p", "convert-framework-to-mblt", "-o", str(text)]) == 0
    moved = tmp_path / "other.mlir"
    text.rename(moved)
    assert opt([str(moved), "-p", "convert-mblt-to-quant,quant-assign-bits,quant-collect", "--use-random-calib"]) == 1
    shown = capsys.readouterr().err
    assert "error[MISSING_BLOB]" in shown and "[node '" in shown and "  op: " in shown


def test_all_violations_are_told_at_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = tmp_path / "m.mlir"
    text.write_text(
        "func.func @main(%x: tensor<2x3xf32>) -> tensor<2x4xf32> {\n"
        '  %0 = framework.Relu(%x) : (tensor<2x3xf32>) -> tensor<2x4xf32> loc("one")\n'
        '  %1 = framework.Tanh(%0) : (tensor<2x4xf32>) -> tensor<2x5xf32> loc("two")\n'
        "  func.return %0 : tensor<2x4xf32>\n}\n"
    )
    assert main(["compile", "--model", str(text), "--output", str(tmp_path / "m.mxq"), "--use-random-calib"]) == 1
    shown = capsys.readouterr().err.splitlines()[-1]
    assert shown.startswith("ERROR [VERIFY_ERROR]: 2 violations: 'framework.Relu' op result has shape 2x4")
    assert "[node 'one']; 'framework.Tanh' op result has shape 2x5, its operands give 2x4 [node 'two']" in shown
