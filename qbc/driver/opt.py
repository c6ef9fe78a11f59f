"""`qbc-opt`: run any pass pipeline on IR text, ONNX models and snapshots.

    qbc-opt model.onnx --pass-pipeline='framework-fold-shapes,convert-framework-to-mblt' -o model.mlir
    qbc-opt model.mlir --pass-pipeline='builtin.module(func.func(mblt-fold-batch-norm),convert-mblt-to-quant)'

IR goes to stdout or to the file of `-o`; the weights that it names go to the directory `model.blobs` beside that file
(or to `--blobs DIR`) and are found there again. Errors go to stderr as `error[CODE]: message`; the exit status is 1.
"""

from __future__ import annotations

import argparse
import math
import os
import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from xdsl.dialects.builtin import ModuleOp

from qbc.atomic import check_writable, undone_on_failure
from qbc.dialects.blob.handles import blob_keys
from qbc.driver.arguments import Parser
from qbc.driver.blobs import sidecar
from qbc.driver.context import DriverContext, dialect_names, make_context
from qbc.driver.diagnostics import Diagnostic, check_expectations, diagnostics_of, expectations_of
from qbc.driver.emit import save_weights, text_of, write_texts
from qbc.driver.files import add_sidecar, is_binary, is_source_model, read_module, read_text
from qbc.driver.interrupts import ReaderLeft
from qbc.driver.outputs import KINDS, check_files
from qbc.driver.reproducer import pipeline_of_reproducer, take_target_of_reproducer
from qbc.errors import ArgumentError, QBCompilerError, file_error
from qbc.extensions import exit_error
from qbc.pipelines.grammar import Pipeline, parse_pipeline
from qbc.pipelines.text import parse_ir

_SPLIT = re.compile(r"^// -----[^\n]*$", re.MULTILINE)


