"""`mxq_compile` and `mblt_compile`: what is carried out, what is refused by name, what is only noted."""

from __future__ import annotations

import inspect
import logging
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import qbcompiler
from qbcompiler import CalibrationConfig, QBCompilerError, mblt_compile, mxq_compile
from qbcompiler.demo import digits_model_path

# Order and defaults of the documented arguments.
DOCUMENTED = {
    "model": None,
    "target_device": None,
    "calib_data_path": None,
    "save_path": None,
    "backend": "onnx",
    "feed_dict": None,
    "dynamic_axes": None,
    "multi_shape": None,
    "yolo_decode_include": None,
    "exclude_first_subgraph": False,
    "device": "gpu",
    "inference_scheme": "single",
    "use_random_calib": False,
    "cpu_offload": False,
    "optimize_option": 1,
    "bias_correction": True,
    "buffer_mode": 1,
    "force_npu_input_reposition": False,
    "force_npu_output_reposition": False,
    "image_channels": 0,
    "split_blocks": None,
    "split_parts": 0,
    "config_preset": None,
    "compile_config": None,
    "config_save_path": None,
    "model_part": None,
    "model_part_options": None,
    "calibration_config": None,
    "bit_config": None,
    "llm_config": None,
    "hessian_quant_config": None,
    "bias_correction_config": None,
    "mod_config": None,
    "equivalent_transformation_config": None,
    "search_weight_scale_config": None,
    "uint8_input_config": None,
    "preprocessing_config": None,
    "save_sample_config": None,
    "resource_management_config": None,
    "extra_output_config": None,
}


@pytest.fixture
def samples() -> list[np.ndarray[Any, Any]]:
    generator = np.random.default_rng(3)
    return [generator.random((1, 1, 8, 8), dtype=np.float32) for _ in range(4)]


def _compile(tmp_path: Path, samples: Any, name: str = "a.mxq", **arguments: Any) -> bytes:
    output = tmp_path / name
    arguments = {"target_device": "aries-rb", "calib_data_path": samples, **arguments}
    mxq_compile(str(digits_model_path()), save_path=str(output), **arguments)
    return output.read_bytes()


def test_signature() -> None:
    parameters = inspect.signature(mxq_compile).parameters
    found = {name: p.default for name, p in parameters.items() if p.kind is not inspect.Parameter.VAR_KEYWORD}
    assert found == DOCUMENTED
    assert list(found) == list(DOCUMENTED)
    assert parameters["extra_output_config"].kind is inspect.Parameter.KEYWORD_ONLY
    assert list(inspect.signature(mblt_compile).parameters)[:3] == ["model", "mblt_save_path", "target_device"]


def test_every_default_is_accepted(tmp_path: Path, samples: Any, caplog: pytest.LogCaptureFixture) -> None:
    defaults = {name: value for name, value in DOCUMENTED.items() if value is not inspect.Parameter.empty}
    given = ("model", "target_device", "calib_data_path", "save_path")
    rest = {name: value for name, value in defaults.items() if name not in given}
    with caplog.at_level(logging.WARNING, "qbcompiler"):
        assert _compile(tmp_path, samples) == _compile(tmp_path, samples, "b.mxq", **rest)
    assert not [record for record in caplog.records if "has no effect" in record.getMessage()]


def test_both_routes_give_the_same_bytes(tmp_path: Path, samples: Any) -> None:
    direct = _compile(tmp_path, samples)
    mblt_compile(digits_model_path(), tmp_path / "digits.mblt")
    mxq_compile(tmp_path / "digits.mblt", "aries-rb", samples, tmp_path / "b.mxq", backend="tf")
    assert (tmp_path / "b.mxq").read_bytes() == direct


def test_result_names_the_file_and_reports(tmp_path: Path, samples: Any) -> None:
    result = mxq_compile(digits_model_path(), "aries-rb", samples, tmp_path / "a.mxq")
    assert result.output == tmp_path / "a.mxq"
    assert result.reports["latency"]["target"] == "aries-rb"
    assert result.reports["accuracy"].outputs.keys() == {"logits"}


