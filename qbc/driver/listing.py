"""Lists of passes for people."""

from __future__ import annotations

from qbc.pipelines.grammar import print_value
from qbc.pipelines.registry import all_passes, option_infos


def pass_list() -> str:
    """Return all passes, one paragraph each: name, anchor, summary, options with type and default."""
    lines = []
    for cls in all_passes():
        summary = (cls.__doc__ or "").strip().splitlines()
        lines.append(f"{cls.name}  ({cls.anchor})")
        if summary:
            lines.append(f"    {summary[0]}")
        lines.extend(f"      {info.name}: {info.type_text} = {print_value(info.default)}" for info in option_infos(cls))
    return "\n".join(lines) + "\n"
