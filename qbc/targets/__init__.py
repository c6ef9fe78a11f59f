"""Machine descriptions of the devices: data in YAML, each fact marked public, derived or assumed."""

from qbc.targets.loader import (
    DEFAULT_TARGET,
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
    "load_foreign_target",
    "load_target",
    "load_target_file",
    "resolve_name",
    "target_names",
]
