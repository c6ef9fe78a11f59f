"""The command line: `qbcompiler COMMAND ...` or `python -m qbcompiler COMMAND ...`.

Results go to stdout, progress and notices to stderr. A mistake ends with one line `ERROR [CODE]: message` on stderr and
exit status 1.
"""

from __future__ import annotations

import argparse
import atexit
import gc
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from qbc.errors import ArgumentError, QBCompilerError

if TYPE_CHECKING:
    from qbc.driver.plan import CompileOptions

PHASE_NAMES = ("import", "convert", "quantize", "lower", "encode")


class _Parser(argparse.ArgumentParser):
    """Argument mistakes become QBCompilerError, so that they are shown like all others."""

    def error(self, message: str) -> NoReturn:
        raise ArgumentError(message, hint=f"{self.prog} --help shows the usage")


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command; returns the exit status."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    if argv is None:
        gc.set_threshold(100_000, 50, 50)  # IR objects live long; by default a tenth of the time goes into walking them
        atexit.register(gc.freeze)  # the process ends: taking the IR apart object by object would be for nothing
    try:
        options = _parser().parse_args(arguments)
        if options.command is None:
            raise ArgumentError("no command given", hint="qbcompiler --help lists the commands")
        return int(options.handler(options))
    except SystemExit as exit_request:  # --help and --version end this way
        return exit_request.code if isinstance(exit_request.code, int) else 1
    except QBCompilerError as error:
        if error.code == "INTERNAL_ERROR" and os.environ.get("QBC_TRACEBACK") == "1":
            raise
        return _fail(error)
    except KeyboardInterrupt:
        return _fail(QBCompilerError("interrupted, nothing was written", code="INTERRUPTED"))
    except BrokenPipeError:
        sys.stderr.close()
        return 1
    except MemoryError:
        return _fail(QBCompilerError("there is not enough memory", code="RESOURCE_ERROR"))
    except Exception as error:  # the last boundary: a defect is one line too, unless its traceback is asked for
        if os.environ.get("QBC_TRACEBACK") == "1":
            raise
        message = f"{type(error).__name__}: {error}"
        return _fail(QBCompilerError(message, code="INTERNAL_ERROR", hint="set QBC_TRACEBACK=1 to see where"))


def _fail(error: QBCompilerError) -> int:
    text = " ".join(error.describe().split())
    running = f" (in pass {error.pass_name})" if error.pass_name else ""
    sys.stderr.write(f"ERROR [{error.code}]: {text}{running}\n")
    return 1


def _notice(text: str) -> None:
    sys.stderr.write(f"notice: {text}\n")


# --- arguments ---------------------------------------------------------------------------------------------------


