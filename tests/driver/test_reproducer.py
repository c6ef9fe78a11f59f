"""Files of `--crash-reproducer` can be finished: they hold all that remained to be run, for the same program."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from qbc.driver.compile import compile_model
from qbc.driver.opt import main
from qbc.driver.plan import CompileOptions
from qbc.errors import QBCompilerError
from qbc.passes.mblt.mblt_fuse_bias import FuseBiasPass
from qbc.passes.npu.npu_assign_order import NpuAssignOrder
from qbc.passes.quant.quant_bias_correction import QuantBiasCorrection
from qbc.store.store import content_key
from qbcompiler.demo import digits_model_path

MODEL = digits_model_path()


@pytest.fixture(scope="module")
def expected_code(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Key of the packed program of a compilation without a failure."""
    options = CompileOptions(target="regulus-ra", random_calibration=True)
    result = compile_model(MODEL, tmp_path_factory.mktemp("whole") / "x.mxq", options)
    (image,) = result.reports["images"].values()
    return content_key(image.code)


def _break(self: Any, op: Any, ctx: Any) -> None:
    raise ZeroDivisionError("a defect")


@pytest.mark.parametrize("failing", [FuseBiasPass, QuantBiasCorrection, NpuAssignOrder])
def test_a_reproducer_of_a_compilation_ends_in_the_program(
    failing: type[Any], expected_code: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    crash = tmp_path / "crash.mlir"
    options = CompileOptions(target="regulus-ra", random_calibration=True, crash_reproducer=crash)
    with monkeypatch.context() as patched, pytest.raises(QBCompilerError, match="a defect") as caught:
        patched.setattr(failing, "run", _break)
        compile_model(MODEL, tmp_path / "x.mxq", options)
    assert caught.value.hint == f"qbc-opt {crash} --run-reproducer runs it again"
    header = crash.read_text().splitlines()
    assert failing.name in header[0] and "npu-emit" in header[0]
    assert header[1] == "// target: regulus-ra"
    assert main([str(crash), "--run-reproducer", "--use-random-calib", "-o", str(tmp_path / "end.mlir")]) == 0
    assert f'code = #blob.ref<"{expected_code}"' in (tmp_path / "end.mlir").read_text()


def test_a_target_that_is_not_known_here_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "crash.mlir"
    path.write_text("// qbc-opt reproducer: builtin.module()\n// target: nosuch\nfunc.func @main() { func.return }\n")
    assert main([str(path), "--run-reproducer"]) == 0
    assert "the run was for nosuch, which is no device known here" in capsys.readouterr().err


def test_violations_of_rules_name_the_reproducer_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def retype(self: Any, op: Any, ctx: Any) -> None:
        for inner in op.walk():
            if inner.name == "mblt.conv2d":
                inner.properties["strides"] = inner.properties["padding"]

    monkeypatch.setattr(FuseBiasPass, "run", retype)
    crash = tmp_path / "crash.mlir"
    pipeline = "convert-framework-to-mblt,mblt-fuse-bias"
    assert main([str(MODEL), "-p", pipeline, "--crash-reproducer", str(crash)]) == 1
    errors = capsys.readouterr().err
    assert "error[VERIFY_ERROR]" in errors and f"qbc-opt {crash} --run-reproducer runs it again" in errors
