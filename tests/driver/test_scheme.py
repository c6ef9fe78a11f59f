"""Inference schemes: what a target allows, and what a compilation makes of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from qbc.driver.scheme import SCHEMES, core_mode
from qbc.errors import QBCompilerError
from qbc.targets import target_names

REGULUS = [name for name in target_names() if name.startswith("regulus")]


@pytest.mark.parametrize("scheme", ["single", "multi", "global4", "global8", "all"])
def test_aries_takes_every_scheme(scheme: str) -> None:
    assert core_mode(scheme, "aries-rb") == (scheme, ())


@pytest.mark.parametrize("target", ["aries-rb", None])
def test_global_is_an_old_name(target: str | None) -> None:
    mode, (notice,) = core_mode("global", target)
    assert mode == "global8"
    assert "deprecated" in notice


@pytest.mark.parametrize("target", REGULUS)
@pytest.mark.parametrize("scheme", ["multi", "global4", "global8", "global"])
def test_one_core_refuses_shared_modes(target: str, scheme: str) -> None:
    with pytest.raises(QBCompilerError, match="no such core mode") as caught:
        core_mode(scheme, target)
    assert caught.value.code == "TARGET_ERROR"


@pytest.mark.parametrize("target", REGULUS)
def test_one_core_narrows_all(target: str) -> None:
    mode, (notice,) = core_mode("all", target)
    assert mode == "single"
    assert target in notice


def test_without_a_target_nothing_is_refused() -> None:
    assert [core_mode(scheme, None)[0] for scheme in SCHEMES][:5] == ["single", "multi", "global4", "global8", "all"]


def compile_digits(tmp_path: Path, **arguments: object) -> Path:
    from qbcompiler import mxq_compile
    from qbcompiler.demo import digits_model_path

    output = tmp_path / "digits.mxq"
    given: dict[str, object] = {"model": str(digits_model_path()), "save_path": str(output), "use_random_calib": True}
    mxq_compile(**{**given, **arguments})  # type: ignore[arg-type]
    return output


@pytest.mark.parametrize(
    ("scheme", "target", "modes"),
    [
        ("all", "regulus-rb", ("single",)),
        ("all", None, ("single", "multi", "global4", "global8")),
        ("global", "aries-rb", ("global8",)),
        ("multi", "aries-rb", ("multi",)),
    ],
)
def test_modes_of_the_file(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, scheme: str, target: str | None, modes: tuple[str, ...]
) -> None:
    from qbc.runtime import open_model

    output = compile_digits(tmp_path, inference_scheme=scheme, target_device=target)
    assert open_model(output).package.modes == modes
    told = caplog.text
    assert ("does not load in core mode Auto" in told) == (len(modes) > 1)
    assert ("deprecated" in told) == (scheme == "global")
    assert ("has one core" in told) == (target == "regulus-rb")


def test_target_of_a_snapshot_decides(tmp_path: Path) -> None:
    """The target recorded in a `.mblt` is asked before any work, as one that is given."""
    from qbcompiler import mblt_compile, mxq_compile
    from qbcompiler.demo import digits_model_path

    snapshot = tmp_path / "digits.mblt"
    mblt_compile(str(digits_model_path()), str(snapshot), target_device="regulus-ra")
    with pytest.raises(QBCompilerError, match="regulus-ra has no such core mode") as caught:
        mxq_compile(str(snapshot), save_path=str(tmp_path / "a.mxq"), use_random_calib=True, inference_scheme="multi")
    assert caught.value.code == "TARGET_ERROR"
    assert not (tmp_path / "a.mxq").exists()


def test_configuration_and_pipeline(tmp_path: Path) -> None:
    from qbc.driver.plan import CompileOptions, make_plan

    text = make_plan(CompileOptions(arguments={"inference_scheme": "global4"}, target="aries-rb")).text()
    assert "npu-assign-mode{mode=global4}" in text
    edited = CompileOptions(arguments={"inference_scheme": "multi"}, target="aries-rb", pipeline=text)
    plan = make_plan(edited)
    assert plan.text() == text
    assert "inferenceScheme has no effect: the pipeline text says otherwise" in plan.notices