def _program_name() -> str:
    return "python -m qbcompiler" if Path(sys.argv[0]).name == "__main__.py" else "qbcompiler"


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(prog=_program_name(), description="Compile neural networks for NPUs.", allow_abbrev=False)
    parser.add_argument("--version", action="store_true", help="print the version and stop")
    parser.set_defaults(handler=_version)
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", parser_class=_Parser)

    command = commands.add_parser("compile", help="source model or snapshot -> .mxq", allow_abbrev=False)
    command.add_argument(
        "--model",
        "--compile-from",
        required=True,
        metavar="FILE",
        help="an .onnx or .mblt file, or IR text to go on from",
    )
    command.add_argument("--output", required=True, metavar="FILE", help="the .mxq file to write")
    _add_import(command)
    _add_quantize(command)
    _add_common(command)
    command.add_argument("--compile-to", choices=PHASE_NAMES, default="encode", help="stop after this phase")
    command.set_defaults(handler=_compile)

    command = commands.add_parser("parse", help="source model -> .mblt", allow_abbrev=False)
    command.add_argument("--model", required=True, metavar="FILE", help="an .onnx file")
    command.add_argument("--output", required=True, metavar="FILE", help="the .mblt file to write")
    _add_import(command)
    _add_common(command)
    command.set_defaults(handler=_parse)

    command = commands.add_parser("quantize", help=".mblt -> .mxq", allow_abbrev=False)
    command.add_argument("--mblt", required=True, metavar="FILE", help="the .mblt file to read")
    command.add_argument("--output", required=True, metavar="FILE", help="the .mxq file to write")
    _add_quantize(command)
    _add_common(command)
    command.set_defaults(handler=_quantize)

    command = commands.add_parser("run", help="run an .mxq on the simulator", allow_abbrev=False)
    command.add_argument("--mxq", "--model", dest="mxq", required=True, metavar="FILE", help="the .mxq file to run")
    command.add_argument(
        "--input",
        action="append",
        default=[],
        metavar="[NAME=]FILE.npy",
        help="array for an input (repeatable); without any, seeded random inputs are used",
    )
    command.add_argument("--output-dir", type=Path, metavar="DIR", help="write each output as an .npy file")
    command.add_argument("--repeat", type=int, default=1, metavar="N", help="run N times and report the median time")
    command.add_argument("--core-mode", metavar="MODE", help="core mode to run in (default: single, or the only one)")
    command.set_defaults(handler=_run)

    command = commands.add_parser("demo", help="compile and run the digits network", allow_abbrev=False)
    command.add_argument(
        "--output-dir",
        type=Path,
        default=Path("qbcompiler-demo"),
        metavar="DIR",
        help="where the files go (default: ./qbcompiler-demo)",
    )
    command.add_argument("--target-device", metavar="NAME", help="device name (default: aries-rb)")
    command.set_defaults(handler=_demo)

    command = commands.add_parser("info", help="what a .mblt or .mxq file records", allow_abbrev=False)
    command.add_argument("--mblt", "--mxq", "--file", dest="file", required=True, metavar="FILE", help="a snapshot")
    command.set_defaults(handler=_info)

    command = commands.add_parser("target", help="devices", allow_abbrev=False)
    inner = command.add_subparsers(dest="target_command", metavar="COMMAND", required=True, parser_class=_Parser)
    inner.add_parser("list", help="names of the devices").set_defaults(handler=_target_list)
    show = inner.add_parser("show", help="facts of a device, each marked public, derived or assumed")
    show.add_argument("name", metavar="NAME", help="a device name, or a YAML file of your own")
    show.set_defaults(handler=_target_show)
    selftest = inner.add_parser("selftest", help="prove the kernels of this machine, and replay the vectors of an .mxq")
    selftest.add_argument("mxq", nargs="?", metavar="FILE", help="an executable to replay")
    selftest.set_defaults(handler=_target_selftest)
    return parser


def _add_import(command: argparse.ArgumentParser) -> None:
    command.add_argument("--backend", default="onnx", help="format of the source model (this version: onnx)")
    command.add_argument(
        "--input-shape",
        action="append",
        default=[],
        metavar="NAME=1x3x224x224",
        help="bind the shape of an input (repeatable)",
    )
    command.add_argument(
        "--cpu-offload",
        action=argparse.BooleanOptionalAction,
        default=False,
        help="run unsupported parts on the CPU (not available in this version)",
    )


def _add_quantize(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--calib-data-path",
        action="append",
        default=[],
        metavar="PATH",
        help="directory of .npy files, or an .npy, .npz or .txt file (repeatable)",
    )
    command.add_argument(
        "--use-random-calib",
        action=argparse.BooleanOptionalAction,
        default=False,
        help="calibrate with random data; for smoke tests",
    )
    command.add_argument(
        "--inference-scheme", default="single", help="core mode: single, multi, global4, global8 or all"
    )


def _add_common(command: argparse.ArgumentParser) -> None:
    add = command.add_argument
    add("--target-device", metavar="NAME", help="device name; `target list` shows them")
    add("--device", default=None, help="where the compiler computes: gpu or cpu (this version: cpu)")
    add("--config-preset", metavar="NAME", help="default, classification or detection")
    add("--compile-config", metavar="FILE", help="configuration file (not available in this version)")
    add("--pass-pipeline", metavar="TEXT", help="an edited pipeline text in place of the one of the preset")
    add("--print-pipeline", action="store_true", help="print the pipeline with every option filled in, and stop")
    add("--dump-ir", type=Path, metavar="DIR", help="write one numbered file for each pass that changed something")
    add("--crash-reproducer", type=Path, metavar="FILE", help="on a defect write IR text that qbc-opt runs again")
    add("--report", type=Path, metavar="FILE", help="write all report tables as JSON")
    add("--verify-each", action="store_true", help="verify the IR after each pass")
    add("--timing", action="store_true", help="print the time of each pass on stderr")
    add("--quiet", action="store_true", help="no progress and no report")


