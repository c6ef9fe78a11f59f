"""Every documented argument refuses values of a wrong type by name, before any work."""

from __future__ import annotations

import inspect
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from qbcompiler import (
    ArgumentError,
    CalibrationConfig,
    CompileConfig,
    dump_default_config,
    get_body_subgraph,
    mblt_compile,
    mblt_compile_with_callback,
    mxq_compile,
    mxq_compile_from_mblt,
    mxq_compile_from_source,
    mxq_compile_with_callback,
    read_mblt_graph_info,
    read_provenance,
    validate_model,
)
from qbcompiler.arguments import KINDS
from qbcompiler.calibration import make_calib, make_calib_man
from qbcompiler.calibration.utils_calib import list_calib_files_in_json
from qbcompiler.demo import digits_model_path

MODEL = str(digits_model_path())
SAMPLES = [np.zeros((1, 1, 8, 8), np.float32)]
NAMES = [
    name
    for name, parameter in inspect.signature(mxq_compile).parameters.items()
    if parameter.kind is not inspect.Parameter.VAR_KEYWORD
]
TEXTS = ("backend", "device", "inference_scheme", "config_preset", "model_part")
PATHS = ("target_device", "save_path", "config_save_path", "output_subgraph_path", "model", "calib_data_path")


def wrong_values(name: str) -> list[Any]:
    """Values that no documentation allows for an argument."""
    odd: list[Any] = [1.5, b"x", lambda: None]
    if name in ("target_device", "save_path", *TEXTS):
        return [*odd, 5, True, {}, ["x"]]
    if name in PATHS:
        return [1.5, b"x", 5, True]
    if name.endswith("_config") or name in ("feed_dict", "dynamic_axes", "multi_shape", "model_part_options"):
        return [1.5, b"x", 5, True, ["x"]]
    return [*odd, "no", {}]


@pytest.mark.parametrize("name", NAMES)
def test_wrong_types_are_refused_by_name(tmp_path: Path, name: str) -> None:
    usual = {"model": MODEL, "target_device": "aries-rb", "calib_data_path": SAMPLES, "save_path": tmp_path / "a.mxq"}
    for value in wrong_values(name):
        for compile_it in (mxq_compile, mxq_compile_from_source):
            if name == "model" and callable(value):
                continue
            with pytest.raises(ArgumentError, match=f"^{name} is ") as caught:
                compile_it(**{**usual, name: value})
            assert caught.value.code == "ARGUMENT_ERROR"
    assert os.listdir(tmp_path) == []


def test_every_argument_has_a_kind() -> None:
    assert set(NAMES) - set(KINDS) == {"model"}


def test_arguments_that_only_some_calls_have(tmp_path: Path) -> None:
    with pytest.raises(ArgumentError, match="^mblt_save_path is 5"):
        mblt_compile(MODEL, 5)  # type: ignore[arg-type]
    with pytest.raises(ArgumentError, match="^mblt_save_path is not given"):
        mblt_compile(MODEL, None)  # type: ignore[arg-type]
    with pytest.raises(ArgumentError, match="^feed_dict is"):
        mblt_compile(MODEL, tmp_path / "a.mblt", feed_dict=5)  # type: ignore[arg-type]
    with pytest.raises(ArgumentError, match="no model is given"):
        mblt_compile(None, tmp_path / "a.mblt")
    with pytest.raises(ArgumentError, match="^callback is 5"):
        mxq_compile_with_callback(MODEL, callback=5)  # type: ignore[arg-type]
    with pytest.raises(ArgumentError, match="^save_subgraph_type is 'x'"):
        mxq_compile(MODEL, save_subgraph_type="x")
    with pytest.raises(ArgumentError, match="^save_path is 5"):
        mxq_compile_from_mblt("a.mblt", save_path=5)
    assert os.listdir(tmp_path) == []


def test_values_of_numpy_and_objects_are_taken(tmp_path: Path) -> None:
    result = mxq_compile(
        MODEL,
        "aries-rb",
        np.zeros((2, 1, 8, 8), np.float32),
        tmp_path / "a.mxq",
        bias_correction=np.bool_(True),  # type: ignore[arg-type]
        buffer_mode=np.int64(1),  # type: ignore[arg-type]
        calibration_config=CalibrationConfig(),
        compile_config={},
    )
    assert result.output.exists()


