"""What an `.mxq` takes and gives at the host boundary, which need not be what its source model does."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from qbc.program import HostTensor

_HOST_TYPES = {"f32": "float32", "u8": "uint8", "i32": "int32"}
_CODES = {"i8": "int8", "i16": "int16", "i32": "int32"}


def interface_of(path: Path) -> dict[str, list[dict[str, Any]]]:
    """Return `inputs` and `outputs` of the first program of an `.mxq`; those of all core modes are the same.

    A row is `{"name", "shape", "dtype", "codes", "scales", "zero_point"}`: the shape for one image without its batch
    axis, channel-last; the type of the host's values (uint8 are pixels); the type of the codes; and the encoding
    `value = scale * (code - zero_point)`, one scale or one for each channel. Raises INVALID_SNAPSHOT for a damaged
    file.
    """
    from qbc.driver.files import require_file
    from qbc.program.package import read_package

    require_file(path)
    program = next(iter(read_package(path).programs.values()))
    return {"inputs": [_row(tensor) for tensor in program.inputs], "outputs": [_row(item) for item in program.outputs]}


def _row(tensor: HostTensor) -> dict[str, Any]:
    shape = tensor.operand.shape
    return {
        "name": tensor.name,
        "shape": list(shape[1:] if shape[:1] == (1,) and len(shape) > 1 else shape),
        "dtype": _HOST_TYPES[tensor.dtype],
        "codes": _CODES[tensor.operand.dtype],
        "scales": list(tensor.channel_scales or (tensor.scale,)),
        "zero_point": tensor.zero_point,
    }