@pytest.mark.parametrize(
    "arguments, code",
    [
        ({"backend": "caffe"}, "ARGUMENT_ERROR"),
        ({"backend": "Torch"}, "UNSUPPORTED_FEATURE"),
        ({"backend": "keras"}, "UNSUPPORTED_FEATURE"),
        ({"device": "tpu"}, "ARGUMENT_ERROR"),
        ({"inference_scheme": "double"}, "ARGUMENT_ERROR"),
        ({"inference_scheme": "multi", "target_device": "regulus-rb"}, "TARGET_ERROR"),
        ({"optimize_option": 7}, "ARGUMENT_ERROR"),
        ({"buffer_mode": -1}, "ARGUMENT_ERROR"),
        ({"image_channels": 2}, "ARGUMENT_ERROR"),
        ({"cpu_offload": True}, "UNSUPPORTED_FEATURE"),
        ({"dynamic_axes": {"image": 0}}, "UNSUPPORTED_FEATURE"),
        ({"multi_shape": {"image": {"axis": 2, "values": [8, 16]}}}, "ARGUMENT_ERROR"),
        ({"multi_shape": {"image": {"axis": 2}}, "dynamic_axes": {"image": 0}}, "ARGUMENT_ERROR"),
        ({"multi_shape": {"image": {"axis": 2}}, "feed_dict": {"image": np.zeros(1)}}, "UNSUPPORTED_FEATURE"),
        ({"split_parts": 2}, "UNSUPPORTED_FEATURE"),
        ({"split_blocks": [1]}, "UNSUPPORTED_FEATURE"),
        ({"compile_config": "config.yaml"}, "ARGUMENT_ERROR"),
        ({"compile_config": "config.toml"}, "ARGUMENT_ERROR"),
        ({"config_save_path": "/dev/null/x.yaml"}, "OUTPUT_WRITE_ERROR"),
        ({"config_preset": "clasification"}, "ARGUMENT_ERROR"),
        ({"model_part": "vision"}, "UNSUPPORTED_FEATURE"),
        ({"bit_config": {"apply": True}}, "CONFIG_ERROR"),
        ({"bit_config": {"transformer": {"activation": {"ffn": 16}}}}, "UNSUPPORTED_FEATURE"),
        ({"bit_config": {"layerOverrides": {"activation16Bits": ["nosuch"]}}}, "ARGUMENT_ERROR"),
        ({"hessian_quant_config": {"apply": True}}, "UNSUPPORTED_FEATURE"),
        ({"llm_config": {"apply": True}}, "UNSUPPORTED_FEATURE"),
        ({"llm_config": {"attributes": {"maxSequenceLength": 9, "maxCacheLength": 8}}}, "CONFIG_ERROR"),
        ({"config_preset": "llm"}, "UNSUPPORTED_FEATURE"),
        ({"extra_output_config": {"apply": True, "layers": ["a"]}}, "ARGUMENT_ERROR"),
        ({"extra_output_config": {"apply": True}}, "CONFIG_ERROR"),
        ({"calibration_config": {"method": 4}}, "CONFIG_ERROR"),
        ({"calibration_config": {"metod": 1}}, "CONFIG_ERROR"),
        ({"in_dformats": "nhwc"}, "ARGUMENT_ERROR"),
        ({"input_shape_dict": {}}, "ARGUMENT_ERROR"),
        ({"hf_config": {}}, "ARGUMENT_ERROR"),
        ({"calib_data_pth": "x"}, "ARGUMENT_ERROR"),
        ({"target_device": "aries_rb"}, "TARGET_ERROR"),
        ({"feed_dict": {"image": 3}}, "ARGUMENT_ERROR"),
        ({"feed_dict": {"image": [[1.0], [1.0, 2.0]]}}, "ARGUMENT_ERROR"),
        ({"feed_dict": {"image": np.zeros((1, 1, 8, 9)).tolist()}}, "SHAPE_ERROR"),
    ],
)
def test_refused(tmp_path: Path, samples: Any, arguments: dict[str, Any], code: str) -> None:
    with pytest.raises(QBCompilerError) as caught:
        _compile(tmp_path, samples, **arguments)
    assert caught.value.code == code
    assert isinstance(caught.value, ValueError) == (code in ("ARGUMENT_ERROR", "CONFIG_ERROR"))
    assert not (tmp_path / "a.mxq").exists()


