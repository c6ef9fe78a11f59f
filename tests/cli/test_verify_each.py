"""`--verify-each` takes the same values in both commands; what it is without a value or the option is documented."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from qbc.driver import opt
from qbcompiler.cli import main
from qbcompiler.demo import digits_model_path

FORMS = [(["--verify-each"], True), (["--verify-each=true"], True), (["--verify-each=false"], False)]


@pytest.mark.parametrize(
    ("command", "form", "expected"),
    [(name, *form) for name, default in (("qbc-opt", True), ("parse", False)) for form in [*FORMS, ([], default)]],
)
def test_values(command: str, form: list[str], expected: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: set[bool] = set()

    def record(*_: Any, verify_each: bool, **__: Any) -> None:
        seen.add(verify_each)

    module = "qbc.pipelines.runner" if command == "qbc-opt" else "qbc.driver.compile"  # where each one looks it up
    monkeypatch.setattr(f"{module}.run_pipeline", record)
    model, output = str(digits_model_path()), str(tmp_path / "out.mlir")
    if command == "qbc-opt":
        assert opt.main([model, "-p", "cse", "-o", output, *form]) == 0
    else:
        assert main(["parse", "--model", model, "--compile-to", "import", "--output", output, "--quiet", *form]) == 0
    assert seen == {expected}


@pytest.mark.parametrize("command", ["compile", "parse"])
def test_another_value_is_refused(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([command, "--model", str(digits_model_path()), "--verify-each=perhaps"]) == 1
    assert "ERROR [ARGUMENT_ERROR]" in capsys.readouterr().err
