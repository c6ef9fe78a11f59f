"""Values that this machine cannot hold are refused before anything runs."""

from __future__ import annotations

import os
from math import prod

from xdsl.dialects.builtin import TensorType
from xdsl.dialects.func import FuncOp

from qbc.dialects.common.graph import location_names
from qbc.errors import QBCompilerError

ELEMENT_BYTES = 4


def require_memory(func: FuncOp) -> None:
    """Raise RESOURCE_ERROR that names the node when a value in float32 is larger than the memory of this machine."""
    limit = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    for op in func.body.block.ops:
        for result in op.results:
            if not isinstance(result.type, TensorType):
                continue
            needed = ELEMENT_BYTES * prod(max(size, 1) for size in result.type.get_shape())
            if needed > limit:
                names = location_names(op.location)
                raise memory_error(
                    f"a value of shape {list(result.type.get_shape())} needs {needed >> 30} GiB", ", ".join(names)
                )


def memory_error(message: str, node: str | None = None) -> QBCompilerError:
    """Return the error of a graph that does not fit into memory."""
    return QBCompilerError(message, code="RESOURCE_ERROR", node=node, hint="compile for a smaller input shape")
