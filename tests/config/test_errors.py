"""One error for wrong settings, whatever way they come: an exception of ours, a ValueError, and one of pydantic."""

from __future__ import annotations

import contextlib
import copy
import json
import pickle
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pydantic
import pytest

from qbc.config import (
    CalibrationConfig,
    CompileConfig,
    ConfigSection,
    ConfigValidationError,
    HessianQuantConfig,
    OptqConfig,
    QuantizationConfig,
)
from qbc.config.checks import checked
from qbc.config.section import section_class
from qbc.errors import ConfigError, QBCompilerError
from qbcompiler import ConfigError as ExportedError

WRONG = {"calibration": {"mode": 7}}
TEXT = "mode: input should be 0, 1 or 2, found 7 (int)"


def _assign() -> None:
    CompileConfig().calibration.mode = 7  # type: ignore[assignment]


def _from_file(directory: Path) -> None:
    (directory / "a.json").write_text(json.dumps(WRONG))
    CompileConfig.from_file(directory / "a.json")


@pytest.mark.parametrize(
    "attempt, head",
    [
        (lambda _: CalibrationConfig(mode=7), "CalibrationConfig: "),  # type: ignore[arg-type]
        (lambda _: CalibrationConfig.model_validate({"mode": 7}), "CalibrationConfig: "),
        (lambda _: CompileConfig(**WRONG), "calibration."),  # type: ignore[arg-type]
        (lambda _: CompileConfig.model_validate(WRONG), "calibration."),
        (lambda _: CompileConfig.model_validate_json(json.dumps(WRONG)), "calibration."),
        (lambda _: checked(CompileConfig, WRONG, where="x.yaml"), "x.yaml: calibration."),
        (lambda _: _assign(), "CalibrationConfig: "),
        (_from_file, "a.json: calibration."),
    ],
)
def test_every_way_raises_the_same_error(attempt: Callable[[Path], Any], head: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigValidationError) as caught:
        attempt(tmp_path)
    error = caught.value
    assert isinstance(error, QBCompilerError | ValueError) and isinstance(error, pydantic.ValidationError)
    assert isinstance(error, ConfigError) and ConfigError is ExportedError
    assert error.code == "CONFIG_ERROR"
    assert str(error).endswith(f"{head}{TEXT}")


def test_paths_are_keys_of_files() -> None:
    images: dict[str, Any] = {
        "pipeline": [{"op": "letterbox", "height": 8, "width": 8, "padValue": 300}, {"op": "colorConvert", "mode": 3}],
        "inputConfigs": {"x": {"pipeline": [{"op": "normalize", "scaleToUint8": "often"}]}},
    }
    with pytest.raises(ConfigValidationError) as caught:
        CompileConfig(preprocessing=images, calibration={"histogram": {"num_bins": 0}})  # type: ignore[arg-type]
    paths = [text.partition(": ")[0] for text in str(caught.value).split("; ")]
    assert paths == [
        "preprocessing.pipeline.0.letterbox.padValue",
        "preprocessing.pipeline.1.colorConvert.mode",
        "preprocessing.inputConfigs.x.pipeline.0.normalize.scaleToUint8",
        "calibration.histogram.numBins",
    ]


def test_details_are_those_of_pydantic() -> None:
    plain: Any = pydantic.create_model("Plain", mode=(CalibrationConfig.model_fields["mode"].annotation, 0))
    with pytest.raises(pydantic.ValidationError) as ours:
        CalibrationConfig(mode=7)  # type: ignore[arg-type]
    with pytest.raises(pydantic.ValidationError) as theirs:
        plain(mode=7)
    assert ours.value.errors() == theirs.value.errors()
    assert ours.value.error_count() == 1 and ours.value.title == "CalibrationConfig"


def test_errors_can_be_copied() -> None:
    with pytest.raises(ConfigValidationError) as caught:
        checked(CalibrationConfig, {"mode": 7, "metod": 1}, where="x.yaml")
    for again in (copy.copy(caught.value), pickle.loads(pickle.dumps(caught.value))):
        assert type(again) is ConfigValidationError
        assert str(again) == str(caught.value) and again.errors() == caught.value.errors()


@pytest.mark.parametrize(
    "name, message",
    [
        ("calibraton", "CompileConfig has no field 'calibraton' (did you mean 'calibration'?)"),
        ("bufferMode", "CompileConfig has no field 'bufferMode' (did you mean 'buffer_mode'?)"),
        ("zzz", "CompileConfig has no field 'zzz'"),
    ],
)
def test_assigning_an_unknown_name(name: str, message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        setattr(CompileConfig(), name, 1)
    assert str(caught.value) == message


def test_a_refused_assignment_changes_nothing() -> None:
    config = HessianQuantConfig(group_size=32)
    with pytest.raises(ConfigValidationError, match="groupSize needs the solver symmetric"):
        config.rescomp = True
    assert config == HessianQuantConfig(group_size=32)
    assert config.model_fields_set == {"group_size"}
    config.group_size = 64
    assert config.group_size == 64


def test_older_names_can_be_assigned_with_a_warning() -> None:
    config = CompileConfig()
    with pytest.warns(UserWarning, match="quantization_mode is called mode since 1.1"):
        config.calibration.quantization_mode = 2  # type: ignore[attr-defined]
    with pytest.warns(UserWarning, match="topk_ratio is called maxPercentile.topkRatio"):
        config.calibration.topk_ratio = 0.5  # type: ignore[attr-defined]
    with pytest.warns(UserWarning, match="use_gpu_only_for_calibration is ignored") as caught:
        config.resource_management.use_gpu_only_for_calibration = True  # type: ignore[attr-defined]
    assert caught[0].filename == __file__
    assert (config.calibration.mode, config.calibration.max_percentile.topk_ratio) == (2, 0.5)


def test_nesting_without_end_is_one_error() -> None:
    values: dict[str, Any] = {}
    values["calibration"] = values
    with pytest.raises(ConfigError):
        CompileConfig.model_validate(values)
    deep: dict[str, Any] = {}
    for _ in range(100_000):
        deep = {"maxPercentile": deep}
    with pytest.raises(ConfigError):
        CalibrationConfig.model_validate(deep)


class Unprintable:
    def __repr__(self) -> str:
        raise RuntimeError("no text")


ODD_VALUES: list[Any] = [
    None, True, -1, 2**200, float("inf"), float("nan"), "\ud800", b"\xff", [], [1], {}, {1: 2}, ([],), {3}, np.zeros(3),
    np.float32(1), object(), Unprintable(), CalibrationConfig, CalibrationConfig(), CompileConfig(), [{"op": "resize"}],
]  # fmt: skip


def _sections(cls: type[ConfigSection]) -> Iterator[type[ConfigSection]]:
    yield cls
    for name in cls.model_fields:
        section = section_class(cls, name)
        if section is not None:
            yield from _sections(section)


@pytest.mark.filterwarnings("ignore::qbc.config.ConfigWarning")
@pytest.mark.parametrize("cls", [*dict.fromkeys(_sections(CompileConfig)), OptqConfig, QuantizationConfig])
def test_odd_values_are_taken_or_refused(cls: type[ConfigSection]) -> None:
    """Nothing but ConfigError leaves a constructor or an assignment, and a section stays valid."""
    names = [*cls.model_fields, *(old for old in cls.moved if "*" not in old), "nosuch"]
    for name in names:
        section = cls()
        for value in ODD_VALUES:
            with contextlib.suppress(ConfigError):
                cls(**{name: value})
            with contextlib.suppress(ConfigError):
                setattr(section, name, value)
        assert cls.model_validate(section.model_dump()) == section
