"""Checks of the files of a run before it begins: no output replaces an input, and names say what is inside."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from qbc.atomic import check_writable, is_device
from qbc.errors import ArgumentError

# The suffixes of a file that ends a compilation, by the last phase.
PHASE_SUFFIXES: dict[str, tuple[str, ...]] = {
    "import": (".mlir",),
    "convert": (".mblt", ".mlir"),
    "quantize": (".mlir",),
    "lower": (".mlir",),
    "encode": (".mxq",),
}
KINDS = {
    ".onnx": "an ONNX model",
    ".mblt": "a parsed graph",
    ".mlir": "IR text",
    ".mxq": "an executable",
}


def check_files(inputs: Sequence[Any], outputs: Sequence[Any]) -> None:
    """Raise ARGUMENT_ERROR when an output is a file that the run reads, or when two outputs are one file.

    Entries that are no paths (None, arrays in memory) and devices such as /dev/null are passed over. Files are compared
    as files, not as names.
    """
    read = [Path(entry) for entry in inputs if isinstance(entry, str | Path)]
    written: list[Path] = []
    for entry in outputs:
        if not isinstance(entry, str | Path):
            continue
        path = Path(entry)
        if is_device(path):
            continue
        if any(_same(path, other) for other in read):
            raise ArgumentError(f"{str(path)!r} is read by this run and cannot be written", hint="name another file")
        if any(_same(path, other) for other in written):
            raise ArgumentError(f"{str(path)!r} is named for two outputs", hint="name different files")
        written.append(path)


def check_suffix(path: Path, allowed: Sequence[str], notice: Callable[[str], None]) -> None:
    """Raise ARGUMENT_ERROR when the suffix of an output promises another format; a suffix of no format is a notice."""
    suffix = path.suffix.lower()
    if suffix in allowed or is_device(path):
        return
    content = KINDS[allowed[0]]
    if suffix in KINDS:
        raise ArgumentError(
            f"{str(path)!r} names {KINDS[suffix]}, this run writes {content}",
            hint=f"name a file with the suffix {' or '.join(allowed)}",
        )
    notice(f"{str(path)!r} holds {content}: commands know it by the suffix {allowed[0]}, which it lacks")


def check_output(source: str | Path, output: Path, suffix: str) -> None:
    """Check the one output of a command that reads `source`: another file, with the suffix, that can be written."""
    check_files([source], [output])
    if output.suffix.lower() != suffix:
        raise ArgumentError(f"{str(output)!r} has not the suffix {suffix}", hint="name a file that has it")
    check_writable(output)


def _same(first: Path, second: Path) -> bool:
    try:
        return os.path.samefile(first, second)
    except ValueError:  # text that no file can be called; whoever opens it says so
        return False
    except OSError:  # one of them does not exist yet
        return os.path.realpath(first) == os.path.realpath(second)
