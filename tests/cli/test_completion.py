"""Completion, asked from the shells themselves where they are installed."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from qbc.errors import ERROR_CODES
from qbc.pipelines.phases import preset_names
from qbc.targets import target_names
from qbcompiler.cli import main
from qbcompiler.completion_words import Values, command_words
from qbcompiler.parser import build_parser

FILES = ["a.yaml", "my model.onnx"]
CASES: list[tuple[list[str], list[str]]] = [
    (["qua"], ["quantize"]),
    (["compile", "--calib"], ["--calib-data-path"]),
    (["compile", "--target-device", ""], [*FILES, *target_names()]),
    (["compile", "--config-preset", "yolo"], ["yolo_1280", "yolo_640"]),
    (["compile", "--inference-scheme", ""], ["all", "global4", "global8", "multi", "single"]),
    (["compile", "--backend", ""], ["onnx"]),
    (["compile", "--model", "my"], ["my model.onnx"]),
    (["compile", "--dump-ir", ""], ["folder"]),
    (["run", "--repeat", ""], []),
    (["run", "--core-mode", "g"], ["global4", "global8"]),
    (["parse", "--compile-to", ""], ["convert", "import"]),
    (["target", ""], ["list", "selftest", "show"]),
    (["target", "show", "reg"], ["regulus-ra", "regulus-rb", "regulus-rb-usb"]),
    (["target", "show", "--h"], ["--help"]),
    (["explain", "SHAPE"], ["SHAPE_ERROR"]),
    (["completion", ""], ["bash", "fish", "zsh"]),
    (["presets", "--name", ""], list(preset_names())),
    (["info", ""], FILES),
]

BASH = 'source "$0"; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _qbcompiler; printf "%s\\n" "${COMPREPLY[@]}"'
FISH = "source $argv[1]; complete -C (string join -- ' ' (string escape -n -- $argv[2..-2]) $argv[-1])"
# The functions that zsh has only while it completes, as much of them as the script needs.
ZSH = """
compdef() { : }
compset() { : }
compadd() { shift; for word in "$@"; do [[ "$word" == "$last"* ]] && print -r -- "$word"; done }
_files() { for file in *; do [[ "$file" == "$last"* && ( "$1" != -/ || -d "$file" ) ]] && print -r -- "$file"; done }
source "$0"; words=("$@"); CURRENT=$#; last="${words[CURRENT]}"; last="${last#--*=}"; _qbcompiler; true
"""
COMMANDS = {"bash": ["bash", "-c", BASH], "zsh": ["zsh", "-f", "-c", ZSH], "fish": ["fish", "--no-config", "-c", FISH]}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("completion")
    (path / "folder").mkdir()
    for name in FILES:
        (path / name).touch()
    return path


def completed(shell: str, folder: Path, words: list[str], capsys: pytest.CaptureFixture[str]) -> list[str]:
    """Return what a shell offers for the last of `words` behind `qbcompiler`."""
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed")
    script = folder.parent / f"script.{shell}"
    if not script.exists():
        assert main(["completion", shell]) == 0
        script.write_text(capsys.readouterr().out)
    done = subprocess.run(
        [*COMMANDS[shell], str(script), "qbcompiler", *words], capture_output=True, text=True, cwd=folder
    )
    assert not done.stderr, done.stderr
    offered = [line.partition("\t")[0].rstrip("/") for line in done.stdout.splitlines() if line]
    return sorted(offered)


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_scripts_offer_what_fits(shell: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for words, expected in CASES:
        found = completed(shell, folder, words, capsys)
        if "folder" not in expected and "a.yaml" in expected:
            expected = [*expected, "folder"]  # files may lie in it
        assert found == sorted(expected), words


@pytest.mark.parametrize(("shell", "words"), [
    ("bash", ["parse", "--compile-to", "=", "im"]),
    ("bash", ["parse", "--compile-to", "="]),
    ("zsh", ["parse", "--compile-to=im"]),
    ("fish", ["parse", "--compile-to=im"]),
])  # fmt: skip
def test_values_behind_an_equals_sign(
    shell: str, words: list[str], folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert "import" in completed(shell, folder, words, capsys)[-1]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_scripts_hold_everything(shell: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Without the shell: every command, flag and name is in its script."""
    assert main(["completion", shell]) == 0
    script = capsys.readouterr().out
    for command in command_words(build_parser()):
        assert " ".join(command.path) in script
        for flag in command.flags:
            assert flag.removeprefix("--") in script
    assert all(name in script for name in (*target_names(), *preset_names(), *ERROR_CODES))


def test_every_value_is_known() -> None:
    """A flag whose values cannot be told is free text on purpose."""
    free = {
        f"{' '.join(command.path)} {flag}"
        for command in command_words(build_parser())
        for flag, values in command.flags.items()
        if values == Values()
    }
    assert {entry.split()[-1] for entry in free} == {"--input-shape", "--pass-pipeline", "--repeat"}