@pytest.mark.parametrize(
    "arguments, message",
    [
        ({"optimize_option": 3}, "optimizeOption (has no effect yet)"),
        ({"buffer_mode": 2}, "bufferMode (has no effect yet)"),
        ({"resource_management_config": {"weight_dtype": "bfloat16"}}, "resourceManagement.weightDtype"),
        ({"weight_dtype": "bfloat16"}, "resourceManagement.weightDtype"),
        ({"extra_output_config": {"layers": ["a"]}}, "extraOutput.layers"),
        ({"use_gpu_only_for_calibration": True}, "use_gpu_only_for_calibration is ignored"),
        ({"optq_config": {}}, "optq_config is now called hessian_quant_config"),
        ({"layer_bias_correction": True}, "layer_bias_correction is now called bias_correction"),
        ({"quantize_method": "maxpercentile"}, "quantize_method is now a field of calibration_config"),
        ({"save_subgraph_type": 2}, "save_subgraph_type is ignored"),
        ({"target_device": "aries"}, "now called 'aries-rb'"),
    ],
)
def test_accepted_with_a_notice(
    tmp_path: Path, samples: Any, caplog: pytest.LogCaptureFixture, arguments: dict[str, Any], message: str
) -> None:
    with caplog.at_level(logging.WARNING, "qbcompiler"):
        noted = _compile(tmp_path, samples, **arguments)
    assert any(message in record.getMessage() for record in caplog.records), caplog.text
    assert noted
    _compile(tmp_path, samples, "b.mxq")
    assert _program(tmp_path / "a.mxq") == _program(tmp_path / "b.mxq")


def _program(path: Path) -> dict[str, bytes]:
    """Return all sections but the record of how the file was made."""
    from qbc.store import read_container

    container = read_container(path, "MXQ")
    return {name: bytes(container.section(name)) for name in container.sections if name != "manifest"}


def test_config_sections_that_are_off_are_accepted(tmp_path: Path, samples: Any) -> None:
    off = {"hessian_quant_config": {"apply": False}, "mod_config": {}, "llm_config": None}
    assert _compile(tmp_path, samples, **off) == _compile(tmp_path, samples, "b.mxq")


@pytest.mark.parametrize(
    "arguments",
    [
        {"calibration_config": {"method": 0}},
        {"calibration_config": CalibrationConfig(mode=0)},
        {"calibration_config": {"maxPercentile": {"percentile": 0.95}}},
        {"bias_correction": False},
        {"bias_correction_config": {"apply": False}},
    ],
)
def test_settings_change_the_result(tmp_path: Path, samples: Any, arguments: dict[str, Any]) -> None:
    assert _compile(tmp_path, samples, **arguments) != _compile(tmp_path, samples, "b.mxq")


def test_explicit_fields_win_over_the_preset(tmp_path: Path, samples: Any) -> None:
    preset = _compile(tmp_path, samples, "a.mxq", config_preset="classification")
    _compile(tmp_path, samples, "b.mxq")  # the default ranges are those of the preset, the record names it
    assert _program(tmp_path / "a.mxq") == _program(tmp_path / "b.mxq")
    arguments = {"config_preset": "classification", "calibration_config": {"mode": 0}}
    assert _compile(tmp_path, samples, "c.mxq", **arguments) != preset


def test_a_part_of_a_snapshot_is_a_value_error(tmp_path: Path) -> None:
    mblt_compile(digits_model_path(), tmp_path / "digits.mblt")
    with pytest.raises(ValueError, match="cannot be chosen for a .mblt"):
        mxq_compile(tmp_path / "digits.mblt", "aries-rb", use_random_calib=True, model_part="vision")


def test_a_module_object_is_refused_by_name(tmp_path: Path) -> None:
    with pytest.raises(QBCompilerError, match="object"):
        mxq_compile(object(), "aries-rb", use_random_calib=True, save_path=tmp_path / "a.mxq")


def test_random_calibration_says_so(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, "qbcompiler"):
        _compile(tmp_path, None, use_random_calib=True)
    assert any("random data" in record.getMessage() for record in caplog.records)


def test_provenance_can_be_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("QBCOMPILER_PROVENANCE", "0")
    assert mblt_compile(digits_model_path(), tmp_path / "a.mblt").manifest.provenance == {}
    monkeypatch.delenv("QBCOMPILER_PROVENANCE")
    assert len(mblt_compile(digits_model_path(), tmp_path / "b.mblt").manifest.provenance["source"]["sha256"]) == 64


def test_exports() -> None:
    assert set(qbcompiler.__all__) <= set(dir(qbcompiler))
    assert qbcompiler.__version__.count(".") == 2
    with pytest.raises(AttributeError):
        _ = qbcompiler.nonsense
