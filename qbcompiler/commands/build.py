"""`compile`, `parse`, `quantize`, and `--version`."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from qbc.errors import ArgumentError
from qbcompiler.channel import channel
from qbcompiler.parser import PHASE_NAMES

if TYPE_CHECKING:
    from qbc.driver.compile import CompileResult
    from qbc.driver.plan import CompileOptions


def version(options: argparse.Namespace) -> int:
    """Print the version."""
    if not options.version:
        raise ArgumentError("no command given", hint="qbcompiler --help lists the commands")
    from qbc.version import own_version

    number = own_version()
    channel().result("version", {"version": number}, f"qbcompiler {number}")
    return 0


def compile_command(options: argparse.Namespace) -> int:
    """Compile a source model or a snapshot."""
    from qbc.driver.compile import compile_model
    from qbcompiler.configured import configured_model, configured_output

    settings = _settings(options)
    if options.print_pipeline:
        return _print_pipeline(settings, PHASE_NAMES[: PHASE_NAMES.index(options.compile_to) + 1])
    model = options.model or configured_model(settings)
    output = options.output or configured_output(settings)
    _check_report(options, model, output)
    return _show(compile_model(model, output, settings, to=options.compile_to), options)


def parse_command(options: argparse.Namespace) -> int:
    """Parse a source model."""
    from qbc.driver.compile import parse
    from qbc.driver.plan import PARSE_PHASES

    settings = _settings(options)
    if options.print_pipeline:
        return _print_pipeline(settings, PARSE_PHASES[: PARSE_PHASES.index(options.compile_to) + 1])
    _check_report(options, options.model, options.output)
    return _show(parse(options.model, options.output, settings, to=options.compile_to), options)


def quantize_command(options: argparse.Namespace) -> int:
    """Quantize a `.mblt`."""
    from qbc.driver.compile import quantize
    from qbc.driver.plan import QUANTIZE_PHASES
    from qbcompiler.configured import configured_output

    settings = _settings(options)
    if options.print_pipeline:
        return _print_pipeline(settings, QUANTIZE_PHASES[: QUANTIZE_PHASES.index(options.compile_to) + 1])
    output = options.output or configured_output(settings)
    _check_report(options, options.mblt, output)
    return _show(quantize(options.mblt, output, settings, to=options.compile_to), options)


def _check_report(options: argparse.Namespace, source: str, output: str) -> None:
    """Refuse a report file before the work when it cannot be written or is a file of the compilation."""
    if options.report is None:
        return
    from qbc.atomic import check_writable
    from qbc.driver.outputs import check_files

    check_files([source, options.compile_config, *getattr(options, "calib_data_path", [])], [output, options.report])
    check_writable(options.report)


def _settings(options: argparse.Namespace) -> CompileOptions:
    """Turn the options of a command into those of the compile driver."""
    from qbc.driver.arguments import parse_input_shapes
    from qbc.driver.plan import CompileOptions
    from qbcompiler.api import provenance_wanted
    from qbcompiler.arguments import check_backend, check_device

    if options.quiet and options.verbose:
        raise ArgumentError("--quiet and --verbose exclude each other")
    if options.strict_config and options.compile_config is None:
        channel().notice("strict_config has no effect: there is no configuration file")
    backend = check_backend(getattr(options, "backend", None))
    if options.device is not None:
        check_device(options.device, channel().notice)
    paths = getattr(options, "calib_data_path", [])
    names = ("cpu_offload", "inference_scheme", "device", "use_random_calib")
    given = {name: getattr(options, name, None) for name in names}
    return CompileOptions(
        target=options.target_device,
        backend=backend,
        input_shapes=parse_input_shapes(getattr(options, "input_shape", [])),
        calibration=(paths[0] if len(paths) == 1 else paths) if paths else None,
        random_calibration=bool(given["use_random_calib"]),
        preset=options.config_preset,
        compile_config=options.compile_config,
        arguments={name: value for name, value in given.items() if value is not None},
        strict_config=options.strict_config,
        config_save_path=getattr(options, "config_save_path", None),
        pipeline=options.pass_pipeline,
        dump_ir=options.dump_ir,
        crash_reproducer=options.crash_reproducer,
        report=options.report,
        verify_each=options.verify_each == "true",
        provenance=provenance_wanted(),
        on_event=channel().sink(quiet=options.quiet, verbose=options.verbose),
    )


def _print_pipeline(settings: CompileOptions, phases: Sequence[str]) -> int:
    from qbc.driver.plan import make_plan

    text = make_plan(settings, tuple(phases)).text()
    channel().result("print-pipeline", {"pipeline": text}, text)
    return 0


def _show(result: CompileResult, options: argparse.Namespace) -> int:
    import sys

    if options.timing:
        sys.stderr.write(result.timing.render())
    if options.report is not None:
        from qbcompiler.reports import write_reports

        write_reports(result, options.report)
    channel().result(options.command, _data(result), lambda: _text(result, options))
    return 0


def _data(result: CompileResult) -> dict[str, Any]:
    from qbcompiler.reports import report_tables

    size = Path(result.output).stat().st_size
    return {"output": str(result.output), "bytes": size, **report_tables(result)}


def _text(result: CompileResult, options: argparse.Namespace) -> str:
    if options.quiet:
        return ""
    from qbcompiler.console import human_bytes
    from qbcompiler.reports import render_reports

    size = human_bytes(result.output.stat().st_size)
    return "\n".join([*render_reports(result, whole=options.verbose), f"wrote {result.output} ({size})"])
