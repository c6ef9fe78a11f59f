"""The Python interface: one call from a model to an executable."""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import Any

from qbc.argument_types import PATH, path_of
from qbc.driver.compile import CompileResult, compile_model, parse, quantize
from qbc.driver.events import EventSink
from qbc.driver.plan import CompileOptions
from qbc.errors import ArgumentError
from qbcompiler.arguments import (
    PARSER_ONLY,
    SECTIONS,
    check_backend,
    check_device,
    check_kinds,
    check_order,
    check_part,
    check_shapes,
    refuse,
    settings_of,
    shapes_of_feed,
)
from qbcompiler.callback import ProgressCallback, log_event, run_with_callback
from qbcompiler.configured import configured_model, configured_output
from qbcompiler.given import given_arguments, remembers_arguments
from qbcompiler.older_names import translate

_logger = logging.getLogger("qbcompiler")


@remembers_arguments
def mxq_compile(
    model: Any = None,
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
    of those, or arrays in memory; `use_random_calib` takes its place in smoke tests. `feed_dict` binds the shapes of
    inputs. The target defaults to the one recorded in the `.mblt`, else to aries-rb. `compile_config` is a
    CompileConfig, a dictionary or the path of a .json, .yaml or .yml file. Settings are taken, highest first, from
    arguments that are given, fields set in `*_config` objects, the preset (else the configuration), defaults.

    Fields whose feature this version lacks are refused by name (UNSUPPORTED_FEATURE) or accepted with a notice in the
    log `qbcompiler`; their defaults are never refused. Returns the result with the path of the file, notices and
    reports; raises QBCompilerError.
    """
    return _compile(_Call.of(given_arguments()), log_event)


def mxq_compile_from_source(model: Any, *args: Any, **kwargs: Any) -> CompileResult:
    """Compile a source model; the arguments are those of `mxq_compile`, a `.mblt` is refused."""
    call = _Call.of(_by_name(model, args, kwargs))
    if call.is_snapshot:
        raise ArgumentError(f"{str(call.source)!r} is not a source model", hint="use mxq_compile_from_mblt")
    return _compile(call, log_event)


def mxq_compile_from_mblt(mblt: Any, *args: Any, **kwargs: Any) -> CompileResult:
    """Quantize a `.mblt` file; the arguments are those of `mxq_compile`.

    Arguments that only concern parsing are ignored with a warning each; a `model_part` is an ArgumentError.
    """
    call = _Call.of(_by_name(mblt, args, kwargs))
    if not call.is_snapshot:
        raise ArgumentError(f"{str(call.source)!r} is not a .mblt file", hint="use mxq_compile for source models")
    return _compile(call, log_event)


def mxq_compile_with_callback(
    model: Any, *args: Any, callback: ProgressCallback | None = None, **kwargs: Any
) -> CompileResult:
    """Compile as `mxq_compile` does and call `callback` (or `progress_callback`) with a dictionary for each event.

    Keys: `event` ("phase", "pass", "sample", "notice", "write" or "result"), `name` (of the phase or pass, the text of
    the notice, the path of the file), `done` and `total` (steps, samples), `fraction` (0..1 of the steps, None where it
    is not known); with "sample" also `remaining_seconds` (estimate for the rest of this pass over the data).

    An exception of the callback ends the compilation and reaches the caller as it is. "write" comes before the result
    is written: an exception up to there leaves no result, and an older file at its path as it was. "result" comes when
    the file is complete, so the file stays whatever the callback does with it.
    """
    callback = callback or kwargs.pop("progress_callback", None)
    call = _Call.of(_by_name(model, args, kwargs))
    return run_with_callback(callback, lambda on_event: _compile(call, on_event))


@remembers_arguments
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
    return _parse(given_arguments(), log_event)


def mblt_compile_with_callback(
    model: Any,
    mblt_save_path: str | Path,
    target_device: str | None = None,
    *,
    callback: ProgressCallback | None = None,
    **kwargs: Any,
) -> CompileResult:
    """Parse as `mblt_compile` does; `callback` is called as by `mxq_compile_with_callback`."""
    callback = callback or kwargs.pop("progress_callback", None)
    given = {"model": model, "mblt_save_path": mblt_save_path, "target_device": target_device, **kwargs}
    named = {name: value for name, value in given.items() if value is not None}
    return run_with_callback(callback, lambda on_event: _parse(named, on_event))


# --- one call ----------------------------------------------------------------------------------------------------


class _Call:
    """The checked arguments of one call, by present name, and where the model is."""

    def __init__(self, given: dict[str, Any], source: Path) -> None:
        self.given = given
        self.source = source
        self.is_snapshot = source.suffix.lower() == ".mblt"

    @classmethod
    def of(cls, given: Mapping[str, Any]) -> _Call:
        """Translate arguments of older releases, find the model, and check what concerns the call itself."""
        named = _with_present_names(given, [*_parameters(mxq_compile), *SECTIONS])
        check_kinds(named)
        check_order(named.get("target_device"), "mxq_compile", _parameters(mxq_compile)[:4])
        call = cls(named, _model_path(named.get("model"), named))
        check_part(call.is_snapshot, named.get("model_part"), named.get("model_part_options"))
        if call.is_snapshot:
            for name in [name for name in PARSER_ONLY if name in named]:
                _logger.warning("%s is ignored: a .mblt is parsed already", name)
                del named[name]
        else:
            check_backend(named.get("backend"))
            check_shapes(named)
            _warn_of_graph_choices(named)
        return call

    def options(self, on_event: EventSink) -> CompileOptions:
        """Return the options of the compile driver."""
        given = self.given
        check_device(given.get("device", "gpu"), _logger.info)
        sections, fields = settings_of(given)
        return CompileOptions(
            target=given.get("target_device"),
            backend=None if self.is_snapshot else check_backend(given.get("backend")),
            input_shapes=shapes_of_feed(given.get("feed_dict")),
            calibration=given.get("calib_data_path"),
            random_calibration=bool(given.get("use_random_calib", False)),
            preset=given.get("config_preset"),
            compile_config=given.get("compile_config"),
            sections=sections,
            arguments=fields,
            config_save_path=Path(given["config_save_path"]) if "config_save_path" in given else None,
            preview=_preview_path(given),
            provenance=provenance_wanted(),
            on_event=on_event,
        )


def _compile(call: _Call, on_event: EventSink) -> CompileResult:
    options = call.options(on_event)
    save_path = call.given.get("save_path")
    output = Path(configured_output(options) if save_path is None else save_path)
    return quantize(call.source, output, options) if call.is_snapshot else compile_model(call.source, output, options)


def _parse(given: Mapping[str, Any], on_event: EventSink) -> CompileResult:
    named = _with_present_names(given, [*_parameters(mblt_compile), "config_preset", "compile_config"])
    check_kinds(named)
    check_order(named.get("target_device"), "mblt_compile", _parameters(mblt_compile)[:3])
    source = _model_path(named.get("model"), named)
    if "mblt_save_path" not in named:
        raise ArgumentError("mblt_save_path is not given")
    backend = check_backend(named.get("backend"))
    check_part(source.suffix.lower() == ".mblt", named.get("model_part"), named.get("model_part_options"))
    check_shapes(named)
    _warn_of_graph_choices(named)
    for name in ("save_subgraph_type", "output_subgraph_path"):
        if named.get(name):
            _logger.warning("%s is ignored: mblt_save_path is the parsed graph", name)
    check_device(named.get("device", "gpu"), _logger.info)
    if named.get("cpu_offload"):
        raise refuse("cpu_offload", "running parts of the graph on the CPU")
    options = CompileOptions(
        target=named.get("target_device"),
        backend=backend,
        input_shapes=shapes_of_feed(named.get("feed_dict")),
        preset=named.get("config_preset"),
        compile_config=named.get("compile_config"),
        provenance=provenance_wanted(),
        on_event=on_event,
    )
    return parse(source, Path(named["mblt_save_path"]), options)


def _parameters(function: Callable[..., Any], *, by_position: bool = False) -> list[str]:
    """Return the names of the parameters of a function, or of those that may be given by position."""
    from inspect import Parameter, signature

    kinds = {Parameter.POSITIONAL_OR_KEYWORD} | (set() if by_position else {Parameter.KEYWORD_ONLY})
    return [name for name, parameter in signature(function).parameters.items() if parameter.kind in kinds]


def _by_name(model: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments of a call that passes on to `mxq_compile`, without those that are None."""
    names = _parameters(mxq_compile, by_position=True)
    if len(args) >= len(names):
        raise ArgumentError(f"{len(args) + 1} positional arguments, at most {len(names)} are accepted")
    by_position = {"model": model, **dict(zip(names[1:], args, strict=False))}
    twice = next((name for name in by_position if name in kwargs), None)
    if twice is not None:
        raise ArgumentError(f"{twice} is given twice, by position and by name")
    return {name: value for name, value in {**by_position, **kwargs}.items() if value is not None}


def _with_present_names(given: Mapping[str, Any], known: Collection[str]) -> dict[str, Any]:
    """Return the arguments with those beyond the signature translated; a present name goes before an older one."""
    present = {*known, *PARSER_ONLY}
    rest = {name: value for name, value in given.items() if name in present}
    extra = {name: value for name, value in given.items() if name not in present}
    return {**rest, **translate(extra, rest, known, _logger.warning)}


def _warn_of_graph_choices(given: Mapping[str, Any]) -> None:
    """Say that the whole graph is compiled as it was exported, where an argument asks for something else."""
    for name, usual in (("yolo_decode_include", True), ("exclude_first_subgraph", False)):
        if given.get(name, usual) is not usual:
            _logger.warning("%s is ignored: the graph is compiled as it was exported", name)


def _model_path(model: Any, given: Mapping[str, Any]) -> Path:
    if model is None:
        options = CompileOptions(preset=given.get("config_preset"), compile_config=given.get("compile_config"))
        model = configured_model(options)
    if isinstance(model, list | tuple):
        raise refuse("model", "a list of .mblt files, one graph for several sizes,")
    if not PATH.accepts(model) and hasattr(model, "__dict__"):
        raise refuse("model", f"compiling an object of type {type(model).__name__} (give the path of an ONNX file)")
    return path_of("model", model)


def _preview_path(given: Mapping[str, Any]) -> Path | None:
    """Return where `save_subgraph_type=2` wants a view of the parsed graph."""
    kind, path = given.get("save_subgraph_type"), given.get("output_subgraph_path")
    if kind in (None, 0):
        if path is not None:
            _logger.warning("output_subgraph_path is ignored: save_subgraph_type asks for no view of the graph")
        return None
    if path is None:
        _logger.warning("save_subgraph_type is ignored: output_subgraph_path names no file")
        return None
    _logger.warning("%s is a preview of the parsed graph: it can be viewed, not compiled", path)
    return Path(path)


def provenance_wanted() -> bool:
    """Return whether snapshots record the digest of their source (`QBCOMPILER_PROVENANCE=0` switches it off)."""
    import os

    return os.environ.get("QBCOMPILER_PROVENANCE", "1") != "0"
