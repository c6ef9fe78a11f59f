"""`qbc-opt` on text that is no IR, on bytes, and on nesting without end."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from qbc.driver.opt import main
from qbc.errors import ERROR_CODES
from tests.robustness.conftest import Files

Refused = Callable[..., str]
TEXTS = {
    "words": "this is not a module",
    "unclosed": "func.func @main() {",
    "unknown operation": '"no.such"() : () -> ()',
    "unknown dialect": "nope.op",
    "undefined value": "func.func @main() {\n  mblt.relu %0 : tensor<1xf32> -> tensor<1xf32>\n  func.return\n}",
    "wrong type": "func.func @main(%0: tensor<1xf32>) {\n  mblt.relu %0 : i32 -> i32\n  func.return\n}",
    "missing properties": "func.func @main(%x: tensor<1x8x8x3xf32>) {\n"
    "  %0 = mblt.max_pool2d %x {} : tensor<1x8x8x3xf32> -> tensor<1x4x4x3xf32>\n  func.return\n}",
    "huge number": "func.func @main() -> tensor<" + "9" * 5000 + "xf32> {\n}",
    "size beyond 64 bits": "func.func @main() -> tensor<" + "9" * 22 + "xf32> {\n}",
    "bytes that are not hex": 'module attributes {a = #framework.raw<TENSOR, "zz">} {}',
    "half a byte": 'module attributes {a = !framework.raw_type<"0">} {}',
    "huge string": '"' + "x" * 100_000 + '"',
    "control characters": "\x00\x01\x1b[31m",
    "other scripts": "функция.main(名前)",
    "deep regions": '"builtin.module"() ({' * 20_000,
    "deep attributes": "module attributes {a = " + "[" * 20_000,
    "deep types": "func.func @main(%0: " + "tuple<" * 20_000,
    "many operations": "func.func @main() {\n" + "  func.call @main() : () -> ()\n" * 3000,
    "a bad blob": 'func.func @main() {\n  %0 = mblt.constant {value = #blob.inline<"zz" : tensor<1xf32>>}',
    "a short blob": "func.func @main() {\n"
    '  %0 = mblt.constant {value = #blob.inline<"00" : tensor<4xf32>>} : tensor<4xf32>\n  func.return\n}',
}


@pytest.fixture
def refused(capsys: pytest.CaptureFixture[str]) -> Refused:
    """Run `qbc-opt`, which must fail; returns stderr."""

    def run(*arguments: object) -> str:
        assert main([str(part) for part in arguments]) == 1
        captured = capsys.readouterr()
        codes = re.findall(r"^error\[([A-Z_]+)\]: ", captured.err, re.MULTILINE)
        assert codes and set(codes) <= set(ERROR_CODES) - {"INTERNAL_ERROR"}, captured.err[:500]
        assert "Traceback" not in captured.err and len(captured.err) < 4000
        assert captured.out == ""
        return captured.err

    return run


@pytest.mark.parametrize("kind", TEXTS)
def test_text(refused: Refused, tmp_path: Path, kind: str) -> None:
    path = tmp_path / "bad.mlir"
    path.write_text(TEXTS[kind], encoding="utf-8")
    refused(path, "--pass-pipeline", "canonicalize")


@pytest.mark.parametrize("content", [b"\xff\xfe\x00", bytes(range(256)), b"\x80" * 5000])
def test_bytes(refused: Refused, tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "bad.mlir"
    path.write_bytes(content)
    assert "ARGUMENT_ERROR" in refused(path)


def test_places(refused: Refused, files: Files, tmp_path: Path) -> None:
    for place in (tmp_path, tmp_path / "nowhere.mlir", tmp_path / ("x" * 5000), "a\0b"):
        assert "ARGUMENT_ERROR" in refused(place)
    (tmp_path / "file").write_text("")
    assert "OUTPUT_WRITE_ERROR" in refused(files.mblt, "-o", tmp_path / "file" / "x.mlir")
    assert "OUTPUT_WRITE_ERROR" in refused(files.mblt, "-o", tmp_path)


@pytest.mark.parametrize(
    "pipeline",
    [
        "no-such-pass",
        "canonicalize(",
        "((((" * 5000,
        "canonicalize{x=1}",
        "a,,b",
        "quant-collect",
        "builtin.module()()",
    ],
)
def test_pipelines(refused: Refused, files: Files, pipeline: str) -> None:
    refused(files.mblt, "--pass-pipeline", pipeline)


def test_snapshots(refused: Refused, files: Files, tmp_path: Path) -> None:
    for origin in (files.mblt, files.mxq, files.model):
        path = tmp_path / f"cut{origin.suffix}"
        path.write_bytes(origin.read_bytes()[:900])
        refused(path)
