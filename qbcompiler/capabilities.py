"""What this version can do, and whether the machine has what it needs."""

from __future__ import annotations

from typing import Any


def capabilities() -> dict[str, Any]:
    """Return commands, source formats, devices, presets, versions and problems of this installation."""
    from qbc.artifact.manifest import tool_versions
    from qbc.driver.foreign import foreign_parts
    from qbc.frontends.registry import frontend_names
    from qbc.pipelines.phases import PHASES, preset_names
    from qbc.targets import target_names
    from qbc.version import own_version
    from qbcompiler.channel import PROTOCOL_VERSION
    from qbcompiler.parser import build_parser
    from qbcompiler.tools import preset_problems

    return {
        "version": own_version(),
        "jsonl_version": PROTOCOL_VERSION,
        "commands": command_names(build_parser()),
        "backends": list(frontend_names()),
        "devices": list(target_names()),
        "phases": list(PHASES),
        "presets": list(preset_names()),
        "extensions": [str(part.extension) for part in foreign_parts()],
        "versions": tool_versions(),
        "problems": [
            *problems(),
            *(part.problem for part in foreign_parts() if part.problem is not None),
            *preset_problems(),
        ],
    }


def command_names(parser: Any) -> list[str]:
    """Return the names of the commands of a parser."""
    return [name for action in parser._actions if isinstance(action.choices, dict) for name in action.choices]


def problems() -> list[str]:
    """Return what is wrong with the installation: another package of the same import name in the environment."""
    from importlib.metadata import PackageNotFoundError, distribution, packages_distributions

    from qbcompiler.neighbours import conflict

    clash = conflict()
    if clash is not None:
        return [clash]
    try:
        distribution("qbcompiler")
    except PackageNotFoundError:
        return ["qbcompiler is imported from a directory, it is not installed"]
    others = sorted(set(packages_distributions().get("qbcompiler", [])) - {"qbcompiler"})
    if not others:
        return []
    return [
        f"the import name qbcompiler belongs to another package too ({', '.join(others)}): they replace each other's "
        "files; install them in separate environments"
    ]
