"""The tutorials, executed: every block of Python and shell runs in order in one directory; YAML blocks are files.

A block is ```` ```python ````, ```` ```sh ```` (with `fails` after it the command must fail) or ```` ```yaml NAME ````.
"""

from __future__ import annotations

import contextlib
import io
import re
import shlex
from pathlib import Path

import pytest

from qbcompiler.cli import main

TUTORIALS = Path(__file__).parents[2] / "docs" / "tutorials"
BLOCK = re.compile(r"^```(\w+) ?(.*?)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def blocks(name: str) -> list[tuple[str, str, str]]:
    """Return language, remark and text of the blocks of a tutorial; files come first."""
    found = BLOCK.findall((TUTORIALS / f"{name}.md").read_text())
    return sorted(found, key=lambda block: block[0] != "yaml")


def run_shell(text: str, fails: bool) -> None:
    """Run each line; commands of qbcompiler run in this process."""
    for line in text.strip().splitlines():
        words = shlex.split(line)
        if words[0] == "cmp":
            assert Path(words[1]).read_bytes() == Path(words[2]).read_bytes()
            continue
        assert words[0] == "qbcompiler", line
        with contextlib.redirect_stdout(io.StringIO()):
            assert (main(words[1:]) != 0) == fails, line


def run(name: str) -> None:
    """Run all blocks of a tutorial in the working directory."""
    written: set[str] = set()
    for language, remark, text in blocks(name):
        if language == "yaml" and remark:
            Path(remark).write_text(text)
            written.add(remark)
        elif language == "python":
            exec(compile(text, f"{name}.md", "exec"), {"__name__": "__main__"})
        elif language == "sh":
            run_shell(text, fails=remark == "fails")
        for file in written & {"config.yaml"}:  # a command wrote the complete one before; the page goes on with its own
            Path(file).write_text(next(body for _, note, body in blocks(name) if note == file))


@pytest.mark.parametrize("page", sorted(TUTORIALS.glob("*.md")), ids=lambda page: page.stem)
def test_files_are_named_before_they_are_shown(page: Path) -> None:
    """Rendered pages hide what stands behind ```: the sentence before a file names it, before any command reads it."""
    text = page.read_text()
    for block in BLOCK.finditer(text):
        language, name, _ = block.groups()
        if language == "yaml" and name:
            assert f"`{name}`" in text[: block.start()].rstrip().rsplit("\n\n", 1)[-1], name
            readers = [command.start() for command in re.finditer(rf"^qbcompiler .*(config|preset) {name}", text, re.M)]
            assert all(start > block.start() for start in readers), name


@pytest.mark.parametrize("name", sorted(path.stem for path in TUTORIALS.glob("*.md")))
def test_tutorial(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    if name in ("my_config_file", "scripts_from_1_x"):
        first = blocks("first_compile")[0]
        exec(compile(first[2], "first_compile.md", "exec"), {"__name__": "__main__"})
    run(name)
