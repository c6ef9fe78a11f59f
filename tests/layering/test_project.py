"""Rules of the project as a whole: contracts between folders, packages, generated pages, error codes."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("qbc", "qbcompiler")
LAZY_FOLDERS = ("qbc/dialects", "qbc/passes", "qbc/pipelines", "qbc/driver", "qbcompiler")
SETTINGS = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]
HEAVY = set(SETTINGS["ruff"]["lint"]["flake8-tidy-imports"]["banned-module-level-imports"])


def _sources(*folders: str) -> list[Path]:
    return [path for folder in folders for path in sorted((ROOT / folder).rglob("*.py"))]


def test_import_contracts() -> None:
    """The contracts of pyproject.toml hold; test_imports.py shows that they catch violations."""
    command = [str(Path(sys.executable).with_name("lint-imports")), "--no-cache"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize("folder", LAZY_FOLDERS)
def test_heavy_packages_are_imported_inside_functions(folder: str) -> None:
    found = []
    for path in _sources(folder):
        for statement in ast.parse(path.read_text()).body:
            names = [alias.name for alias in statement.names] if isinstance(statement, ast.Import) else []
            if isinstance(statement, ast.ImportFrom) and statement.module:
                names = [statement.module]
            found.extend(f"{path}: {name}" for name in names if name.split(".")[0] in HEAVY)
    assert not found


def test_every_folder_with_code_is_a_package() -> None:
    folders = {path.parent for path in _sources(*PACKAGES)}
    assert [folder for folder in sorted(folders) if not (folder / "__init__.py").exists()] == []


def test_every_data_file_is_package_data() -> None:
    patterns = SETTINGS["setuptools"]["package-data"]["*"]
    files = [path for package in PACKAGES for path in (ROOT / package).rglob("*") if path.is_file()]
    data = [path for path in files if path.suffix not in (".py", ".pyc", ".nbc", ".nbi")]
    assert data
    assert [path for path in data if not any(path.match(pattern) for pattern in patterns)] == []


def test_root_links_show_the_architecture() -> None:
    for name in ("dialects", "passes", "pipelines"):
        assert (ROOT / name).is_symlink()
        assert (ROOT / name).resolve() == ROOT / "qbc" / name


def test_generated_pages_fit_the_code() -> None:
    done = subprocess.run([sys.executable, "docs/generate.py", "--check"], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_every_error_code_that_is_raised_is_documented() -> None:
    from qbc.errors import ERROR_CODES

    used = {code for path in _sources(*PACKAGES) for code in re.findall(r'code="([A-Z_]+)"', path.read_text())}
    assert used <= set(ERROR_CODES)


def test_a_pass_has_a_lit_test() -> None:
    from qbc.pipelines.registry import all_passes

    text = "\n".join(path.read_text() for path in (ROOT / "lit_tests").rglob("*.mlir"))
    without = [cls.name for cls in all_passes() if not re.search(rf"(?<![\w-]){re.escape(cls.name)}(?![\w-])", text)]
    assert not without


def test_preset_pipelines_are_complete_and_use_known_passes() -> None:
    from qbc.pipelines.grammar import parse_pipeline
    from qbc.pipelines.phases import PHASES, load_preset, preset_names
    from qbc.pipelines.registry import complete

    for name in preset_names():
        for phase in PHASES:
            text = str(complete(load_preset(name).pipeline(phase)))
            assert str(complete(parse_pipeline(text))) == text


def test_commands_of_the_readme_exist() -> None:
    from qbcompiler.parser import build_parser

    text = (ROOT / "README.md").read_text()
    blocks = "\n".join(re.findall(r"```sh\n(.*?)```", text, re.DOTALL))
    for line in re.findall(r"^qbcompiler (.*)$", blocks, re.MULTILINE):
        build_parser().parse_args(line.split())


def test_pipelines_in_the_docs_are_valid() -> None:
    from qbc.pipelines.grammar import parse_pipeline
    from qbc.pipelines.registry import complete

    text = "\n".join((ROOT / name).read_text() for name in ("README.md", "docs/pipelines.md"))
    pipelines = re.findall(r"--pass-pipeline='([^']*)'", text)
    assert len(pipelines) >= 4
    for pipeline in pipelines:
        complete(parse_pipeline(pipeline))


def test_options_in_the_docs_exist() -> None:
    from qbc.driver.opt import _parser as opt_parser
    from qbcompiler.parser import build_parser as cli_parser

    known = set(opt_parser().format_help().replace(",", " ").split())
    actions = [action for action in cli_parser()._actions if action.choices]
    for command in actions[0].choices.values():  # type: ignore[union-attr]  # the sub-commands
        known |= set(command.format_help().replace(",", " ").split())
    known = {word.strip("[]") for word in known}
    named = {option.split("=")[0] for option in re.findall(r"`(--[a-z-]+)", (ROOT / "docs/pipelines.md").read_text())}
    assert named <= known, sorted(named - known)
