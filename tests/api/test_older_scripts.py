"""Call forms of older scripts: each compiles an image model, and makes what the plain route of today makes."""

from __future__ import annotations

import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from PIL import Image

from qbc.modes import CORE_MODES
from qbc.runtime import load
from qbc.store import read_container
from qbcompiler import (
    BitConfig,
    CalibrationConfig,
    HessianQuantConfig,
    InputProcessConfig,
    LayerBiasCorrectionConfig,
    OptqConfig,
    PreprocessingConfig,
    QBCompilerError,
    QuantizationConfig,
    ResourceManagementConfig,
    Uint8InputConfig,
    mblt_compile,
    mxq_compile,
    mxq_compile_from_mblt,
)
from qbcompiler.cli import main
from qbcompiler.demo import digits_model_path

MODEL = str(digits_model_path())
Compile = Callable[..., Path]


@pytest.fixture(scope="module")
def images() -> np.ndarray[Any, Any]:
    """Pictures of 16x16 grey pixels, both extremes in each."""
    pixels = np.random.default_rng(3).integers(0, 256, (6, 16, 16), np.uint8)
    pixels[:, 5, 5:8], pixels[:, 10, 5:8] = 0, 255
    return pixels


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory, images: np.ndarray[Any, Any]) -> str:
    directory = tmp_path_factory.mktemp("data")
    for index, image in enumerate(images):
        np.save(directory / f"{index}.npy", (image[4:12, 4:12] / np.float32(255))[None, None])
    return str(directory)


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory, data: str) -> Compile:
    """The command line of today, with a configuration file."""

    def compile_plain(config: dict[str, Any] | None = None, samples: str = data, target: str = "aries-rb") -> Path:
        directory = tmp_path_factory.mktemp("plain")
        (directory / "config.yaml").write_text(yaml.safe_dump(config or {}))
        arguments = ["--calib-data-path", samples, "--compile-config", str(directory / "config.yaml"), "--quiet"]
        output = directory / "plain.mxq"
        whole = ["compile", "--model", MODEL, "--output", str(output), "--target-device", target, *arguments]
        assert main(whole) == 0
        return output

    return compile_plain


@pytest.fixture(scope="module")
def reference(plain: Compile) -> Path:
    return plain()


def program(path: Path) -> dict[str, bytes]:
    """Return all sections but the record of how the file was made."""
    container = read_container(path, "MXQ")
    return {name: bytes(container.section(name)) for name in container.sections if name != "manifest"}


@pytest.fixture
def older(tmp_path: Path, data: str, caplog: pytest.LogCaptureFixture) -> Callable[..., tuple[Path, list[str]]]:
    """Compile in an older form; returns the file and the warnings."""

    def compile_older(**arguments: Any) -> tuple[Path, list[str]]:
        output = tmp_path / "older.mxq"
        given = {"model": MODEL, "target_device": "aries-rb", "calib_data_path": data, "save_path": str(output)}
        caplog.clear()
        with caplog.at_level(logging.WARNING, "qbcompiler"):
            mxq_compile(**{**given, **arguments})
        return output, [record.getMessage() for record in caplog.records]

    return compile_older


Older = Callable[..., tuple[Path, list[str]]]


# --- Hessian-based quantization, which does not exist yet --------------------------------------------------------


@pytest.mark.parametrize(
    "section",
    [
        lambda: OptqConfig(apply=True),
        lambda: OptqConfig(apply=True, act_order=True, block_size=128, percdamp=0.01),  # type: ignore[call-arg]
        lambda: OptqConfig(apply=True, attributes={"actOrder": True}),  # type: ignore[arg-type]
        lambda: {"apply": True, "actOrder": True},
    ],
)
def test_optq_runs_with_one_warning(older: Older, reference: Path, section: Callable[[], Any]) -> None:
    output, warnings = older(optq_config=section())
    assert output.read_bytes() == reference.read_bytes()
    assert warnings == [
        "optq_config is now called hessian_quant_config; Hessian-based quantization does not exist in this version: "
        "the compilation goes on without it"
    ]


def test_optq_that_is_off(older: Older, reference: Path) -> None:
    output, warnings = older(optq_config=OptqConfig(apply=False))
    assert output.read_bytes() == reference.read_bytes()
    assert warnings == ["optq_config is now called hessian_quant_config"]
    assert older(optq_config=None) == (output, []) and output.read_bytes() == reference.read_bytes()
    with pytest.raises(ValueError, match="optq_config: blocksize: unknown key, did you mean 'attributes.block"):
        older(optq_config={"apply": True, "blocksize": 3})


