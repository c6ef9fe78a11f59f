"""The Python interface: one call from a model to an executable."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from qbc.driver.compile import CompileResult, compile_model, parse, quantize
from qbc.driver.events import Event
from qbc.driver.plan import CompileOptions
from qbc.errors import ArgumentError
from qbcompiler.arguments import (
    applies,
    check_backend,
    check_device,
    check_extra,
    check_numbers,
    check_refused,
    check_scheme,
    check_sections,
    refuse,
    shapes_of_feed,
)

DEFAULT_SAVE_PATH = "./tmp.mxq"
_logger = logging.getLogger("qbcompiler")


def mxq_compile(
    model: Any,
    target_device: str | None = None,
    calib_data_path: Any = None,
    save_path: str | Path | None = None,
    backend: str = "onnx",
    feed_dict: Mapping[str, Any] | None = None,
    dynamic_axes: Mapping[str, Any] | None = None,
    multi_shape: Mapping[str, Any] | None = None,
    yolo_decode_include: bool | None = None,
    exclude_first_subgraph: bool = False,
    device: str = "gpu",
    inference_scheme: str = "single",
    use_random_calib: bool = False,
    cpu_offload: bool = False,
    optimize_option: int = 1,
    bias_correction: bool = True,
    buffer_mode: int = 1,
    force_npu_input_reposition: bool = False,
    force_npu_output_reposition: bool = False,
    image_channels: int = 0,
    split_blocks: list[int] | None = None,
    split_parts: int = 0,
    config_preset: str | None = None,
    compile_config: Any = None,
    config_save_path: str | Path | None = None,
    model_part: str | None = None,
    model_part_options: Mapping[str, Any] | None = None,
    calibration_config: Any = None,
    bit_config: Any = None,
    llm_config: Any = None,
    hessian_quant_config: Any = None,
    bias_correction_config: Any = None,
    mod_config: Any = None,
    equivalent_transformation_config: Any = None,
    search_weight_scale_config: Any = None,
    uint8_input_config: Any = None,
    preprocessing_config: Any = None,
    save_sample_config: Any = None,
    resource_management_config: Any = None,
    *,
    extra_output_config: Any = None,
    **kwargs: Any,
) -> CompileResult:
    """Compile an ONNX model, or a `.mblt` file, to an executable `.mxq`.

    `calib_data_path` is a directory of images or .npy files, an image, an .npy, .npz, .pt, .txt or .json file, a list
    of those, or arrays in memory; images need `preprocessing_config`. `use_random_calib` takes the place of data in
    smoke tests. `feed_dict` binds the shapes of inputs. The target defaults to the one recorded in the `.mblt`, else to
    aries-rb. Arguments whose feature this version lacks are refused by name (UNSUPPORTED_FEATURE) or accepted with a
    notice in the log `qbcompiler`; their defaults are never refused.

    Returns the result with the path of the file, notices and reports; raises QBCompilerError.
    """
    source = _model_path(model)
    is_snapshot = source.suffix.lower() == ".mblt"
    if not is_snapshot:
        check_backend(backend)
    _check_part(is_snapshot, model_part, model_part_options)
    check_device(device, _logger.info)
    check_scheme(inference_scheme, target_device)
    check_numbers(optimize_option, buffer_mode, image_channels, _logger.warning)
    check_refused(
        {
            "multi_shape": (multi_shape, "compiling one graph for several sizes"),
            "dynamic_axes": (dynamic_axes, "a dynamic dimension in the executable"),
            "cpu_offload": (cpu_offload, "running parts of the graph on the CPU"),
            "force_npu_input_reposition": (force_npu_input_reposition, "input reposition on the NPU"),
            "force_npu_output_reposition": (force_npu_output_reposition, "output reposition on the NPU"),
            "split_blocks": (split_blocks, "splitting a model into several executables"),
            "split_parts": (split_parts, "splitting a model into several executables"),
            "config_save_path": (config_save_path, "writing the resolved configuration"),
        }
    )
    check_sections(
        {
            "bit_config": bit_config,
            "llm_config": llm_config,
            "hessian_quant_config": hessian_quant_config,
            "mod_config": mod_config,
            "equivalent_transformation_config": equivalent_transformation_config,
            "search_weight_scale_config": search_weight_scale_config,
            "uint8_input_config": uint8_input_config,
            "save_sample_config": save_sample_config,
            "extra_output_config": extra_output_config,
        }
    )
    extra = {**kwargs, **({"exclude_first_subgraph": True} if exclude_first_subgraph else {})}
    check_extra(extra, _logger.warning)
    if yolo_decode_include is False:
        _logger.warning("yolo_decode_include is ignored: the graph is compiled as it was exported")
    if resource_management_config is not None:
        _logger.warning("resource_management_config has no effect yet")
    options = CompileOptions(
        target=target_device,
        input_shapes=shapes_of_feed(feed_dict),
        calibration=calib_data_path,
        random_calibration=use_random_calib,
        preset=config_preset,
        calibration_config=_calibration(config_preset, compile_config, calibration_config),
        sections=_sections(preprocessing_config, image_channels),
        bias_correction=bias_correction and applies(bias_correction_config),
        provenance=provenance_wanted(),
        on_event=_log_event,
    )
    output = Path(save_path) if save_path is not None else Path(DEFAULT_SAVE_PATH)
    return quantize(source, output, options) if is_snapshot else compile_model(source, output, options)


def mblt_compile(
    model: Any,
    mblt_save_path: str | Path,
    target_device: str | None = None,
    backend: str = "onnx",
    feed_dict: Mapping[str, Any] | None = None,
    dynamic_axes: Mapping[str, Any] | None = None,
    multi_shape: Mapping[str, Any] | None = None,
    cpu_offload: bool = False,
    device: str = "gpu",
    model_part: str | None = None,
    model_part_options: Mapping[str, Any] | None = None,
    **kwargs: Any,
) -> CompileResult:
    """Parse an ONNX model to a `.mblt` file; needs no target and no data.

    Operators without an mblt form stay in the file and are listed in `result.reports["conversion"]`.
    """
    source = _model_path(model)
    check_backend(backend)
    _check_part(source.suffix.lower() == ".mblt", model_part, model_part_options)
    check_device(device, _logger.info)
    check_refused(
        {
            "multi_shape": (multi_shape, "one graph for several sizes"),
            "dynamic_axes": (dynamic_axes, "a dynamic dimension"),
            "cpu_offload": (cpu_offload, "running parts of the graph on the CPU"),
        }
    )
    check_extra(kwargs, _logger.warning)
    options = CompileOptions(
        target=target_device,
        input_shapes=shapes_of_feed(feed_dict),
        provenance=provenance_wanted(),
        on_event=_log_event,
    )
    return parse(source, Path(mblt_save_path), options)


def provenance_wanted() -> bool:
    """Return whether snapshots record the digest of their source (`QBCOMPILER_PROVENANCE=0` switches it off)."""
    import os

    return os.environ.get("QBCOMPILER_PROVENANCE", "1") != "0"


def _model_path(model: Any) -> Path:
    if isinstance(model, list | tuple):
        raise refuse("model", "a list of .mblt files, one graph for several sizes,")
    if not isinstance(model, str | Path):
        kind = type(model).__name__
        raise refuse("model", f"compiling a {kind} object (give the path of an ONNX file)")
    return Path(model)


def _check_part(is_snapshot: bool, model_part: str | None, options: Mapping[str, Any] | None) -> None:
    if model_part is None and not options:
        return
    if is_snapshot:
        raise ArgumentError("model_part cannot be chosen for a .mblt: it was chosen when the file was made")
    raise refuse("model_part", "choosing a part of a model")


def _sections(preprocessing: Any, image_channels: int) -> dict[str, Any]:
    """Return the settings of the configuration that arguments give."""
    sections: dict[str, Any] = {}
    if preprocessing is not None:
        sections["preprocessing"] = preprocessing
    if image_channels:
        sections["image_channels"] = image_channels
    return sections


def _calibration(preset: str | None, compile_config: Any, calibration: Any) -> Any:
    """Return the calibration section: the explicit one over the one of a configuration object."""
    if compile_config is None:
        return calibration
    if preset is not None:
        _logger.warning("config_preset wins: compile_config %s is not read", compile_config)
        return calibration
    from qbc.config import CompileConfig

    if not isinstance(compile_config, CompileConfig):
        raise refuse("compile_config", "a configuration file")
    if calibration is None:
        return compile_config.calibration
    return compile_config.calibration.model_copy(update=dict(_set_fields(calibration)))


def _set_fields(calibration: Any) -> Mapping[str, Any]:
    from qbc.config import CalibrationConfig

    checked = CalibrationConfig.model_validate(calibration) if isinstance(calibration, Mapping) else calibration
    return {name: getattr(checked, name) for name in checked.model_fields_set}


def _log_event(event: Event) -> None:
    if event.kind == "notice":
        _logger.warning("%s", event.name)
    elif event.kind == "phase":
        _logger.info("phase %s", event.name)