def test_parsing_arguments_are_ignored_with_a_warning_for_mblt(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    mblt_compile(MODEL, tmp_path / "a.mblt")
    names = {"yolo_decode_include": False, "dynamic_axes": {"image": 0}, "multi_shape": {"image": {"axis": 2}}}
    caplog.clear()
    mxq_compile(tmp_path / "a.mblt", "aries-rb", SAMPLES, tmp_path / "a.mxq", **names)
    told = [record.getMessage() for record in caplog.records]
    assert [name for name in names if f"{name} is ignored: a .mblt is parsed already" in told] == list(names)


def test_random_data_beside_samples_is_told(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    note = "use_random_calib has no effect: there is calibration data"
    mxq_compile(MODEL, "aries-rb", SAMPLES, tmp_path / "a.mxq", use_random_calib=True)
    assert [record.getMessage() for record in caplog.records].count(note) == 1
    caplog.clear()
    configured = {"calibDataPaths": [str(tmp_path / "absent")], "useRandomCalib": False}
    mxq_compile(MODEL, "aries-rb", None, tmp_path / "b.mxq", use_random_calib=True, compile_config=configured)
    told = [record.getMessage() for record in caplog.records]
    assert "calibDataPaths of the configuration is not read: use_random_calib is given" in told
    assert note not in told


@pytest.mark.parametrize("value", [5, None, 1.5, b"x", True])
def test_functions_around_compilation(tmp_path: Path, value: Any) -> None:
    calls = {
        "output_path": [lambda: dump_default_config(value), lambda: get_body_subgraph("a.mblt", value)],
        "mblt_path": [lambda: read_provenance(value), lambda: get_body_subgraph(value, tmp_path / "b.mblt")],
        "model": [lambda: validate_model(value)],
        "path": [
            lambda: read_mblt_graph_info(value),
            lambda: CompileConfig.from_file(value),
            lambda: list_calib_files_in_json(value),
        ],
        "name": [lambda: CompileConfig.from_preset(value)],
        "args_pre": [lambda: make_calib(value, tmp_path, tmp_path, "a")],
        "pre_ftn": [lambda: make_calib_man(value, tmp_path, tmp_path, "a")],
        "data_dir": [lambda: make_calib_man(str, value, tmp_path, "a")],
        "save_dir": [lambda: make_calib_man(str, tmp_path, value, "a")],
        "save_name": [lambda: make_calib_man(str, tmp_path, tmp_path, value)],
    }
    if value is not None:
        calls["preset"] = [lambda: dump_default_config(tmp_path / "a.yaml", value)]
        calls["input_shapes"] = [lambda: validate_model(MODEL, input_shapes=value)]
        calls["backend"] = [lambda: validate_model(MODEL, value)]
    if value not in (None, 5):
        calls["max_size"] = [lambda: make_calib_man(str, tmp_path, tmp_path, "a", value)]
    for name, group in calls.items():
        for call in group:
            with pytest.raises(ArgumentError, match=f"^{name} is "):
                call()
    assert os.listdir(tmp_path) == []


def test_shapes_are_lists_of_whole_numbers() -> None:
    with pytest.raises(ArgumentError, match=r"^input_shapes\['image'\] is 5"):
        validate_model(MODEL, input_shapes={"image": 5})  # type: ignore[dict-item]
    with pytest.raises(ArgumentError, match=r"^input_shapes\['image'\]\[1\] is 1.5"):
        validate_model(MODEL, input_shapes={"image": (1, 1.5)})  # type: ignore[dict-item]
    assert validate_model(MODEL, input_shapes={"image": [1, 1, 8, 8]})["layers"]  # type: ignore[dict-item]


def test_the_order_of_removed_forms_is_told(tmp_path: Path) -> None:
    """The removed forms for `.mblt` files took the device before the path."""
    order = r"the order of arguments is mblt_compile\(model, mblt_save_path, target_device\)"
    with pytest.raises(ArgumentError, match=order):
        mblt_compile(MODEL, "aries-rb", str(tmp_path / "v2.mblt"))
    with pytest.raises(ArgumentError, match=order):
        mblt_compile_with_callback(MODEL, "aries-rb", str(tmp_path / "v2.mblt"), callback=print)
    with pytest.raises(ArgumentError, match=r"mxq_compile\(model, target_device, calib_data_path, save_path\)"):
        mxq_compile(MODEL, "a.mxq", "aries-rb")
    assert not list(tmp_path.iterdir())


def test_the_target_of_older_releases_is_refused_by_name(tmp_path: Path) -> None:
    with pytest.raises(ArgumentError, match=r"^target is no longer accepted \(.*model_part"):
        mblt_compile(MODEL, tmp_path / "a.mblt", target="encoder", backend="hf")


@pytest.mark.parametrize("data", [{1: 2}, {None: 1}, {b"image": SAMPLES[0]}, [{1: 2}], [{"x": SAMPLES[0]}, {2: 1}]])
def test_samples_are_named_by_texts(data: Any, tmp_path: Path) -> None:
    with pytest.raises(ArgumentError, match="calib_data_path has the key .*, expected names of inputs"):
        mxq_compile(MODEL, calib_data_path=data, save_path=str(tmp_path / "m.mxq"))


@pytest.mark.parametrize("name", PATHS)
def test_no_path_holds_nul(name: str, tmp_path: Path) -> None:
    given = {"model": MODEL, "save_path": str(tmp_path / "m.mxq"), "calib_data_path": SAMPLES, name: "a\0b"}
    with pytest.raises(ArgumentError, match=f"{name} .*NUL"):
        mxq_compile(**given)
