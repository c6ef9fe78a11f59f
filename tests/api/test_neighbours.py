"""The vendor's package in the same environment: one warning at import, one notice of the command line."""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import qbcompiler
from qbcompiler.neighbours import conflict

HEAVY = ("numpy", "torch", "yaml", "pydantic", "rich", "importlib.metadata", "email")


def install(
    directory: Path, name: str = "qbcompiler-1.4.0+aries2.dist-info", commands: str = "qbcompiler = x:main"
) -> Path:
    """Leave what an installed package leaves: its metadata directory."""
    metadata = directory / name
    metadata.mkdir(parents=True)
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: qbcompiler\nVersion: 1.4.0\n")
    if commands:
        (metadata / "entry_points.txt").write_text(f"[console_scripts]\n{commands}\n")
    return directory


def python(*arguments: str, path: Path | None = None, **environment: str) -> subprocess.CompletedProcess[str]:
    whole = {**os.environ, **environment, "PYTHONPATH": "" if path is None else str(path)}
    return subprocess.run([sys.executable, *arguments], capture_output=True, text=True, check=True, env=whole)


def test_importing_warns_once_and_stays_light(tmp_path: Path) -> None:
    code = f"import qbcompiler, sys; import qbcompiler.configs\nprint([m for m in {HEAVY!r} if m in sys.modules])"
    done = python("-c", code, path=install(tmp_path / "site"))
    assert done.stdout == "[]\n"
    assert done.stderr.count("NeighbourWarning") == 1
    assert f"another package named qbcompiler is installed here (1.4.0+aries2 in {tmp_path / 'site'})" in done.stderr
    assert "install them in separate environments" in done.stderr
    assert "<string>:1" in done.stderr  # the line that imports
    assert python("-W", "ignore", "-c", "import qbcompiler", path=tmp_path / "site").stderr == ""


def test_alone_is_silent(tmp_path: Path) -> None:
    assert python("-c", "import qbcompiler").stderr == ""
    assert python("-m", "qbcompiler", "--version").stderr == ""


def test_the_command_line_gives_one_notice(tmp_path: Path) -> None:
    site = install(tmp_path / "site")
    for arguments in (["--version"], ["explain", "CONFIG_ERROR"], ["--help"]):
        done = python("-m", "qbcompiler", *arguments, path=site)
        assert done.stderr.count("another package named qbcompiler") == 1
        assert done.stderr.startswith("notice: ") and done.stderr.count("\n") == 1
    script = Path(sys.executable).with_name("qbcompiler")
    done = python(str(script), "--version", path=site)
    assert done.stderr.startswith("notice: another package") and done.stderr.count("\n") == 1


def test_json_lines_have_it_as_an_event(tmp_path: Path) -> None:
    done = python("-m", "qbcompiler", "--version", path=install(tmp_path / "site"), QBCOMPILER_JSONL="1")
    first = json.loads(done.stdout.splitlines()[0])
    assert (first["kind"], first["level"]) == ("log", "notice") and "another package" in first["message"]
    assert done.stderr == ""


@pytest.mark.parametrize(
    "name, commands, found",
    [
        ("qbcompiler-1.1.2.dist-info", "", True),
        ("qbcompiler-1.1.2.egg-info", "qbcompiler = x:main", True),
        ("qbcompiler.egg-info", "", True),
        ("qbcompiler-9.9.9.dist-info", "qbc-opt = qbc.driver.__main__:main", False),
        ("qbcompiler.egg-info", "qbc-opt = qbc.driver.__main__:main", False),
        ("qbcompiler_extras-1.0.dist-info", "", False),
        ("qbcompiler-data", "", False),
    ],
)
def test_what_counts_as_another_package(tmp_path: Path, name: str, commands: str, found: bool) -> None:
    install(tmp_path, name, commands)
    assert (conflict([str(tmp_path), str(tmp_path / "nosuch"), ""]) is not None) == found


def test_check_lists_the_problem(tmp_path: Path) -> None:
    done = python("-m", "qbcompiler", "check", path=install(tmp_path / "site"), QBCOMPILER_JSONL="1")
    (result,) = [event for event in map(json.loads, done.stdout.splitlines()) if event["kind"] == "result"]
    assert "separate environments" in result["data"]["problems"][0]


def test_the_version_is_that_of_this_package(tmp_path: Path) -> None:
    code = "import qbcompiler\nfrom qbc.artifact.manifest import tool_versions\n"
    code += "print(qbcompiler.__version__, tool_versions()['qbcompiler'])"
    alone = python("-c", code).stdout
    assert python("-c", code, path=install(tmp_path / "site")).stdout == alone != "1.4.0 1.4.0\n"


def test_type_checkers_see_the_members() -> None:
    """The imports for type checkers and the table of lazy members name the same."""
    tree = ast.parse(Path(qbcompiler.__file__).read_text())
    (block,) = [node for node in tree.body if isinstance(node, ast.If)]
    imports = [node for node in block.body if isinstance(node, ast.ImportFrom)]
    assert {node.module: tuple(sorted(name.name for name in node.names)) for node in imports} == {
        module: tuple(sorted(names)) for module, names in qbcompiler._MEMBERS.items()
    }
    assert sorted(qbcompiler.__all__) == sorted([*qbcompiler._HOMES, "__version__"])
