"""Machine descriptions of the devices: data in YAML, each fact marked public, derived or assumed."""

from qbc.targets.loader import (
    DEFAULT_TARGET,
    is_own_target,
    load_foreign_target,
    load_target,
    load_target_file,
    resolve_name,
    target_names,
)
from qbc.targets.model import Fact, Target

__all__ = [
    "DEFAULT_TARGET",
    "Fact",
    "Target",
    "is_own_target",
    "load_foreign_target",
    "load_target",
    "load_target_file",
    "resolve_name",
    "target_names",
]
