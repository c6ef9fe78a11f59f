"""The arguments of all commands."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

from qbc.driver.arguments import OneFile, Parser

PHASE_NAMES = ("import", "convert", "quantize", "lower", "encode")


def program_name() -> str:
    """Return the form in which the program was started, for usage texts."""
    started = Path(sys.argv[0]).parts[-2:]
    return "python -m qbcompiler" if started == ("qbcompiler", "__main__.py") else "qbcompiler"


def build_parser() -> Parser:
    """Return the parser of the whole command line; `handler` of the result is `module:function` of the command."""
    parser = Parser(prog=program_name(), description="Compile neural networks for NPUs.", allow_abbrev=False)
    parser.add_argument("--version", action="store_true", help="print the version and stop")
    parser.set_defaults(handler="qbcompiler.commands.build:version")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", parser_class=Parser)
    _build_commands(commands)
    _configuration_commands(commands)
    _inspection_commands(commands)
    _running_commands(commands)
    return parser


def _command(commands: Any, name: str, handler: str, text: str) -> argparse.ArgumentParser:
    command: argparse.ArgumentParser = commands.add_parser(name, help=text, description=text, allow_abbrev=False)
    command.set_defaults(handler=f"qbcompiler.{handler}")
    return command


def _build_commands(commands: Any) -> None:
    command = _command(commands, "compile", "commands.build:compile_command", "source model or snapshot -> .mxq")
    command.add_argument(
        "--model",
        "--compile-from",
        action=OneFile,
        metavar="FILE",
        help="an .onnx or .mblt file, or IR text to go on from (default: modelPaths of the configuration)",
    )
    command.add_argument("--output", metavar="FILE", help="the .mxq file to write (default: savePaths)")
    _add_import(command)
    _add_quantize(command)
    _add_common(command)
    _add_compile_to(command, PHASE_NAMES)

    command = _command(commands, "parse", "commands.build:parse_command", "source model -> .mblt")
    command.add_argument(
        "--model",
        "--compile-from",
        action=OneFile,
        required=True,
        metavar="FILE",
        help="an .onnx file, or IR text to go on from",
    )
    command.add_argument("--output", required=True, metavar="FILE", help="the .mblt file to write")
    _add_import(command)
    _add_common(command)
    _add_compile_to(command, PHASE_NAMES[:2])

    command = _command(commands, "quantize", "commands.build:quantize_command", ".mblt -> .mxq")
    command.add_argument(
        "--mblt",
        "--compile-from",
        action=OneFile,
        required=True,
        metavar="FILE",
        help="a .mblt file, or IR text to go on from",
    )
    command.add_argument("--output", metavar="FILE", help="the .mxq file to write (default: savePaths)")
    _add_quantize(command)
    _add_common(command)
    _add_compile_to(command, PHASE_NAMES[2:])


def _configuration_commands(commands: Any) -> None:
    command = _command(commands, "dump-config", "commands.configuration:dump_config", "write a complete configuration")
    command.add_argument(
        "--output", type=Path, metavar="FILE", help="YAML for .yaml and .yml, else JSON (default: to stdout)"
    )
    command.add_argument("--preset", metavar="NAME", help="a preset or a preset file over the defaults")

    command = _command(commands, "presets", "commands.configuration:presets", "list the presets")
    command.add_argument("--name", metavar="NAME", help="show only this preset, with its own configuration")

    _command(commands, "check", "commands.configuration:check", "what this version can do, on this machine")

    command = _command(commands, "explain", "commands.configuration:explain", "what an error code means")
    command.add_argument("code", nargs="?", metavar="CODE", help="a code as errors show it (default: list all codes)")

    command = _command(
        commands,
        "completion",
        "commands.completion:completion",
        "print a script that completes commands, flags and values: `source <(qbcompiler completion bash)`",
    )
    command.add_argument("shell", choices=("bash", "zsh", "fish"), help="the shell")


def _inspection_commands(commands: Any) -> None:
    command = _command(commands, "info", "commands.inspection:info", "what a .mblt or .mxq file records")
    command.add_argument("file", nargs="?", metavar="FILE", help="a .mblt or .mxq file: the record as text")
    command.add_argument("--mblt", metavar="FILE", help="print the provenance of a snapshot as JSON, null for none")
    command.add_argument("--mxq", "--file", dest="mxq", metavar="FILE", help="print the whole record as JSON")
    command.add_argument("--json", action="store_true", help="print the whole record of FILE as JSON")
    command.add_argument("--check-source", type=Path, metavar="MODEL", help="compare a model with the recorded digests")
    command.add_argument("--layers", action="store_true", help="list the layers: name, type, shape; of an .mxq bits")
    command.add_argument(
        "--map",
        action="store_true",
        help="list for each source node the operations, and in an .mxq the records, that it became, or why none",
    )

    command = _command(commands, "validate", "commands.inspection:validate", "check a source model without compiling")
    command.add_argument("--model", required=True, metavar="FILE", help="an .onnx file")
    command.add_argument("--target-device", metavar="NAME", help="report what this device cannot run, too")
    _add_import(command)

    command = _command(commands, "export", "commands.export:export", ".mblt -> ONNX, in float or quantized")
    command.add_argument(
        "--mblt", required=True, metavar="FILE", help="the .mblt file to read; with --qdq also IR text with ranges"
    )
    command.add_argument("--output", required=True, type=Path, metavar="FILE", help="the .onnx file to write")
    command.add_argument(
        "--layout", choices=("source", "mblt"), default="source", help="layout of inputs and outputs (default: source)"
    )
    command.add_argument(
        "--qdq", action="store_true", help="quantize, and write QuantizeLinear and DequantizeLinear around every value"
    )
    _add_calibration(command)
    command.add_argument("--target-device", metavar="NAME", help="device name; `target list` shows them")
    command.add_argument("--config-preset", metavar="NAME", help="a preset (`presets` lists them) or a preset file")
    command.add_argument("--compile-config", metavar="FILE", help="configuration file: .json, .yaml or .yml")

    command = _command(commands, "view", "commands.view:view", "show a .mblt, .mxq or .mlir file in Netron")
    command.add_argument("file", metavar="FILE", help="the file to show")
    command.add_argument("--output", type=Path, metavar="FILE", help="the .onnx file to write (default: FILE.onnx)")
    command.add_argument("--core-mode", metavar="MODE", help="core mode of the program to show (default: the first)")
    command.add_argument(
        "--no-open", action="store_true", help="only write the file (it is opened on a terminal, with netron installed)"
    )

    command = _command(
        commands, "extract-body", "commands.inspection:extract_body", "the largest part of a .mblt that runs on an NPU"
    )
    command.add_argument("--mblt", required=True, metavar="FILE", help="the .mblt file to read")
    command.add_argument("--output", required=True, type=Path, metavar="FILE", help="the .mblt file to write")

    command = commands.add_parser("target", help="devices", allow_abbrev=False)
    inner = command.add_subparsers(dest="target_command", metavar="COMMAND", required=True, parser_class=Parser)
    _command(inner, "list", "commands.inspection:target_list", "names of the devices")
    show = _command(
        inner, "show", "commands.inspection:target_show", "facts of a device, each marked public, derived or assumed"
    )
    show.add_argument("name", metavar="NAME", help="a device name, or a YAML file of your own")
    selftest = _command(
        inner,
        "selftest",
        "commands.running:target_selftest",
        "prove the kernels of this machine, and replay the vectors of an .mxq",
    )
    selftest.add_argument("mxq", nargs="?", metavar="FILE", help="an executable to replay")


def _running_commands(commands: Any) -> None:
    command = _command(commands, "run", "commands.running:run", "run an .mxq on the simulator")
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

    command = _command(commands, "demo", "commands.running:demo", "compile and run the digits network")
    command.add_argument(
        "--output-dir",
        type=Path,
        default=Path("qbcompiler-demo"),
        metavar="DIR",
        help="where the files go (default: ./qbcompiler-demo)",
    )
    command.add_argument("--target-device", metavar="NAME", help="device name (default: aries-rb)")


def _add_import(command: argparse.ArgumentParser) -> None:
    command.add_argument("--backend", help="format of the source model: onnx, or a frontend of another package")
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
        default=None,
        help="run unsupported parts on the CPU (not available in this version)",
    )


def _add_quantize(command: argparse.ArgumentParser) -> None:
    _add_calibration(command)
    command.add_argument(
        "--inference-scheme", default=None, metavar="MODE", help="single, multi, global4, global8 or all"
    )
    command.add_argument(
        "--config-save-path", type=Path, metavar="FILE", help="write the resolved configuration, to be given again"
    )


def _add_calibration(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--calib-data-path",
        action="append",
        default=[],
        metavar="PATH",
        help="directory of images or .npy files, an image, or an .npy, .npz, .pt, .txt or .json file (repeatable)",
    )
    command.add_argument(
        "--use-random-calib",
        action=argparse.BooleanOptionalAction,
        default=None,
        help="calibrate with random data; for smoke tests",
    )


def _add_compile_to(command: argparse.ArgumentParser, phases: tuple[str, ...]) -> None:
    command.add_argument("--compile-to", choices=phases, default=phases[-1], help="stop after this phase")


def _add_common(command: argparse.ArgumentParser) -> None:
    add = command.add_argument
    add("--target-device", metavar="NAME", help="device name; `target list` shows them")
    add("--device", default=None, help="where the compiler computes: gpu or cpu (this version: cpu)")
    add("--config-preset", metavar="NAME", help="a preset (`presets` lists them) or a preset file")
    add("--compile-config", metavar="FILE", help="configuration file: .json, .yaml or .yml")
    add("--strict-config", action="store_true", help="conflicting keys of a configuration file are errors")
    add("--pass-pipeline", metavar="TEXT", help="an edited pipeline text in place of the one of the preset")
    add("--print-pipeline", action="store_true", help="print the pipeline with every option filled in, and stop")
    add("--dump-ir", type=Path, metavar="DIR", help="write one numbered file for each pass that changed something")
    add("--crash-reproducer", type=Path, metavar="FILE", help="on a defect write IR text that qbc-opt runs again")
    add("--report", type=Path, metavar="FILE", help="write all report tables as JSON")
    add(
        "--verify-each",
        nargs="?",
        const="true",
        default="false",
        choices=("true", "false"),
        metavar="BOOL",
        help="verify the IR after each pass (default: false, which verifies at the ends of each phase)",
    )
    add("--timing", action="store_true", help="print the time of each pass on stderr")
    add("--verbose", action="store_true", help="print each pass as it begins, and all layers of the reports")
    add("--quiet", action="store_true", help="no progress and no report")