def test_the_present_name_is_refused(older: Older) -> None:
    for section in (HessianQuantConfig(apply=True), OptqConfig(apply=True)):
        with pytest.raises(QBCompilerError, match="hessianQuant.apply: Hessian-based") as caught:
            older(hessian_quant_config=section)
        assert caught.value.code == "UNSUPPORTED_FEATURE"


def test_optq_of_a_file(plain: Compile, reference: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for config in ({"optq": {"apply": True}}, {"advancedQuantization": {"optq": {"apply": True, "actOrder": True}}}):
        assert program(plain(config)) == program(reference)
        assert capsys.readouterr().err.count("goes on without it") == 1


# --- the other forms ---------------------------------------------------------------------------------------------

PERCENTILE = {"percentile": 0.9999, "topk_ratio": 0.01}
FLAT = dict(  # noqa: C408
    quantization_method=1, quantization_output=1, quantization_mode=1, percentile=0.99, topk_ratio=0.02, max_each=2048,
    max_total=2048, hist_percentile=0.99, hist_use_gpu=False, hist_num_bins=2048, hist_num_samples=1000,
    hist_buffer_size=1024, hist_min_bin_width=0.0001, hist_search_percentile_min=0.95,
    hist_search_percentile_max=0.9999, hist_num_search=10, hist_search_type=0, act_scale_min=0.0005,
    weight_scale_min=0.0001, min_clip_ratio=0.25, layer_overrides={}, optional=False,
)  # fmt: skip
FLAT_TODAY = {
    "method": 1, "output": 1, "mode": 1, "maxPercentile": {"percentile": 0.99, "topkRatio": 0.02}, "minClipRatio": 0.25,
}  # fmt: skip
EXACT = {"method": 1, "mode": 1, "output": 0, "maxPercentile": {"percentile": 0.9999, "topkRatio": 0.01}}
KWARGS = dict(  # noqa: C408
    quantization_method=1, quantization_output=0, quantization_mode=2, percentile=0.9999, topk_ratio=0.01
)
OFF = {"biasCorrection": {"apply": False}}


@pytest.mark.filterwarnings("ignore::qbc.config.ConfigWarning")
@pytest.mark.parametrize(
    "arguments, config, warning",
    [
        ({"bias_correction": False}, OFF, None),
        ({"layer_bias_correction": False}, OFF, "layer_bias_correction is now called bias_correction"),
        ({"layer_bias_correction": True}, {}, "layer_bias_correction is now called bias_correction"),
        (
            {"layer_bias_correction_config": LayerBiasCorrectionConfig()},
            OFF,
            "layer_bias_correction_config is now called bias_correction_config",
        ),
        (
            {"layer_bias_correction_config": {"attributes": {"numSamples": 256}}},
            OFF,
            "layer_bias_correction_config is now called bias_correction_config",
        ),
        ({"compile_config": {"layerBiasCorrection": {"attributes": {}}}}, OFF, "layerBiasCorrection is called"),
        ({"compile_config": {"layerBiasCorrection": {"apply": True}}}, {}, "layerBiasCorrection is called"),
        (
            {"calibration_config": CalibrationConfig(method=1, output=0, mode=1, max_percentile=PERCENTILE)},  # type: ignore
            {"calibration": EXACT},
            None,
        ),
        ({"calibration_config": lambda: CalibrationConfig(**FLAT)}, {"calibration": FLAT_TODAY}, None),
        ({"calibration_config": FLAT}, {"calibration": FLAT_TODAY}, "quantization_mode is called mode"),
        (
            {"quantization_config": QuantizationConfig.from_kwargs(**KWARGS)},
            {"calibration": {**EXACT, "mode": 2}},
            "quantization_config is now called calibration_config and bit_config",
        ),
        (
            {"quantization_config": QuantizationConfig.from_kwargs(activation_16bits=["*"])},
            {"bit": {"layerOverrides": {"activation16Bits": ["*"]}}},
            "quantization_config is now called calibration_config and bit_config",
        ),
        (
            {"bit_config": lambda: BitConfig(activation_16bits=["*"])},  # type: ignore[call-arg]
            {"bit": {"layerOverrides": {"activation16Bits": ["*"]}}},
            None,
        ),
        (
            {"resource_management_config": lambda: ResourceManagementConfig(use_gpu_only_for_calibration=True)},  # type: ignore[call-arg]
            {},
            None,
        ),
        ({"use_gpu_only_for_calibration": True}, {}, "use_gpu_only_for_calibration is ignored"),
        ({"weight_dtype": "bfloat16"}, {}, "weight_dtype is now a field of resource_management_config"),
        ({"optimize_option": 2}, {}, "accepted without effect: optimizeOption (has no effect yet)"),
        ({"hessian_quant_config": None}, {}, None),
        ({"target_device": None}, {}, "no target device given, using aries-rb"),
        ({"target_device": "aries2"}, {}, "'aries2' is now called 'aries-rb'"),
        ({"calib_txt_path": "data", "calib_data_path": None}, {}, "calib_txt_path is now called calib_data_path"),
        ({"quantize_method": "max"}, {"calibration": {"mode": 0}}, "quantize_method is now a field of"),
        ({"quantize_percentile": 0.9}, {"calibration": {"maxPercentile": {"percentile": 0.9}}}, "is now a field of"),
    ],
)
def test_same_program_as_the_plain_route(
    older: Older, plain: Compile, data: str, arguments: dict[str, Any], config: dict[str, Any], warning: str | None
) -> None:
    given = {name: value() if callable(value) else value for name, value in arguments.items()}
    given = {name: data if value == "data" else value for name, value in given.items()}
    output, warnings = older(**given)
    assert program(output) == program(plain(config))
    assert warning is None or any(warning in text for text in warnings), warnings


def test_flat_keys_are_one_warning() -> None:
    with pytest.warns(UserWarning) as caught:
        CalibrationConfig(**FLAT)  # type: ignore[arg-type]
    assert len(caught) == 1 and caught[0].filename == __file__


def test_uint8_inputs(older: Older, reference: Path, tmp_path: Path, images: np.ndarray[Any, Any]) -> None:
    """The byte `p` is the number `p / 255`: both programs compute the same."""
    (tmp_path / "bytes").mkdir()
    for index, image in enumerate(images):
        np.save(tmp_path / "bytes" / f"{index}.npy", image[None, 4:12, 4:12, None])
    section = Uint8InputConfig(apply=True, inputs=[])
    output, _ = older(calib_data_path=str(tmp_path / "bytes"), uint8_input_config=section)
    bytes_, floats = load(output), load(reference)
    for image in images[:, 4:12, 4:12, None]:
        found = bytes_.run({"image": image[None]})["logits"]
        np.testing.assert_array_equal(found, floats.run({"image": image[None] / np.float32(255)})["logits"])


PIPELINE = [
    {"op": "resize", "height": 12, "width": 12, "mode": "bilinear", "backend": "pil"},
    {"op": "centerCrop", "height": 8, "width": 8},
    {"op": "normalize", "mean": [0.5], "std": [0.25], "scaleToUint8": True},
]


@pytest.fixture(scope="module")
def pictures(tmp_path_factory: pytest.TempPathFactory, images: np.ndarray[Any, Any]) -> tuple[str, str]:
    """Pictures, and what the pipeline makes of them, by Pillow and numpy."""
    colours, arrays = tmp_path_factory.mktemp("pictures"), tmp_path_factory.mktemp("arrays")
    for index, image in enumerate(images):
        picture = Image.fromarray(image)
        picture.save(colours / f"{index}.png")
        small = np.asarray(picture.resize((12, 12), Image.Resampling.BILINEAR))[2:10, 2:10]
        np.save(arrays / f"{index}.npy", ((small / np.float32(255) - np.float32(0.5)) / np.float32(0.25))[None, None])
    return str(colours), str(arrays)


def test_preprocessing(older: Older, plain: Compile, pictures: tuple[str, str]) -> None:
    colours, arrays = pictures
    section = PreprocessingConfig(apply=True, auto_convert_format=True, pipeline=PIPELINE, input_configs={})  # type: ignore
    output, _ = older(calib_data_path=colours, preprocessing_config=section)
    assert program(output) == program(plain(samples=arrays))


def test_input_processing(older: Older, plain: Compile, pictures: tuple[str, str]) -> None:
    """The arguments of the scripts for releases 0.12 to 1.0, and the sections of today."""
    colours, _ = pictures
    pipeline: Any = [*PIPELINE[:2], {**PIPELINE[2], "fuseIntoFirstLayer": True}]
    output, warnings = older(
        calib_data_path=colours,
        input_process_config=InputProcessConfig(
            uint8_input=Uint8InputConfig(apply=True, inputs=[]),
            image_channels=1,
            preprocessing=PreprocessingConfig(
                apply=True, auto_convert_format=True, pipeline=pipeline, input_configs={}
            ),
        ),
        quantization_config=QuantizationConfig.from_kwargs(**KWARGS),
        inference_scheme="single",
        device="gpu",
    )
    today = {
        "uint8Input": {"apply": True},
        "imageChannels": 1,
        "preprocessing": {"apply": True, "autoConvertFormat": True, "pipeline": pipeline},
        "calibration": {**EXACT, "mode": 2},
    }
    assert program(output) == program(plain(today, samples=colours))
    assert [text.partition(" is now called ")[0] for text in warnings][:2] == [
        "input_process_config",
        "quantization_config",
    ]


def test_all_core_modes(older: Older, reference: Path, images: np.ndarray[Any, Any]) -> None:
    output, _ = older(inference_scheme="all")
    inputs = {"image": images[:1, 4:12, 4:12, None] / np.float32(255)}
    want = load(reference).run(inputs)["logits"]
    for mode in CORE_MODES:
        np.testing.assert_array_equal(load(output, mode=mode).run(inputs)["logits"], want)


def test_a_preview_is_not_compiled(older: Older, reference: Path, tmp_path: Path) -> None:
    preview = tmp_path / "p.mblt"
    output, warnings = older(save_subgraph_type=2, output_subgraph_path=str(preview))
    assert output.read_bytes() == reference.read_bytes()
    assert len(warnings) == 1 and "it can be viewed, not compiled" in warnings[0]
    for attempt in (mxq_compile, mxq_compile_from_mblt):
        with pytest.raises(QBCompilerError, match="is a preview"):
            attempt(str(preview), "aries-rb", use_random_calib=True, save_path=tmp_path / "b.mxq")


@pytest.mark.parametrize(
    "arguments", [{"save_subgraph_type": 2}, {"output_subgraph_path": "p.mblt"}, {"save_subgraph_type": 0}]
)
def test_half_of_a_preview_is_told(older: Older, reference: Path, arguments: dict[str, Any]) -> None:
    output, warnings = older(**arguments)
    assert output.read_bytes() == reference.read_bytes()
    assert [text.partition(" is ignored")[0] for text in warnings] == [
        name for name, value in arguments.items() if value
    ]


# --- where older and present arguments meet ----------------------------------------------------------------------


def test_older_fields_fill_what_the_section_leaves_open(older: Older, plain: Compile) -> None:
    output, warnings = older(calibration_config=CalibrationConfig(mode=1), quantize_percentile=0.9)
    config = {"calibration": {"mode": 1, "maxPercentile": {"percentile": 0.9}}}
    assert program(output) == program(plain(config))
    assert warnings[0] == "quantize_percentile is now a field of calibration_config"
    assert not any("different values" in text for text in warnings)


def test_present_arguments_go_first_with_a_warning(older: Older, plain: Compile) -> None:
    output, warnings = older(
        calibration_config={"mode": 0}, quantization_mode=2, bias_correction=False, layer_bias_correction=True
    )
    assert program(output) == program(plain({"calibration": {"mode": 0}, **OFF}))
    assert "quantization_mode and calibration_config set the same fields to different values" in warnings[1]
    assert warnings[3] == "layer_bias_correction is not read: bias_correction is given too"


# --- removed with a reason ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "arguments", [{"quantize_method": "max"}, {"layer_bias_correction": True}, {"quantization_config": {}}]
)
def test_parsing_takes_no_arguments_of_quantization(tmp_path: Path, arguments: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=f"{next(iter(arguments))} is no argument of this function"):
        mblt_compile(MODEL, tmp_path / "a.mblt", **arguments)


