"""`qbc-opt`: inputs, outputs, weights beside text, errors."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from qbc.driver.blobs import sidecar
from qbc.driver.opt import main
from qbc.store import BlobStore
from qbcompiler.demo import digits_model_path

WEIGHT = np.arange(24, dtype=np.float32).reshape(2, 3, 4)


@pytest.fixture
def text_with_weight(tmp_path: Path) -> Path:
    """IR text that names one blob, with the blob in the directory beside it."""
    key = BlobStore().put(WEIGHT)
    path = tmp_path / "model.mlir"
    path.write_text(
        "func.func @main() {\n"
        f'  "test.use"() {{weight = #blob.ref<"{key}" : tensor<2x3x4xf32>>}} : () -> () loc("layer/1")\n'
        "  func.return\n}\n"
    )
    sidecar(path).mkdir()
    (sidecar(path) / key).write_bytes(WEIGHT.tobytes())
    return path


def _opt(*arguments: str | Path) -> int:
    return main([str(part) for part in arguments])


def test_names_and_text_survive_writing_and_reading(text_with_weight: Path, tmp_path: Path) -> None:
    first, second = tmp_path / "a.mlir", tmp_path / "b.mlir"
    assert _opt(text_with_weight, "--allow-unregistered-dialect", "-o", first) == 0
    assert _opt(first, "--allow-unregistered-dialect", "-o", second) == 0
    assert first.read_text() == second.read_text()
    assert 'loc("layer/1")' in first.read_text()


def test_files_without_names(text_with_weight: Path, tmp_path: Path) -> None:
    assert _opt(text_with_weight, "--allow-unregistered-dialect", "--no-locations", "-o", tmp_path / "a.mlir") == 0
    text = (tmp_path / "a.mlir").read_text()
    assert "test.use" in text and "loc(" not in text


@pytest.mark.parametrize("flag", ["--run-reproducer", "--split-input-file", "--verify-diagnostics"])
def test_flags_of_text_are_refused_for_models(flag: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert _opt(digits_model_path(), flag) == 1
    assert capsys.readouterr().err.startswith(f"error[ARGUMENT_ERROR]: {flag} reads IR text")


def test_generic_text_is_read_again(text_with_weight: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    generic = tmp_path / "generic.mlir"
    assert _opt(text_with_weight, "--allow-unregistered-dialect", "--print-op-generic", "-o", generic) == 0
    assert _opt(text_with_weight, "--allow-unregistered-dialect") == 0
    direct = capsys.readouterr().out
    assert _opt(generic, "--allow-unregistered-dialect") == 0
    assert capsys.readouterr().out == direct


def test_a_damaged_blob_is_refused_when_weights_are_read(text_with_weight: Path) -> None:
    from qbc.driver.context import make_context
    from qbc.errors import QBCompilerError

    (blob,) = sidecar(text_with_weight).iterdir()
    blob.write_bytes(b"x" + blob.read_bytes()[1:])
    ctx = make_context(blob_directories=[sidecar(text_with_weight)])
    with pytest.raises(QBCompilerError, match="damaged"):
        _ = ctx.store


@pytest.mark.parametrize(
    "content, message",
    [
        ("", "error[PARSE_ERROR]"),
        ("func.func @main( {", "error[PARSE_ERROR]"),
        ('"nosuch.op"() : () -> ()', "error[PARSE_ERROR]"),
        ("func.func @main() -> i32 {\n  func.return\n}", "error[VERIFY_ERROR]"),
        ("\x00\x01", "error[PARSE_ERROR]"),
        ("(" * 5000, "error[PARSE_ERROR]"),
    ],
)
def test_bad_text_is_one_error_without_traceback(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], content: str, message: str
) -> None:
    path = tmp_path / "bad.mlir"
    path.write_text(content)
    assert _opt(path) == 1
    errors = capsys.readouterr().err
    assert errors.startswith(message)
    assert "Traceback" not in errors and len(errors.splitlines()) < 10


@pytest.mark.parametrize("name", ["missing.mlir", "missing.onnx", "missing.mblt", "missing.mxq"])
def test_missing_input(tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str) -> None:
    assert _opt(tmp_path / name) == 1
    assert capsys.readouterr().err.startswith("error[ARGUMENT_ERROR]")


@pytest.mark.parametrize("suffix", [".onnx", ".mblt", ".mxq"])
def test_garbage_in_a_binary_file(tmp_path: Path, capsys: pytest.CaptureFixture[str], suffix: str) -> None:
    path = tmp_path / f"x{suffix}"
    path.write_bytes(bytes(range(256)) * 4)
    assert _opt(path) == 1
    errors = capsys.readouterr().err
    assert errors.startswith("error[INVALID_")
    assert "Traceback" not in errors


def test_unwritable_output_leaves_nothing(text_with_weight: Path, capsys: pytest.CaptureFixture[str]) -> None:
    target = text_with_weight / "below-a-file.mlir"
    assert _opt(text_with_weight, "--allow-unregistered-dialect", "-o", target) == 1
    assert "error[OUTPUT_WRITE_ERROR]" in capsys.readouterr().err


def test_list_passes_names_every_pass(capsys: pytest.CaptureFixture[str]) -> None:
    from qbc.pipelines.registry import all_passes

    assert _opt("--list-passes") == 0
    listed = capsys.readouterr().out
    assert all(f"{cls.name}  ({cls.anchor})" in listed for cls in all_passes())


def test_dialects_load_lazily() -> None:
    from qbc.driver.context import make_context

    ctx = make_context()
    assert not list(ctx.loaded_dialects)
    for name in ("blob", "framework", "mblt", "quant", "npu"):
        assert ctx.get_optional_dialect(name) is not None


@pytest.mark.parametrize(
    "arguments, code",
    [
        (("--nosuch",), "ARGUMENT_ERROR"),
        (("--verify-each=perhaps",), "ARGUMENT_ERROR"),
        (("--numeric-gate=much",), "ARGUMENT_ERROR"),
        (("--print-ir-after=foo",), "PIPELINE_ERROR"),
        (("--print-ir-before=mblt-fuse-bia",), "PIPELINE_ERROR"),
        (("-p", "framework-fold-shapes{max-elements=-1}"), "PIPELINE_ERROR"),
        (("-p", "npu-emit"), "PIPELINE_ERROR"),
    ],
    ids=str,
)
def test_wrong_arguments_are_one_error(
    arguments: tuple[str, ...], code: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "model.mlir"
    path.write_text(
        'func.func @main(%x: tensor<2xf32> {framework.name = "x"}) -> (tensor<2xf32> {framework.name = "y"}) {\n'
        "  %0 = framework.Relu(%x) : (tensor<2xf32>) -> tensor<2xf32>\n  func.return %0 : tensor<2xf32>\n}\n"
    )
    assert _opt(path, *arguments) == 1
    captured = capsys.readouterr()
    assert captured.err.startswith(f"error[{code}]: ") and captured.out == ""
