"""The TOSA reference model as a foreign oracle, in a virtual environment of its own: it pins an older numpy."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import venv
from collections.abc import Sequence
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from tests.models.fetch import cache_directory

PACKAGE = "tosa-tools==2026.8.0"
TIMEOUT_S = 600


@cache
def environment() -> Path:
    """Return the virtual environment with the TOSA tools; skips when the package cannot be installed here."""
    root = cache_directory() / "tosa-venv"
    marker = root / "ready"
    if marker.exists():
        return root
    if sys.version_info[:2] != (3, 11) or sys.platform != "linux":
        pytest.skip(f"{PACKAGE} has wheels for Python 3.11 on Linux only")
    venv.create(root, with_pip=True, clear=True)
    command = [str(root / "bin" / "python"), "-m", "pip", "install", "--quiet", PACKAGE]
    done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT_S)
    if done.returncode:
        pytest.skip(f"{PACKAGE} cannot be installed: {done.stderr.strip().splitlines()[-1:]}")
    marker.touch()
    return root


def tensor_type(shape: Sequence[int], element: str) -> str:
    """MLIR text of a tensor type."""
    return f"tensor<{''.join(f'{n}x' for n in shape)}{element}>"


class Program:
    """One TOSA function: constants and operations as text, run by the reference model."""

    def __init__(self, inputs: Sequence[np.ndarray]) -> None:
        self.inputs = [np.ascontiguousarray(array) for array in inputs]
        self.types = {f"x{i}": _type_of(array) for i, array in enumerate(self.inputs)}
        self.lines: list[str] = []

    def constant(self, array: np.ndarray) -> str:
        """Add a `tosa.const` and return its name."""
        name = f"c{len(self.lines)}"
        self.types[name] = _type_of(array)
        value = f"dense<{array.tolist()}> : {self.types[name]}"
        self.lines.append(f'%{name} = "tosa.const"() {{values = {value}}} : () -> {self.types[name]}')
        return name

    def op(self, name: str, operands: Sequence[str], attributes: str, shape: Sequence[int], element: str) -> str:
        """Add an operation and return the name of its result."""
        result = f"v{len(self.lines)}"
        self.types[result] = tensor_type(shape, element)
        names = ", ".join(f"%{operand}" for operand in operands)
        types = ", ".join(self.types[operand] for operand in operands)
        extra = f" {{{attributes}}}" if attributes else ""
        self.lines.append(f"%{result} = tosa.{name} {names}{extra} : ({types}) -> {self.types[result]}")
        return result

    def run(self, result: str) -> np.ndarray:
        """Serialize and execute; returns the output array."""
        arguments = ", ".join(f"%x{i}: {self.types[f'x{i}']}" for i in range(len(self.inputs)))
        body = "\n  ".join(self.lines)
        kind = self.types[result]
        text = f"func.func @main({arguments}) -> {kind} {{\n  {body}\n  return %{result} : {kind}\n}}\n"
        with tempfile.TemporaryDirectory() as scratch:
            return self._execute(text, Path(scratch))

    def _execute(self, text: str, scratch: Path) -> np.ndarray:
        root = environment()
        (scratch / "x.mlir").write_text(text)
        schema = next(root.glob("lib/python3.11/site-packages/bin/tosa.fbs"))
        _run(
            root / "bin" / "tosa-opt",
            "--tosa-attach-target=profiles=pro_int,pro_fp level=8k extensions=int16,int4",
            str(scratch / "x.mlir"),
            "--tosa-serialize",
            f"--tosa-flatbuffer-filename={scratch / 'x.tosa'}",
            f"--tosa-flatbuffer-schema={schema}",
        )
        for index, array in enumerate(self.inputs):
            np.save(scratch / f"in{index}.npy", array)
        indices = range(len(self.inputs))
        names = ["--ifm_name", ",".join(f"TosaInput_{i}" for i in indices)]
        names += ["--ifm_file", ",".join(f"in{i}.npy" for i in indices)]
        directory = str(scratch)
        output = ["--ofm_name", "TosaOutput_0", "--ofm_file", "out.npy"]
        tail = ["--flatbuffer_dir", directory, "--output_dir", directory, *names, *output]
        _run(root / "bin" / "tosa_reference_model", "--tosa_file", "x.tosa", *tail)
        return np.load(scratch / "out.npy")


def _type_of(array: np.ndarray) -> str:
    return tensor_type(array.shape, f"i{array.dtype.itemsize * 8}")


def _run(program: Path, *arguments: str) -> None:
    done = subprocess.run([str(program), *arguments], capture_output=True, text=True, timeout=60)
    if done.returncode:
        raise AssertionError(f"{program.name} failed:\n{done.stderr[-2000:]}{done.stdout[-500:]}")