def main(argv: Sequence[str] | None = None) -> int:
    """Run `qbc-opt` with the given arguments; returns the exit status."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    try:
        options = _parser().parse_args(arguments)
        try:
            return _run(options)
        except SystemExit as error:
            raise exit_error(error) from error
    except ReaderLeft:
        raise
    except SystemExit as exit_request:  # --help ends this way; callers in the same process want a number
        return exit_request.code if isinstance(exit_request.code, int) else 1
    except QBCompilerError as error:
        if error.code == "INTERNAL_ERROR" and os.environ.get("QBC_TRACEBACK") == "1":
            raise
        _report(diagnostics_of(error))
    except KeyboardInterrupt:
        _report([Diagnostic("INTERRUPTED", "interrupted")])
    except MemoryError:
        _report([Diagnostic("RESOURCE_ERROR", "there is not enough memory")])
    except OSError as error:
        _report(diagnostics_of(file_error(error)))
    except Exception as error:  # the last boundary: a defect is one diagnostic too, unless its traceback is asked for
        if os.environ.get("QBC_TRACEBACK") == "1":
            raise
        _report([Diagnostic("INTERNAL_ERROR", f"{type(error).__name__}: {error} (set QBC_TRACEBACK=1 to see where)")])
    return 1


def _tolerance(text: str) -> float:
    value = float(text)
    if not 0 <= value < math.inf:
        raise argparse.ArgumentTypeError(f"{text} is no tolerance, it must be 0 or more")
    return value


def _parser() -> Parser:
    parser = Parser(
        prog="qbc-opt",
        description="Run a pass pipeline on .mlir text, an .onnx model, or a .mblt or .mxq snapshot.",
        allow_abbrev=False,
    )
    add = parser.add_argument
    add("input", nargs="?", default="-", help="input file; '-' or nothing reads IR text from stdin")
    add("-o", "--output", default="-", help="output file (default: stdout)")
    add("-p", "--pass-pipeline", metavar="TEXT", help="passes to run, flat or nested text")
    add("--list-passes", action="store_true", help="list all passes with their options and stop")
    add("--show-dialects", action="store_true", help="list the known dialects and stop")
    add("--split-input-file", action="store_true", help="treat parts between '// -----' lines as separate modules")
    add("--verify-diagnostics", action="store_true", help="check errors against '// expected-error {{...}}' comments")
    add(
        "--verify-each",
        nargs="?",
        const="true",
        default="true",
        choices=("true", "false"),
        metavar="BOOL",
        help="verify after each pass (default: true; false verifies before the first and after the last)",
    )
    add("--allow-unregistered-dialect", action="store_true", help="accept operations of unknown dialects")
    add(
        "--print-op-generic",
        "--mlir-print-op-generic",
        dest="generic",
        action="store_true",
        help="print the generic form",
    )
    add("--no-locations", action="store_true", help="print no source names")
    for when in ("before", "after"):
        add(
            f"--print-ir-{when}",
            f"--mlir-print-ir-{when}",
            dest=f"print_{when}",
            action="append",
            default=[],
            metavar="PASS",
            help=f"print the module {when} a pass on stderr (repeatable)",
        )
        add(
            f"--print-ir-{when}-all",
            f"--mlir-print-ir-{when}-all",
            dest=f"print_{when}",
            action="append_const",
            const="*",
            help=f"print the module {when} every pass",
        )
    add(
        "--print-ir-after-change",
        "--mlir-print-ir-after-change",
        dest="after_change",
        action="store_true",
        help="with --print-ir-after*: print only where the module changed",
    )
    add("--dump-ir", type=Path, metavar="DIR", help="write one numbered file for each pass that changed the module")
    add("--timing", "--mlir-timing", dest="timing", action="store_true", help="print a timing tree on stderr")
    add(
        "--statistics",
        "--mlir-pass-statistics",
        dest="statistics",
        action="store_true",
        help="print the counts of passes",
    )
    add("--print-pipeline", action="store_true", help="print the pipeline with every option filled in, and stop")
    add(
        "--numeric-gate",
        type=_tolerance,
        nargs="?",
        const=1e-4,
        metavar="TOLERANCE",
        help="run float modules around each pass and fail where outputs differ (default: 1e-4 of their range)",
    )
    add(
        "--crash-reproducer", type=Path, metavar="FILE", help="on a failure write the module and the remaining pipeline"
    )
    add("--run-reproducer", action="store_true", help="run the pipeline that a reproducer file names")
    add("--blobs", type=Path, metavar="DIR", help="directory of weights to read and to write")
    add(
        "--input-shape", action="append", default=[], metavar="NAME=1x3x224x224", help="bind the shape of a model input"
    )
    add("--target-device", metavar="NAME", help="device name or YAML file for passes that need a target")
    add("--calib-data-path", action="append", default=[], metavar="PATH", help="calibration samples (repeatable)")
    add("--use-random-calib", action="store_true", help="calibrate with seeded random data")
    return parser


@dataclass(frozen=True)
class _Chunk:
    """One part of the input: its text padded so that line numbers are those of the file, and its first line."""

    text: str
    first_line: int


def _run(options: argparse.Namespace) -> int:
    if options.list_passes:
        return _list_passes()
    if options.show_dialects:
        print("\n".join(dialect_names()))
        return 0
    pipeline = parse_pipeline(options.pass_pipeline or "")
    _check_pass_names([*options.print_before, *options.print_after])
    if options.print_pipeline:
        from qbc.pipelines.registry import complete

        print(complete(pipeline))
        return 0
    path = None if options.input == "-" else Path(options.input)
    if options.run_reproducer and options.pass_pipeline is not None:
        raise ArgumentError("--run-reproducer runs the pipeline of the file", hint="drop --pass-pipeline")
    _check_samples(options.calib_data_path)
    _check_outputs(path, options)
    if path is not None and is_binary(path):
        _check_binary(path, options)
        with undone_on_failure() as made:
            return _run_binary(path, pipeline, options, made)
    text = sys.stdin.read() if path is None else read_text(path)
    if options.run_reproducer:
        pipeline = pipeline_of_reproducer(text)
    if options.input_shape:
        raise ArgumentError("--input-shape binds inputs of source models, IR text has its shapes", hint="drop it")
    with undone_on_failure() as made:
        return _run_text(text, path, pipeline, options, made)


def _check_pass_names(names: list[str]) -> None:
    """Raise PIPELINE_ERROR for a pass to print that does not exist."""
    from qbc.pipelines.registry import pass_class

    for name in names:
        if name != "*":
            pass_class(name)


def _check_samples(paths: list[str]) -> None:
    """Refuse calibration data that does not exist, whether or not a pass will read it."""
    for path in paths:
        if not os.path.exists(path):
            raise QBCompilerError(
                f"{path}: no such file or directory",
                code="INVALID_CALIBRATION_DATA",
                hint="check the calibration data path",
            )


def _check_outputs(path: Path | None, options: argparse.Namespace) -> None:
    """Refuse outputs that are the input, that are named like another format, or that cannot be written."""
    output = None if options.output == "-" else Path(options.output)
    check_files([path, *options.calib_data_path], [output, options.crash_reproducer])
    if options.blobs is not None and options.blobs.exists() and not options.blobs.is_dir():
        raise ArgumentError(f"--blobs {str(options.blobs)!r} is not a directory")
    for written in (output, options.crash_reproducer):
        if written is None:
            continue
        if written.suffix.lower() in KINDS and written.suffix.lower() != ".mlir":
            raise ArgumentError(
                f"{str(written)!r} names {KINDS[written.suffix.lower()]}, qbc-opt writes IR text",
                hint="name a .mlir file; qbcompiler compile writes snapshots",
            )
        check_writable(written)


def _check_binary(path: Path, options: argparse.Namespace) -> None:
    """Refuse flags that have a meaning only for IR text, and shapes for snapshots, which have theirs."""
    if options.input_shape and not is_source_model(path):
        raise ArgumentError(f"--input-shape binds inputs of source models, {str(path)!r} is a snapshot", hint="drop it")
    flags = ("run_reproducer", "split_input_file", "verify_diagnostics")
    given = next((flag for flag in flags if getattr(options, flag)), None)
    if given is not None:
        raise ArgumentError(f"--{given.replace('_', '-')} reads IR text, {str(path)!r} is none")


def _run_binary(path: Path, pipeline: Pipeline, options: argparse.Namespace, made: list[Path]) -> int:
    ctx = _context(options)
    module = read_module(path, ctx, input_shapes=_input_shapes(options))
    _apply(module, pipeline, ctx, options)
    save_weights(module, ctx, options, made)
    write_texts([text_of(module, options)], options)
    _finish(ctx, options)
    return 0


def _run_text(text: str, path: Path | None, pipeline: Pipeline, options: argparse.Namespace, made: list[Path]) -> int:
    name = "-" if path is None else str(path)
    outputs: list[str] = []
    failed = False
    for chunk in _chunks(text, options.split_input_file):
        ctx = _context(options)
        if path is not None:
            add_sidecar(path, ctx)
        if options.run_reproducer:
            take_target_of_reproducer(text, ctx)
        diagnostics: list[Diagnostic] = []
        module = None
        try:
            module = parse_ir(ctx, chunk.text, name)
            _check_blob_directory(module, path, options)
            _apply(module, pipeline, ctx, options)
            save_weights(module, ctx, options, made)
            outputs.append(text_of(module, options))
        except QBCompilerError as error:
            diagnostics = diagnostics_of(error)
        failed |= _judge(chunk, diagnostics, name, options)
        _finish(ctx, options)
        if diagnostics and not options.split_input_file and not options.verify_diagnostics:
            return 1
    write_texts(outputs, options)
    return 1 if failed else 0


def _check_blob_directory(module: ModuleOp, path: Path | None, options: argparse.Namespace) -> None:
    """Refuse `--blobs DIR` that holds nothing to read, where it is the only place the weights of a text can be."""
    if options.blobs is None or options.blobs.is_dir() or not blob_keys(module):
        return
    if path is None or not sidecar(path).is_dir():
        raise ArgumentError(f"blob directory {str(options.blobs)!r} does not exist", hint="the text names weights")


def _judge(chunk: _Chunk, diagnostics: list[Diagnostic], name: str, options: argparse.Namespace) -> bool:
    """Report the errors of one part; returns whether the run fails because of them."""
    if not options.verify_diagnostics:
        _report(diagnostics)
        return bool(diagnostics)
    lines = chunk.text.split("\n")[chunk.first_line - 1 :]
    complaints = check_expectations(expectations_of("\n".join(lines), chunk.first_line), diagnostics)
    for complaint in complaints:
        sys.stderr.write(f"{name}: {complaint}\n")
    return bool(complaints)


def _chunks(text: str, split: bool) -> list[_Chunk]:
    if not split:
        return [_Chunk(text, 1)]
    chunks = []
    position = 0
    for part in _SPLIT.split(text):
        first_line = text.count("\n", 0, position) + 1
        if part.strip():
            chunks.append(_Chunk("\n" * (first_line - 1) + part, first_line))
        position += len(part)
        separator = _SPLIT.match(text, position)
        position = separator.end() if separator else position
    return chunks or [_Chunk(text, 1)]


def _context(options: argparse.Namespace) -> DriverContext:
    return make_context(
        target=options.target_device,
        blob_directories=[options.blobs] if options.blobs and options.blobs.is_dir() else [],
        allow_unregistered=options.allow_unregistered_dialect,
    )


def _apply(module: ModuleOp, pipeline: Pipeline, ctx: DriverContext, options: argparse.Namespace) -> None:
    from qbc.driver.program import take_recorded_target
    from qbc.driver.samples import BoundSamples
    from qbc.driver.watch import instrumentations_of
    from qbc.pipelines.runner import run_pipeline

    if options.calib_data_path or options.use_random_calib:
        data = options.calib_data_path or None
        if data and options.use_random_calib:
            ctx.notice("use_random_calib has no effect: there is calibration data")
        ctx.samples = BoundSamples(data[0] if data and len(data) == 1 else data, module, ctx)
    take_recorded_target(module, ctx)
    _tell_unused(pipeline, ctx, options)
    with instrumentations_of(options) as watching:
        run_pipeline(module, pipeline, ctx, instrumentations=watching, verify_each=options.verify_each == "true")
    if isinstance(ctx.samples, BoundSamples) and not ctx.samples.was_read:
        ctx.notice("no pass read the calibration data")


def _tell_unused(pipeline: Pipeline, ctx: DriverContext, options: argparse.Namespace) -> None:
    """Give notices about flags that watch passes where there are none to watch."""
    names = {call.name for call in pipeline.calls()}
    for when in ("before", "after"):
        for name in dict.fromkeys(getattr(options, f"print_{when}")):
            if name != "*" and name not in names:
                ctx.notice(f"--print-ir-{when}={name} has no effect: the pipeline does not run it")
    if names:
        return
    watching = [flag for flag in ("dump_ir", "numeric_gate", "crash_reproducer") if getattr(options, flag) is not None]
    for flag in watching:
        ctx.notice(f"--{flag.replace('_', '-')} has no effect: no pass runs")


def _finish(ctx: DriverContext, options: argparse.Namespace) -> None:
    for notice in ctx.notices:
        sys.stderr.write(f"notice: {notice}\n")
    if options.statistics:
        for name, table in ctx.statistics.items():
            for what, number in table.items():
                sys.stderr.write(f"  {number:8d}  {name}: {what}\n")


def _input_shapes(options: argparse.Namespace) -> dict[str, tuple[int, ...]]:
    from qbc.driver.arguments import parse_input_shapes

    return parse_input_shapes(options.input_shape)


def _list_passes() -> int:
    from qbc.driver.listing import pass_list

    sys.stdout.write(pass_list())
    return 0


def _report(diagnostics: list[Diagnostic]) -> None:
    for diagnostic in diagnostics:
        sys.stderr.write(diagnostic.render())


if __name__ == "__main__":
    sys.exit(main())
