"""Sections: both spellings, None, nested dictionaries, assignment, keys of older releases, unknown keys."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from qbc.config import (
    BitConfig,
    CalibrationConfig,
    CompileConfig,
    ConfigValidationError,
    ConfigWarning,
    EquivalentTransformationConfig,
    HessianQuantConfig,
    LayerBiasCorrectionConfig,
    LlmConfig,
    OptqConfig,
    PreprocessingConfig,
    QuantizationConfig,
    ResourceManagementConfig,
)
from qbc.config.checks import checked
from qbc.config.fields import leaves
from qbc.config.resolve import Request, resolve
from qbc.config.section import collected_warnings, explicit
from qbc.errors import QBCompilerError


def test_both_spellings_and_nested_dictionaries() -> None:
    camel = CompileConfig.model_validate({"calibration": {"maxPercentile": {"topkRatio": 0.02}}, "bufferMode": 2})
    snake = CompileConfig(calibration={"max_percentile": {"topk_ratio": 0.02}}, buffer_mode=2)  # type: ignore[arg-type]
    nested = CompileConfig(calibration=CalibrationConfig(max_percentile={"topkRatio": 0.02}), buffer_mode=2)  # type: ignore[arg-type]
    assert camel == snake == nested
    assert camel.calibration.max_percentile.percentile == 0.9999


def test_documented_defaults() -> None:
    config = CompileConfig()
    assert config.save_paths == ["./tmp.mxq"]
    assert config.inference_scheme == "single" and config.optimize_option == 1 and config.device == "gpu"
    assert config.hessian_quant.attributes.block_size == 256 and config.hessian_quant.hessian_dtype == "fp32"
    assert config.bias_correction.apply is True
    assert config.calibration.optimize_lut.optimization_level == 1
    assert config.calibration.group_lut.irls_iter == 3 and config.calibration.group_lut.cover_floor == 0.85
    assert config.resource_management.weight_memory.method_list == [
        "DeleteFloat", "SaveFloat", "MoveFloat", "KeepFloat", "KeepAll",
    ]  # fmt: skip
    assert config.runtime_options.version == "0.0.0"
    assert config.llm.attributes.max_core_data_length == 128


def test_annotations_can_be_inspected() -> None:
    annotation = BitConfig.Transformer.model_fields["mixed_precision"].annotation
    assert isinstance(annotation, type) and "apply" in annotation.model_fields  # type: ignore[attr-defined]
    assert BitConfig.SaveInfo(save_path="x").save_path == "x"
    assert EquivalentTransformationConfig.Ud(smoothing_factor=0.8).smoothing_factor == 0.8
    for name, field in EquivalentTransformationConfig.model_fields.items():
        if field.alias and field.alias[0].isupper():
            assert getattr(EquivalentTransformationConfig, field.alias) is field.annotation, name
    assert LlmConfig.Attributes(maxSequenceLength=8).max_sequence_length == 8  # type: ignore[call-arg]
    assert CalibrationConfig.MaxPercentile is CalibrationConfig.model_fields["max_percentile"].annotation


def test_none_means_the_default_section() -> None:
    config = CompileConfig(hessian_quant=None, calibration={"maxPercentile": None})  # type: ignore[arg-type]
    assert config == CompileConfig()
    config.calibration = None  # type: ignore[assignment]
    assert config.calibration == CalibrationConfig()


@pytest.mark.parametrize("path", [path for path, _ in leaves()])
def test_none_means_that_a_field_is_not_set(path: str) -> None:
    values: Any = None
    for part in reversed(path.split(".")):
        values = {part: values}
    config = CompileConfig.model_validate(values)
    assert config == CompileConfig() and explicit(config) == {}
    section: Any = config
    *parents, last = path.split(".")
    for part in parents:
        section = getattr(section, part)
    setattr(section, last, None)
    assert config == CompileConfig() and explicit(config) == {}


def test_none_takes_a_setting_back() -> None:
    config = CalibrationConfig(mode=2, max_percentile={"percentile": 0.9})  # type: ignore[arg-type]
    config.mode = None  # type: ignore[assignment]
    assert config.mode == 1 and explicit(config) == {"max_percentile": {"percentile": 0.9}}


def test_none_leaves_what_is_below(tmp_path: Path) -> None:
    file = tmp_path / "c.yaml"
    file.write_text("device:\nmodelPaths:\nquantization:\n  calibration:\n    mode:\n    method: 0\n")
    preset = {"calibration": {"mode": 0}, "device": "cpu"}
    assert explicit(CompileConfig.from_file(file)) == {"calibration": {"method": 0}}
    config = resolve(Request([preset], "p", sections={"calibration": CalibrationConfig(mode=None)})).config  # type: ignore[arg-type]
    assert (config.calibration.mode, config.device) == (0, "cpu")


def test_only_fields_that_may_hold_none_keep_it() -> None:
    resize = {"op": "resize", "size": 8, "antialias": None, "backend": None}
    operation = PreprocessingConfig(pipeline=[resize]).pipeline[0]  # type: ignore[list-item]
    assert operation == PreprocessingConfig(pipeline=[{"op": "resize", "size": 8}]).pipeline[0]  # type: ignore[list-item]
    with pytest.raises(ValidationError, match="op"):
        PreprocessingConfig(pipeline=[{"op": None}])  # type: ignore[list-item]


def test_one_number_for_all_feed_forward_layers() -> None:
    bits = BitConfig.model_validate({"transformer": {"weight": {"ffn": 4}, "activation": {"ffn": {"up": 16}}}})
    dumped = bits.model_dump()["transformer"]
    assert dumped["weight"]["ffn"] == {"up": 4, "gate": 4, "down": 4}
    assert dumped["activation"]["ffn"] == {"up": 16, "gate": 8, "down": 8}


def test_assignment_is_checked() -> None:
    config = CompileConfig()
    config.calibration.mode = 2
    with pytest.raises(ValidationError):
        config.calibration.mode = 3  # type: ignore[assignment]
    assert explicit(config) == {"calibration": {"mode": 2}}


@pytest.mark.parametrize(
    "values, message",
    [
        ({"calibraton": {}}, "calibraton: unknown key, did you mean 'calibration'?"),
        ({"quantisation": {}}, "quantisation: unknown key, did you mean 'quantization'?"),
        ({"calibration": {"metod": 1}}, "calibration.metod: unknown key, did you mean 'method'?"),
        ({"calibration": {"method": 9}}, "calibration.method: input should be 0, 1, 2 or 3"),
        ({"calibration": {"numBin": 1}}, "calibration.numBin: unknown key, did you mean 'histogram.numBins'?"),
        ({"activation16Bit": []}, "activation16Bit: unknown key, did you mean 'bit.layerOverrides.activation16Bits'?"),
        ({"hessianQuant": {"blocksize": 1}}, "blocksize: unknown key, did you mean 'attributes.blockSize'?"),
        (
            {"quantization": {"calibratoin": {}}},
            "quantization.calibratoin: unknown key, did you mean 'calibration'?",
        ),
        ({"quantization": {"mod": {}}}, "quantization.mod: unknown key, keys are calibration, bit"),
        ({"advancedQuantization": 3}, "advancedQuantization: expected a dictionary, found 3 (int)"),
        ({"$preset": "x"}, "$preset: unknown key"),
        ({"configVersion": "2.0.0"}, "newer than 1.0.0"),
        ({"configVersion": "one"}, "written as 1.0.0"),
        ({"calibration": {"actScaleMin": float("nan")}}, "calibration.actScaleMin: input should be a finite number"),
        ({"bufferMode": 2, "buffer_mode": 3}, "'bufferMode' and 'buffer_mode' are two spellings of one key"),
        (
            {"calibration": {"maxPercentile": {"topkRatio": 0.1}, "max_percentile": {"topk_ratio": 0.2}}},
            "'maxPercentile.topkRatio' and 'max_percentile.topk_ratio' are two spellings of one key",
        ),
        ({3: 4}, "3: keys should be strings"),
        ({"calibration": [1]}, "calibration"),
        ({"hessianQuant": {"groupSize": 8, "rescomp": True}}, "groupSize needs the solver symmetric"),
        ({"inferenceScheme": "double"}, "inferenceScheme: input should be 'single', 'multi'"),
    ],
)
def test_mistakes_are_one_error(values: dict[Any, Any], message: str) -> None:
    with pytest.raises(QBCompilerError) as caught:
        checked(CompileConfig, values)
    assert caught.value.code == "CONFIG_ERROR"
    assert message in caught.value.message


def test_all_mistakes_are_named_at_once() -> None:
    with pytest.raises(QBCompilerError, match="metod.*bufferMod"):
        checked(CompileConfig, {"calibration": {"metod": 1}, "bufferMod": 2})


# --- keys of older releases --------------------------------------------------------------------------------------


def test_removed_and_renamed_keys_warn_once() -> None:
    with pytest.warns(ConfigWarning, match="useGPUOnlyForCalibration is ignored since 1.4"):
        ResourceManagementConfig.model_validate({"useGPUOnlyForCalibration": True})
    with pytest.warns(ConfigWarning, match="use_gpu_only_for_calibration is ignored"):
        ResourceManagementConfig(use_gpu_only_for_calibration=False)  # type: ignore[call-arg]
    with collected_warnings() as texts:
        hessian = HessianQuantConfig(act_order=False, accumulation_device="cpu")  # type: ignore[call-arg]
    assert hessian.attributes.act_order is False
    assert texts == [
        "HessianQuantConfig: act_order is called attributes.actOrder since 1.3: settings of the solver are attributes; "
        "accumulation_device is ignored since 1.4: the matrix is kept where the layer is computed"
    ]


def test_classes_of_older_releases_take_their_own_keys_without_a_warning() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        optq = OptqConfig(apply=True, act_order=False, blockSize=128, percdamp=0.1)  # type: ignore[call-arg]
        quantization = QuantizationConfig.from_kwargs(
            quantization_method=1, quantization_mode=2, percentile=0.999, topk_ratio=0.02, activation_16bits=["a"]
        )
    assert isinstance(optq, HessianQuantConfig)
    assert explicit(optq) == {
        "apply": True, "attributes": {"act_order": False, "block_size": 128, "perc_damp": 0.1}
    }  # fmt: skip
    assert explicit(quantization) == {
        "calibration": {"method": 1, "mode": 2, "max_percentile": {"percentile": 0.999, "topk_ratio": 0.02}},
        "bit": {"layer_overrides": {"activation_16bits": ["a"]}},
    }
    with pytest.raises(ValueError, match="quantisation_mode: unknown key"):
        QuantizationConfig.from_kwargs(quantisation_mode=1)


def test_flat_calibration_of_release_1_0() -> None:
    values = dict(  # noqa: C408
        quantization_method=1, quantization_output=1, quantization_mode=1, percentile=0.999, topk_ratio=0.02,
        max_each=2048, max_total=2048, hist_percentile=0.99, hist_use_gpu=False, hist_num_bins=2048,
        hist_num_samples=1000, hist_buffer_size=1024, hist_min_bin_width=0.0001, hist_search_percentile_min=0.95,
        hist_search_percentile_max=0.9999, hist_num_search=10, hist_search_type=0, act_scale_min=0.0005,
        weight_scale_min=0.0001, min_clip_ratio=0.5, layer_overrides={}, optional=False,
    )  # fmt: skip
    with collected_warnings() as texts:
        config = CalibrationConfig(**values)  # type: ignore[arg-type]
    assert (config.method, config.output, config.mode) == (1, 1, 1)
    assert config.max_percentile.percentile == 0.999 and config.max_percentile.topk_ratio == 0.02
    assert config.histogram.metric == "mse" and config.histogram.min_bin_width == 0.0001
    (text,) = texts
    unchanged = {"act_scale_min", "weight_scale_min", "min_clip_ratio", "layer_overrides"}
    assert all((f"{key} is " in text) == (key not in unchanged) for key in values)


def test_top_level_keys_of_release_1_3() -> None:
    with collected_warnings() as texts:
        config = CompileConfig.model_validate(
            {
                "inputShapeDict": {},
                "advancedQuantization": {"layerBiasCorrection": {"apply": False, "attributes": {"numSamples": 3}}},
                "optq": {"apply": True},
            }
        )
    assert config.bias_correction.apply is False
    assert config.hessian_quant.apply is False
    assert len(texts) == 3 and "goes on without it" in texts[0]


def test_the_section_of_release_1_3_keeps_its_default() -> None:
    assert explicit(LayerBiasCorrectionConfig()) == {"apply": False}


def test_flat_bit_overrides() -> None:
    with collected_warnings() as texts:
        config = BitConfig(activation16Bits=["a"], layer_overrides={"weight8Bits": ["b"]})  # type: ignore
    assert config.layer_overrides.activation_16bits == ["a"] and config.layer_overrides.weight_8bits == ["b"]
    assert len(texts) == 1


def test_a_present_key_goes_before_an_older_one() -> None:
    values = {"percentile": 0.9, "maxPercentile": {"percentile": 0.8, "topkRatio": 0.1}, "quantization_mode": 0}
    with collected_warnings() as texts:
        config = CalibrationConfig.model_validate(values)
    assert (config.max_percentile.percentile, config.max_percentile.topk_ratio, config.mode) == (0.8, 0.1, 0)
    assert len(texts) == 2 and "set by its older name too" in texts[1]
    with collected_warnings(strict=True), pytest.raises(ValueError, match="keep one of them"):
        CalibrationConfig.model_validate(values)
    with (
        collected_warnings(),
        pytest.raises(ConfigValidationError, match="expected MaxPercentileConfig or a dictionary, found 3"),
    ):
        CalibrationConfig.model_validate({"percentile": 0.9, "maxPercentile": 3})


# --- groups ------------------------------------------------------------------------------------------------------


def test_grouped_and_flat_keys_merge() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        config = CompileConfig.model_validate(
            {
                "calibration": {"mode": 0, "maxPercentile": {"topkRatio": 0.5}},
                "quantization": {"calibration": {"method": 1, "max_percentile": {"percentile": 0.9}}},
            }
        )
    found = config.calibration
    assert (found.mode, found.method) == (0, 1)
    assert (found.max_percentile.percentile, found.max_percentile.topk_ratio) == (0.9, 0.5)


def test_where_both_are_set_the_group_wins_with_a_warning() -> None:
    values = {"calibration": {"mode": 0}, "quantization": {"calibration": {"mode": 2}}}
    with collected_warnings() as texts:
        assert CompileConfig.model_validate(values).calibration.mode == 2
    assert texts == [
        "calibration.mode and quantization.calibration.mode have different values; the grouped one is used"
    ]
    with collected_warnings(strict=True), pytest.raises(QBCompilerError, match="keep one of them"):
        CompileConfig.model_validate(values)


def test_groups_come_back_the_same() -> None:
    config = CompileConfig.model_validate(
        {
            "advancedQuantization": {
                "EquivalentTransformation": {"QK": {"apply": True}},
                "biasCorrection": {"apply": False},
            }
        }
    )
    again = CompileConfig.model_validate(config.grouped())
    assert again == config
    assert config.equivalent_transformation.qk.apply
    assert set(config.grouped()["advancedQuantization"]) == {
        "hessianQuant", "mod", "EquivalentTransformation", "searchWeightScale", "loadScale", "biasCorrection",
    }  # fmt: skip
    assert "modelPaths" not in config.grouped(paths=False)