# --- commands ----------------------------------------------------------------------------------------------------
# Handlers import what they need: `qbcompiler --help` starts in a fraction of a second.


def _version(options: argparse.Namespace) -> int:
    if not options.version:
        raise ArgumentError("no command given", hint="qbcompiler --help lists the commands")
    from importlib.metadata import version

    print(f"qbcompiler {version('qbcompiler')}")
    return 0


def _compile(options: argparse.Namespace) -> int:
    from qbc.driver.compile import compile_model
    from qbcompiler.console import print_result

    settings = _settings(options)
    if options.print_pipeline:
        return _print_pipeline(settings, PHASE_NAMES[: PHASE_NAMES.index(options.compile_to) + 1])
    print_result(compile_model(options.model, options.output, settings, to=options.compile_to), options)
    return 0


def _parse(options: argparse.Namespace) -> int:
    from qbc.driver.compile import parse
    from qbc.driver.plan import PARSE_PHASES
    from qbcompiler.console import print_result

    settings = _settings(options)
    if options.print_pipeline:
        return _print_pipeline(settings, PARSE_PHASES)
    print_result(parse(options.model, options.output, settings), options)
    return 0


def _quantize(options: argparse.Namespace) -> int:
    from qbc.driver.compile import quantize
    from qbc.driver.plan import QUANTIZE_PHASES
    from qbcompiler.console import print_result

    settings = _settings(options)
    if options.print_pipeline:
        return _print_pipeline(settings, QUANTIZE_PHASES)
    print_result(quantize(options.mblt, options.output, settings), options)
    return 0


def _settings(options: argparse.Namespace) -> CompileOptions:
    """Turn the options of a command into those of the compile driver."""
    from qbc.driver.arguments import parse_input_shapes
    from qbc.driver.plan import CompileOptions
    from qbcompiler.api import provenance_wanted
    from qbcompiler.arguments import check_backend, check_device, check_refused, check_scheme
    from qbcompiler.console import progress_printer

    report = progress_printer(quiet=options.quiet)
    check_backend(getattr(options, "backend", "onnx"))
    if options.device is not None:
        check_device(options.device, _notice)
    check_scheme(getattr(options, "inference_scheme", "single"), options.target_device)
    check_refused({"--cpu-offload": (getattr(options, "cpu_offload", False), "running parts of the graph on the CPU")})
    if options.compile_config is not None and options.config_preset is not None:
        sys.stderr.write(f"notice: --config-preset wins: {options.compile_config} is not read\n")
    else:
        check_refused({"--compile-config": (options.compile_config, "a configuration file")})
    paths = getattr(options, "calib_data_path", [])
    return CompileOptions(
        target=options.target_device,
        input_shapes=parse_input_shapes(getattr(options, "input_shape", [])),
        calibration=(paths[0] if len(paths) == 1 else paths) if paths else None,
        random_calibration=getattr(options, "use_random_calib", False),
        preset=options.config_preset,
        pipeline=options.pass_pipeline,
        dump_ir=options.dump_ir,
        crash_reproducer=options.crash_reproducer,
        verify_each=options.verify_each,
        provenance=provenance_wanted(),
        on_event=report,
    )


def _print_pipeline(settings: CompileOptions, phases: Sequence[str]) -> int:
    from qbc.driver.plan import make_plan

    print(make_plan(settings, tuple(phases)).text())
    return 0


def _run(options: argparse.Namespace) -> int:
    from qbcompiler.run import run_program

    return run_program(options.mxq, options.input, options.output_dir, options.repeat, options.core_mode)


def _demo(options: argparse.Namespace) -> int:
    from qbcompiler.demo import run_demo

    return run_demo(options.output_dir, options.target_device)


def _info(options: argparse.Namespace) -> int:
    from qbcompiler.info import print_info

    return print_info(Path(options.file))


def _target_list(options: argparse.Namespace) -> int:
    from qbc.targets import target_names

    print("\n".join(target_names()))
    return 0


def _target_show(options: argparse.Namespace) -> int:
    from qbcompiler.info import print_target

    return print_target(options.name)


def _target_selftest(options: argparse.Namespace) -> int:
    from qbcompiler.selftest import run_selftest

    return run_selftest(Path(options.mxq) if options.mxq else None)


if __name__ == "__main__":
    sys.exit(main())
