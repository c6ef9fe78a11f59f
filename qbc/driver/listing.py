"""Lists of passes for people."""

from __future__ import annotations

from qbc.errors import QBCompilerError
from qbc.extensions import Extension, extensions
from qbc.passes.base import Pass
from qbc.pipelines.grammar import print_value
from qbc.pipelines.registry import all_passes, is_own, load_pass, option_infos


def pass_list() -> str:
    """Return all passes, one paragraph each: name, anchor, summary, options with type and default.

    Passes of other packages follow; one that cannot be loaded is listed with the reason.
    """
    lines = [line for cls in all_passes() for line in _paragraph(cls)]
    lines += [line for extension in extensions("pass") if not is_own(extension.name) for line in _foreign(extension)]
    return "\n".join(lines) + "\n"


def _paragraph(cls: type[Pass], origin: str = "") -> list[str]:
    text = cls.__doc__ or ""
    is_generated = text.startswith(f"{cls.__name__}(")  # what dataclass writes where there is no docstring
    summary = [] if is_generated else text.strip().splitlines()
    lines = [f"{cls.name}  ({cls.anchor}{origin})"]
    if summary:
        lines.append(f"    {summary[0]}")
    lines.extend(f"      {info.name}: {info.type_text} = {print_value(info.default)}" for info in option_infos(cls))
    return lines


def _foreign(extension: Extension) -> list[str]:
    try:
        return _paragraph(load_pass(extension), f", of {extension.distribution}")
    except QBCompilerError as error:
        return [f"{extension.name}  (of {extension.distribution})", f"    {error.message}"]
