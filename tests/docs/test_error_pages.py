"""Every error code has a page, and the example on it is what the command really says."""

from __future__ import annotations

from pathlib import Path
from typing import NoReturn

import pytest

from qbc.driver.opt import main as qbc_opt
from qbc.error_pages import ERROR_PAGES, page_file, page_text
from qbc.errors import ERROR_CODES
from qbcompiler.cli import main as qbcompiler
from tests.docs.error_files import write_files

ROOT = Path(__file__).parents[2]
COMMANDS = {"qbcompiler": qbcompiler, "qbc-opt": qbc_opt}
EVENTS: dict[str, BaseException] = {"INTERRUPTED": KeyboardInterrupt(), "INTERNAL_ERROR": ZeroDivisionError("a defect")}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("errors")
    write_files(path)
    return path


def test_every_code_has_a_page() -> None:
    assert list(ERROR_PAGES) == list(ERROR_CODES)
    for code, page in ERROR_PAGES.items():
        assert f"[{code}]" in page.message and page.causes.endswith(".")


def test_every_page_is_a_file_and_in_the_index() -> None:
    index = (ROOT / "docs/errors.md").read_text()
    assert {path.stem for path in (ROOT / "docs/errors").iterdir()} == set(ERROR_CODES)
    for code, page in ERROR_PAGES.items():
        text = (ROOT / page_file(code)).read_text()
        assert f"\n# {code}\n" in text and page.message in text and f"](errors/{code}.md)" in index
    assert "](docs/errors.md)" in (ROOT / "README.md").read_text()


@pytest.mark.parametrize("code", list(ERROR_CODES))
def test_the_example_is_what_the_command_says(
    code: str, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(folder)
    if code == "EXTENSION_ERROR":
        monkeypatch.syspath_prepend(folder)
    if code in EVENTS:

        def fail(*_: object, **__: object) -> NoReturn:
            raise EVENTS[code]

        monkeypatch.setattr("qbc.driver.compile.run_pipeline", fail)
    name, *arguments = ERROR_PAGES[code].command.split()
    before = {path.name for path in folder.iterdir()}
    assert COMMANDS[name](arguments) == 1
    errors = capsys.readouterr().err
    start = errors.index("ERROR [" if name == "qbcompiler" else "error[")
    assert errors[start:].rstrip("\n") == ERROR_PAGES[code].message
    assert {path.name for path in folder.iterdir()} == before


def test_explain(capsys: pytest.CaptureFixture[str]) -> None:
    assert qbcompiler(["explain", "shape_error"]) == 0
    shown = capsys.readouterr().out
    assert page_text("SHAPE_ERROR") in shown and page_file("SHAPE_ERROR") in shown
    assert qbcompiler(["explain", "SHAPE_EROR"]) == 1
    assert "SHAPE_ERROR" in capsys.readouterr().err
    assert qbcompiler(["explain"]) == 0
    listed = capsys.readouterr().out
    assert all(code in listed for code in ERROR_CODES)
