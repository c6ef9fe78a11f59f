"""The command line: `qbcompiler COMMAND ...` or `python -m qbcompiler COMMAND ...`.

Results go to stdout, progress and notices to stderr; with QBCOMPILER_JSONL everything goes to stdout as JSON lines (see
`qbcompiler.channel`). A mistake ends with one line `ERROR [CODE]: message`, or one `error` event, and exit status 1;
so does a signal that ends the process. Where nobody reads the output any more, it ends without a word, with status 141.
"""

from __future__ import annotations

import argparse
import atexit
import gc
import importlib
import os
import sys
from collections.abc import Callable, Sequence

from qbc.driver.interrupts import ReaderLeft
from qbc.errors import ArgumentError, QBCompilerError, file_error
from qbcompiler.channel import Channel, open_channel
from qbcompiler.neighbours import conflict
from qbcompiler.parser import build_parser


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command; returns the exit status."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    if argv is None:
        gc.set_threshold(100_000, 50, 50)  # IR objects live long; by default a tenth of the time goes into walking them
        atexit.register(gc.freeze)  # the process ends: taking the IR apart object by object would be for nothing
    with open_channel() as channel:
        clash = conflict()
        if clash is not None:
            channel.notice(clash)
        return _guarded(arguments, channel)


def _guarded(arguments: list[str], channel: Channel) -> int:
    """Run a command; every mistake becomes one error on the channel."""
    try:
        return _run(arguments, channel)
    except ReaderLeft:
        raise
    except SystemExit as exit_request:  # --help and --version end this way
        return exit_request.code if isinstance(exit_request.code, int) else 1
    except QBCompilerError as error:
        if error.code == "INTERNAL_ERROR" and os.environ.get("QBC_TRACEBACK") == "1":
            raise
        return _fail(error, channel)
    except KeyboardInterrupt:
        return _fail(QBCompilerError("interrupted, nothing was written", code="INTERRUPTED"), channel)
    except MemoryError:
        return _fail(QBCompilerError("there is not enough memory", code="RESOURCE_ERROR"), channel)
    except OSError as error:
        return _fail(file_error(error), channel)
    except Exception as error:  # the last boundary: a defect is one line too, unless its traceback is asked for
        if os.environ.get("QBC_TRACEBACK") == "1":
            raise
        message = f"{type(error).__name__}: {error}"
        return _fail(QBCompilerError(message, code="INTERNAL_ERROR", hint="set QBC_TRACEBACK=1 to see where"), channel)


def _run(arguments: list[str], channel: Channel) -> int:
    options = build_parser().parse_args(arguments)
    if options.command is None and not options.version:
        raise ArgumentError("no command given", hint="qbcompiler --help lists the commands")
    command = options.command or "version"
    channel.status(command, "started")
    try:
        status = _handler(options)(options)
    except SystemExit as error:
        from qbc.extensions import exit_error

        raise exit_error(error) from error
    channel.status(command, "finished" if status == 0 else "failed")
    return int(status)


def _handler(options: argparse.Namespace) -> Callable[[argparse.Namespace], int]:
    """Import the function of a command; `--help` imports none of them."""
    module, _, name = options.handler.partition(":")
    handler: Callable[[argparse.Namespace], int] = getattr(importlib.import_module(module), name)
    return handler


def _fail(error: QBCompilerError, channel: Channel) -> int:
    channel.error(error)
    return 1


if __name__ == "__main__":
    sys.exit(main())
