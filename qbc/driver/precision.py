"""The bits of every command of an `.mxq`: what the packed programs say, whatever was asked for."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from qbc.dialects.common.tensor_text import dims_text
from qbc.program.opcodes import ELEMENT_BYTES

if TYPE_CHECKING:
    from qbc.program import Program
    from qbc.program.model import Command


def precision_table(path: Path) -> list[dict[str, Any]]:
    """Return the commands of every program of an `.mxq` with their bits.

    A row is `{"mode", "variant", "number", "name", "operation", "shape", "input_bits", "weight_bits", "output_bits"}`:
    the names of the source nodes, the shape of the output, one width for each input, and None where there are no
    weights. Where 16-bit values are computed in two planes, each plane is a command. Raises INVALID_SNAPSHOT for a
    damaged file.
    """
    from qbc.driver.files import require_file
    from qbc.program.package import read_package

    require_file(path)
    package = read_package(path)
    rows = []
    for (mode, variant), program in package.programs.items():
        debug = package.debug[mode, variant]
        for number, command in enumerate(program.commands):
            nodes = debug[command.debug].nodes if command.debug < len(debug) else ()
            place = {"mode": mode, "variant": variant, "number": number, "name": " + ".join(nodes)}
            rows.append({**place, **_row(command, program)})
    return rows


def _row(command: Command, program: Program) -> dict[str, Any]:
    import numpy as np

    weight = command.constants.get("weight")
    return {
        "operation": command.kind,
        "shape": dims_text(command.output.shape),
        "input_bits": [_bits(operand.dtype) for operand in command.inputs],
        "weight_bits": None if weight is None else 8 * np.dtype(program.blobs[weight].dtype).itemsize,
        "output_bits": _bits(command.output.dtype),
    }


def _bits(dtype: str) -> int:
    return 8 * ELEMENT_BYTES[dtype]
