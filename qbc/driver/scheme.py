"""From the inference scheme that a user asks for to the core mode of a target."""

from __future__ import annotations

from pathlib import Path

from qbc.driver.context import find_target, make_context
from qbc.errors import QBCompilerError
from qbc.modes import ALL, MODE_NAMES, SINGLE

LEGACY_GLOBAL = "global"  # name of global8 in old scripts
SCHEMES = (*MODE_NAMES, ALL, LEGACY_GLOBAL)


def core_mode(scheme: str, target: str | Path | None) -> tuple[str, tuple[str, ...]]:
    """Return the core mode of `npu-assign-mode` for a scheme, and what to tell the user.

    A target that lacks the mode is a TARGET_ERROR, `all` on a target with one core becomes `single`. Without a target
    nothing is checked yet.
    """
    notices = []
    if scheme == LEGACY_GLOBAL:
        scheme = "global8"
        notices.append("inference scheme 'global' is deprecated, it means 'global8'")
    if scheme == SINGLE or target is None:
        return scheme, tuple(notices)
    device = find_target(target, make_context())
    if scheme == ALL and len(device.modes) == 1:
        notices.append(f"inference scheme 'all': {device.name} has one core, its only core mode is {device.modes[0]}")
        return device.modes[0], tuple(notices)
    if scheme != ALL and scheme not in device.modes:
        raise QBCompilerError(
            f"inference scheme {scheme!r}: {device.name} has no such core mode",
            code="TARGET_ERROR",
            hint=f"it has {', '.join(device.modes)}",
        )
    return scheme, tuple(notices)