FEED = {"feed_dict": {"image": np.zeros((1, 1, 8, 8), np.float32)}}
SIZES = {"multi_shape": {"image": {"axis": 2, "values": (8, 16)}}}


@pytest.mark.parametrize(
    "arguments, reason",
    [
        ({"in_dformats": "NHWC"}, "the layout of inputs is found from the model"),
        ({"input_shape_dict": {}}, "multi_shape"),
        ({"hf_config": {}}, "model_part"),
        ({"backend": "caffe"}, "choose one of onnx"),
        (SIZES, "multi_shape needs feed_dict"),
        ({**SIZES, **FEED, "dynamic_axes": {"image": 2}}, "exclude each other"),
        ({"quantize_method": "best"}, "choose one of max, percentile"),
        ({"quant_output": 3}, "choose one of layer"),
        ({"quantization_config": {"mode": 1}}, "quantization_config: mode: unknown key"),
        ({"input_process_config": {"image_channels": 2}}, "input_process_config: imageChannels: input should be"),
    ],
)
def test_value_errors_with_the_reason(older: Older, arguments: dict[str, Any], reason: str) -> None:
    with pytest.raises(ValueError, match="(?s).*") as caught:
        older(**arguments)
    assert isinstance(caught.value, QBCompilerError) and reason in str(caught.value)


@pytest.mark.parametrize("name, value", [("model_part", "vision"), ("model_part_options", {"last_token_only": True})])
def test_parts_cannot_be_chosen_for_a_snapshot(older: Older, tmp_path: Path, name: str, value: Any) -> None:
    mblt_compile(MODEL, tmp_path / "a.mblt")
    with pytest.raises(ValueError, match=f"{name} cannot be chosen"):
        older(model=str(tmp_path / "a.mblt"), **{name: value})
