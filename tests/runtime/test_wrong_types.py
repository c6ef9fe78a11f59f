"""Wrong types in the runtime API: an ArgumentError that names the argument, or a documented status."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from qbc.errors import ArgumentError, QBCompilerError
from qbcompiler.runtime import Accelerator, Model, ModelConfig, get_model_summary
from tests.support.npu_programs import conv_program

X = np.random.default_rng(0).normal(0, 20, (6, 8, 4)).astype(np.float32)
ODD: tuple[Any, ...] = (None, 1.5, b"x", {}, object(), [[]], lambda: None)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    builder, _ = conv_program(np.random.default_rng(3))
    builder.save(tmp_path / "conv.mxq")
    return tmp_path / "conv.mxq"


@pytest.fixture
def model(path: Path) -> Model:
    model = Model(path)
    model.launch(Accelerator(0))
    return model


def refused(name: str, call: Callable[[], Any]) -> None:
    with pytest.raises(ArgumentError, match=name) as caught:
        call()
    assert caught.value.code == "ARGUMENT_ERROR"


@pytest.mark.parametrize("value", ODD)
def test_values_of_no_use_anywhere(model: Model, path: Path, value: Any) -> None:
    refused("^path is", lambda: Model(value))
    refused("^mxq_path is", lambda: get_model_summary(value))
    if value is not None:
        refused("^config is", lambda: Model(path, value))
        refused("^num_cores is", lambda: ModelConfig(value))
        refused("^num_cores is", lambda: ModelConfig().set_auto_core_mode(value))
        refused("^core_ids (is|holds)", lambda: ModelConfig().set_single_core_mode(value))
        refused("^clusters (is|holds)", lambda: ModelConfig().set_multi_core_mode(value))
        refused("^clusters (is|holds)", lambda: ModelConfig().set_global4_core_mode(value))
        refused("^outputs(.0.)? is", lambda: model.infer(X, value))
    refused("^accelerator is", lambda: model.launch(value))
    refused("^device_name is", lambda: Accelerator(value))
    refused("^dev_no is", lambda: Accelerator("auto", value))
    refused("^index is", lambda: ModelConfig().force_single_npu_bundle(value))
    refused("^count is", lambda: ModelConfig().set_activation_slots(value))
    refused("^enabled is", lambda: ModelConfig().set_async_pipeline_enabled(value))


@pytest.mark.parametrize("value", [None, 5, "x", {}, {"x": X}, object(), [None], [object()], ["x"], [[[1], [1, 2]]]])
def test_inputs(model: Model, value: Any) -> None:
    calls = (model.infer, model.infer_hwc, model.infer_chw, model.infer_to_float, model.infer_chw_to_float)
    for call in calls:
        refused(r"^inputs(\[0\])? is", lambda call=call: call(value))  # type: ignore[misc]


def test_truth_values_are_no_numbers(model: Model) -> None:
    refused("^device_name is True", lambda: Accelerator(True))
    refused("^num_cores is True", lambda: ModelConfig(True))
    refused("^num_cores is 99", lambda: ModelConfig(99))
    refused("^enabled is 2", lambda: ModelConfig().set_async_pipeline_enabled(2))  # type: ignore[arg-type]
    assert ModelConfig().set_async_pipeline_enabled(1)  # type: ignore[arg-type]  # scripts write 1 for True
    assert ModelConfig(np.int64(2)).num_cores == 2  # type: ignore[arg-type]
    assert ModelConfig().set_async_pipeline_enabled(np.bool_(True))  # type: ignore[arg-type]


def test_outputs_of_another_dtype(model: Model) -> None:
    target = np.zeros((3, 4, 5), np.int8)
    with pytest.raises(QBCompilerError, match="output 0 has dtype float32, the array given for it int8") as caught:
        model.infer(X, [target])
    assert caught.value.status == 22  # type: ignore[attr-defined]
    assert not target.any()
    codes = np.ones((6, 8, 4), np.int8)
    model.infer(codes, [target])
    assert target.any()
    with pytest.raises(QBCompilerError, match="dtype int8"):
        model.infer(codes, [np.zeros((3, 4, 5), np.float32)])
    wide = np.zeros((3, 4, 5), np.float64)
    model.infer(X, (wide,))  # type: ignore[arg-type]
    assert np.array_equal(wide, model.infer(X)[0])
    wide.flags.writeable = False
    refused(r"outputs\[0\] is read-only", lambda: model.infer(X, [wide]))
    refused("outputs is of type tuple", lambda: model.infer(X, ()))  # type: ignore[arg-type]


def test_cores_and_clusters_by_name(path: Path) -> None:
    config = ModelConfig()
    assert config.set_single_core_mode(core_ids=["1:2"])
    assert Model(path, config).get_target_cores() == ["1:2"]
    assert config.set_single_core_mode(["0:1:3", "0:0:1"])
    assert (config.core_ids, config.num_cores) == (["1:3", "0:1"], 2)
    assert not config.set_single_core_mode(["2:0"])
    assert not config.set_single_core_mode(["0:4"])
    refused("core_ids holds 5", lambda: config.set_single_core_mode([5]))  # type: ignore[list-item]
    assert config.core_ids == ["1:3", "0:1"]
    assert config.set_multi_core_mode(["0:1"])
    assert config.clusters == [1]
    assert not config.set_multi_core_mode(["0:2"])


def test_calls_that_are_missing_are_refused_by_name(model: Model) -> None:
    for name in ("get_input_buffer_info", "get_output_buffer_info", "infer_async"):
        with pytest.raises(QBCompilerError, match=f"Model.{name} is not available") as caught:
            getattr(model, name)
        assert caught.value.code == "UNSUPPORTED_FEATURE"


def test_refused_layout_is_not_offered(model: Model) -> None:
    """The model takes 6x8x4 channel-last, 4x6x8 channel-first."""
    with pytest.raises(QBCompilerError) as caught:
        model.infer_hwc(X.transpose(2, 0, 1))
    assert "has shape [4, 6, 8], expected [1, 6, 8, 4] (channel-last)" in caught.value.message
    assert "[1, 4, 6, 8]" not in str(caught.value)
    with pytest.raises(QBCompilerError) as caught:
        model.infer_chw(X)
    assert "has shape [6, 8, 4], expected [1, 4, 6, 8] (channel-first)" in caught.value.message
    assert "transpose the array with axes [2, 0, 1]" in str(caught.value)
    codes = np.ones((6, 8, 4), np.int8)
    assert model.infer_hwc_to_float(codes)[0].dtype == np.float32
    assert np.array_equal(
        model.infer_chw_to_float(codes.transpose(2, 0, 1))[0].transpose(1, 2, 0), model.infer_to_float(codes)[0]
    )
