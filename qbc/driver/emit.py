"""What `qbc-opt` writes: IR text to a file or stdout, the weights that it names to a directory."""

from __future__ import annotations

import sys
from argparse import Namespace
from pathlib import Path

from xdsl.dialects.builtin import ModuleOp

from qbc.atomic import is_device, write_file
from qbc.dialects.blob.handles import blob_keys
from qbc.driver.blobs import sidecar
from qbc.driver.context import DriverContext
from qbc.driver.files import save_blobs
from qbc.pipelines.text import print_ir

SPLIT_LINE = "// -----\n"


def save_weights(module: ModuleOp, ctx: DriverContext, options: Namespace, made: list[Path]) -> None:
    """Write the weights of a module to `--blobs DIR`, else beside the file of `-o`; stdout and devices have none.

    What did not exist before is added to `made`, for `undone_on_failure`.
    """
    if options.blobs is not None and not blob_keys(module):
        ctx.notice("--blobs has no effect: the result names no weights")
    has_place = options.output != "-" and not is_device(Path(options.output))
    directory = options.blobs or (sidecar(Path(options.output)) if has_place else None)
    if directory is not None:
        save_blobs(module, ctx, directory, made)


def text_of(module: ModuleOp, options: Namespace) -> str:
    """Return the text of a module in the form that the options ask for."""
    return print_ir(module, generic=options.generic, locations=not options.no_locations)


def write_texts(texts: list[str], options: Namespace) -> None:
    """Write the texts of all modules of a run, separated by `// -----` lines."""
    text = SPLIT_LINE.join(texts)
    if options.output == "-":
        sys.stdout.write(text)
    elif text:
        write_file(Path(options.output), text)
