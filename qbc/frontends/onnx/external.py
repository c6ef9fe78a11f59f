"""External data of ONNX tensors: bounded views of memory-mapped files inside the directory of the model."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path, PurePosixPath
from typing import Any

from qbc.errors import QBCompilerError
from qbc.store import map_file


def missing(message: str, tensor: str) -> QBCompilerError:
    """Build the error of external data that cannot be had."""
    return QBCompilerError(message, code="MISSING_EXTERNAL_DATA", node=tensor or None)


class ExternalFiles:
    """The external files of one model; each is mapped once."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory.resolve()
        self._maps: dict[str, memoryview] = {}

    @property
    def contents(self) -> Mapping[str, memoryview]:
        """The whole content of each file that was used, by the name that the model gives it."""
        return self._maps

    def view(self, tensor: Any, size: int) -> memoryview:
        """Return the `size` bytes of a TensorProto with external data.

        Raises MISSING_EXTERNAL_DATA when the file is absent or too short, INVALID_MODEL for a path outside of it.
        """
        entries = {entry.key: entry.value for entry in tensor.external_data}
        location = entries.get("location", "")
        offset = _number(entries.get("offset", "0"), tensor.name)
        length = _number(entries.get("length", str(size)), tensor.name)
        if length != size:
            raise QBCompilerError(
                f"external data of a tensor has {length} bytes, its shape needs {size}",
                code="INVALID_MODEL",
                node=tensor.name or None,
            )
        data = self._map(location, tensor.name)
        if offset + size > len(data):
            raise missing(
                f"external data file '{location}' has {len(data)} bytes, a tensor needs {offset} + {size}", tensor.name
            )
        return data[offset : offset + size]

    def _map(self, location: str, tensor: str) -> memoryview:
        if location in self._maps:
            return self._maps[location]
        parts = PurePosixPath(location.replace("\\", "/"))
        if not location or "\0" in location or parts.is_absolute() or ".." in parts.parts:
            raise QBCompilerError(
                f"external data location {location!r} is not inside the directory of the model",
                code="INVALID_MODEL",
                node=tensor or None,
            )
        try:
            path = (self._directory / parts).resolve()
            is_file = path.is_file()
        except (OSError, RuntimeError) as error:  # a name that is too long, links in a circle
            reason = getattr(error, "strerror", None) or str(error)
            raise missing(f"external data file '{location[:80]}' cannot be read: {reason}", tensor) from error
        if not path.is_relative_to(self._directory):
            raise QBCompilerError(
                f"external data location {location!r} leads outside the directory of the model",
                code="INVALID_MODEL",
                node=tensor or None,
            )
        if not is_file:
            raise missing(f"external data file '{location}' is not beside the model", tensor)
        try:
            self._maps[location] = map_file(path)
        except OSError as error:
            raise missing(f"external data file '{location}' cannot be read: {error.strerror}", tensor) from error
        return self._maps[location]


def _number(text: str, tensor: str) -> int:
    if text.isascii() and text.isdigit() and len(text) < 20:
        return int(text)
    raise QBCompilerError(f"external data entry {text!r} is not a number", code="INVALID_MODEL", node=tensor or None)
