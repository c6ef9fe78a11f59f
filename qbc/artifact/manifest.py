"""The manifest of a snapshot: what made it, as JSON without paths or time stamps."""

from __future__ import annotations

import json
import platform
from dataclasses import asdict, dataclass, field
from importlib import metadata
from typing import Any

from qbc.errors import QBCompilerError
from qbc.version import ABSENT, PACKAGE, own_version

MANIFEST_SECTION = "manifest"


@dataclass(frozen=True)
class Manifest:
    """Pipeline text, resolved config (without paths), provenance (digests), tool versions and reports of a build."""

    producer: str
    pipeline: str = ""
    target: str | None = None
    config: dict[str, Any] = field(default_factory=dict)
    provenance: dict[str, Any] = field(default_factory=dict)
    versions: dict[str, str] = field(default_factory=dict)
    notices: list[str] = field(default_factory=list)
    reports: dict[str, Any] = field(default_factory=dict)
    preview: bool = False

    def to_bytes(self) -> bytes:
        """Return canonical JSON: equal manifests give equal bytes."""
        return json.dumps(asdict(self), sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()


def read_manifest(data: bytes | memoryview) -> Manifest:
    """Parse a manifest; raises INVALID_SNAPSHOT when it is not one. Unknown keys of newer writers are ignored."""
    try:
        fields = json.loads(bytes(data))
    except (ValueError, RecursionError):
        raise _damaged("is not JSON") from None
    if not isinstance(fields, dict):
        raise _damaged("is not an object")
    values: dict[str, Any] = {}
    for name, kind in _FIELD_TYPES.items():
        if name not in fields:
            continue
        if not isinstance(fields[name], kind):
            raise _damaged(f"has a wrong field {name!r}")
        values[name] = fields[name]
    if "producer" not in values:
        raise _damaged("names no producer")
    return Manifest(**values)


_FIELD_TYPES: dict[str, tuple[type, ...]] = {
    "producer": (str,),
    "pipeline": (str,),
    "target": (str, type(None)),
    "config": (dict,),
    "provenance": (dict,),
    "versions": (dict,),
    "notices": (list,),
    "reports": (dict,),
    "preview": (bool,),
}


def tool_versions(*packages: str) -> dict[str, str]:
    """Return the installed versions of the packages that can change a result."""
    names = packages or ("qbcompiler", "xdsl", "onnx", "onnxruntime", "numpy", "torch", "numba")
    versions = {"python": ".".join(platform.python_version_tuple()[:2])}
    for name in names:
        try:
            versions[name] = own_version() if name == PACKAGE else metadata.version(name)
        except metadata.PackageNotFoundError:
            versions[name] = ABSENT
    return versions


def _damaged(what: str) -> QBCompilerError:
    return QBCompilerError(f"the manifest {what}", code="INVALID_SNAPSHOT", hint="build the file again from its source")
