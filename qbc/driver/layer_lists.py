"""Lists of layers that no pass reads: their names are checked all the same, so that no mistyped one goes unnoticed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from xdsl.dialects.builtin import ModuleOp

from qbc.passes.base import source_names

if TYPE_CHECKING:
    from qbc.config.model import CompileConfig

_UNREAD = ("bit.layer_overrides.weight_8bits",)  # all weights have 8 bits


def check_layer_lists(config: CompileConfig | None, module: ModuleOp) -> None:
    """Raise ARGUMENT_ERROR for the first name or glob of these lists that fits no layer of the graph."""
    if config is None:
        return
    from qbc.config.fields import key_of, value_at
    from qbc.passes.layer_names import matching_names

    for path in _UNREAD:
        patterns = value_at(config, path)
        if patterns:
            names = [name for op in module.walk() if op.results for name in source_names(op)]
            matching_names(patterns, names, key_of(path))
