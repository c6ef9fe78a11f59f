"""Operator signatures: what the generated table says about each operator, without the onnx package."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from functools import cache, cached_property
from typing import Any

OPSET = 25
ML_DOMAIN = "ai.onnx.ml"
ML_OPSET = 5

_HEAD = re.compile(r"(?:(?P<domain>[\w.]+)\.)?(?P<name>\w+)@(?P<since>\d+) \((?P<inputs>.*)\) -> \((?P<outputs>.*)\)$")
_ATTRIBUTE = re.compile(r"    (?P<name>\w+)(?P<required>!?): (?P<kind>\w+)(?: = (?P<default>.*))?$")


@dataclass(frozen=True)
class Parameter:
    """A formal input or output: its name and whether it is optional or variadic."""

    name: str
    optional: bool = False
    variadic: bool = False


@dataclass(frozen=True)
class AttributeSignature:
    """A formal attribute: kind (INT, INTS, FLOAT, FLOATS, STRING, STRINGS, TENSOR, GRAPH, ...) and default."""

    name: str
    kind: str
    required: bool = False
    default: Any = None


@dataclass(frozen=True)
class Signature:
    """One operator: formal inputs, outputs and attributes in the order of the ONNX specification."""

    name: str
    domain: str
    since_version: int
    inputs: tuple[Parameter, ...]
    outputs: tuple[Parameter, ...]
    attributes: dict[str, AttributeSignature] = field(default_factory=dict)

    @property
    def graph_attributes(self) -> tuple[str, ...]:
        """Names of the attributes that hold a body (regions of the operation), in region order."""
        return tuple(name for name, attribute in self.attributes.items() if attribute.kind == "GRAPH")

    @cached_property
    def parameter_names(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Names of the formal inputs and outputs."""
        return tuple(item.name for item in self.inputs), tuple(item.name for item in self.outputs)

    def needs_segments(self, parameters: tuple[Parameter, ...]) -> bool:
        """Return whether the number of values alone does not say which optional ones are present."""
        return sum(parameter.optional or parameter.variadic for parameter in parameters) > 1


@cache
def signatures() -> dict[str, Signature]:
    """Return all operators by name (no name occurs in both domains)."""
    from qbc.dialects.framework.table import TABLE

    found: dict[str, Signature] = {}
    current: Signature | None = None
    for line in TABLE.strip().splitlines():
        if current is not None and line.startswith(" "):
            attribute = _parse_attribute(line)
            current.attributes[attribute.name] = attribute
            continue
        current = _parse_head(line)
        found[current.name] = current
    return found


def _parse_head(line: str) -> Signature:
    match = _HEAD.match(line)
    if match is None:
        raise ValueError(f"malformed operator signature: {line!r}")
    return Signature(
        match["name"],
        match["domain"] or "",
        int(match["since"]),
        _parameters(match["inputs"]),
        _parameters(match["outputs"]),
    )


def _parse_attribute(line: str) -> AttributeSignature:
    match = _ATTRIBUTE.match(line)
    if match is None:
        raise ValueError(f"malformed attribute signature: {line!r}")
    default = json.loads(match["default"]) if match["default"] else None
    if isinstance(default, list):
        default = tuple(default)
    return AttributeSignature(match["name"], match["kind"], bool(match["required"]), default)


def _parameters(text: str) -> tuple[Parameter, ...]:
    names = [part.strip() for part in text.split(",") if part.strip()]
    return tuple(Parameter(name.rstrip("?*"), name.endswith("?"), name.endswith("*")) for name in names)
