"""The settings of the parser that scripts make."""

from __future__ import annotations

import difflib
import logging
from collections.abc import Mapping
from typing import Any

from qbc.errors import ArgumentError, QBCompilerError

_logger = logging.getLogger("qbcompiler")

# Name -> value that describes what the parser does anyway.
_DEFAULTS: Mapping[str, Any] = {
    "allocate_to_devices": True,
    "dynamic": False,
    "force_np_supported_types": True,
    "num_work": None,
    "operator_transform": True,
    "random_seed": 12345,
    "split_supported_concat": True,
    "transform_skip_on_error": False,
}
# Settings whose other values would ask for another graph.
_REFUSED = {
    "dynamic": "a dynamic dimension in the executable",
    "operator_transform": "a graph without rewrites",
}


class ParserConfig:
    """Settings of a ModelParser: known names only; those that would change the graph are UNSUPPORTED_FEATURE.

    The others have no effect, and a value that differs from what the parser does is told in the log `qbcompiler`.
    """

    def __init__(self) -> None:
        self.__dict__.update(_DEFAULTS)

    def __setattr__(self, name: str, value: Any) -> None:
        if name not in _DEFAULTS:
            near = difflib.get_close_matches(name, list(_DEFAULTS), n=1)
            hint = f"did you mean {near[0]!r}?" if near else f"there are {', '.join(_DEFAULTS)}"
            raise ArgumentError(f"the parser has no setting {name!r}", hint=hint)
        if value != _DEFAULTS[name]:
            self._differs(name)
        self.__dict__[name] = value

    @staticmethod
    def _differs(name: str) -> None:
        if name in _REFUSED:
            raise QBCompilerError(
                f"{name}: {_REFUSED[name]} is not available in this version",
                code="UNSUPPORTED_FEATURE",
                hint=f"leave {name} at {_DEFAULTS[name]}",
            )
        _logger.warning("cfg.%s has no effect", name)
