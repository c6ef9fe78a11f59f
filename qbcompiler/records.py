"""What a snapshot records about its making, as text for people."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from qbc.errors import counted
from qbcompiler.console import human_bytes, shape_text

INDENT = "  "
SHOWN_SAMPLES = 3


def record_text(
    kind: str, format_version: int, manifest: Mapping[str, Any] | None, interface: Mapping[str, Any] | None = None
) -> str:
    """Return the text of `info`: one line a fact, then notices, the settings that were changed, and the pipeline.

    `interface` is what an executable takes and gives (`qbc.driver.interface`), empty or None for a graph.
    """
    head = [("file", f"{kind}, format version {format_version}")]
    for what, key in (("takes", "inputs"), ("gives", "outputs")):
        head += [(what, _value(row)) for row in (interface or {}).get(key, [])]
    if manifest is None:
        return _facts([*head, ("record", "none")])
    parts = [_facts([*head, *_lines(manifest)])]
    parts += _block("notices", manifest["notices"])
    parts += _block("settings that differ from the defaults", _changed(manifest["config"]))
    parts += _block("pipeline", [manifest["pipeline"]])
    return "\n\n".join(parts)


def _value(row: Mapping[str, Any]) -> str:
    """Return one input or output of an executable: `image: uint8 64x64x3, codes int8, scale 0.0078, zero point 0`."""
    scales = row["scales"]
    encoding = f"scale {scales[0]:.9g}" if len(scales) == 1 else f"{len(scales)} scales up to {max(scales):.9g}"
    host = f"{row['name']}: {row['dtype']} {shape_text(row['shape'])}"
    if row["dtype"] == "int32":
        return f"{host}, integers as they are"
    return f"{host}, codes {row['codes']}, {encoding}, zero point {row['zero_point']}"


def _facts(facts: list[tuple[str, str]]) -> str:
    width = max(len(name) for name, _ in facts)
    return "\n".join(f"{name.ljust(width)}{INDENT}{text}" for name, text in facts)


def _block(title: str, lines: list[str]) -> list[str]:
    lines = [line for line in lines if line]
    return ["\n".join([title, *(f"{INDENT}{line}" for line in lines)])] if lines else []


def _lines(manifest: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    versions, record = manifest["versions"], manifest["provenance"]
    yield "made by", f"{manifest['producer']} {versions.get('qbcompiler', '')}".rstrip()
    others = [f"{name} {version}" for name, version in versions.items() if name != "qbcompiler"]
    yield "with", ", ".join(others)
    if manifest["target"]:
        facts = f" (digest of its facts: {record['target_digest']})" if "target_digest" in record else ""
        yield "target", f"{manifest['target']}{facts}"
    if manifest["preview"]:
        yield "use", "a preview for viewing"
    if not record:
        yield "provenance", "none (made with QBCOMPILER_PROVENANCE=0)"
        return
    yield from _provenance(record)


def _provenance(record: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    source, graph = record.get("source"), record.get("graph")
    if source:
        yield "source", f"{source['format']}, {_file(source)}"
        for entry in source["external_data"]:
            yield "weight file", _file(entry)
    if graph:
        for entry in graph["inputs"]:
            yield "source input", f"{entry['name']} {shape_text(entry['shape'])} {entry['type']}"
        yield "graph", f"sha256 {graph['sha256']}"
    if "calibration" in record:
        yield "calibration", _calibration(record["calibration"])
    if "preset" in record:
        yield "preset", f"{record['preset']['name']}, sha256 {record['preset']['sha256']}"
    if "parsed_with" in record:
        yield "parsed with", ", ".join(f"{name} {version}" for name, version in record["parsed_with"].items())


def _file(entry: Mapping[str, Any]) -> str:
    return f"{human_bytes(entry['bytes'])}, sha256 {entry['sha256']}"


def _calibration(record: Mapping[str, Any]) -> str:
    texts = []
    if "statistics" in record:
        texts.append(f"loaded statistics, {_file(record['statistics'])}")
    if "samples" in record:
        digests = record["samples"]
        shown = ", ".join(digests[:SHOWN_SAMPLES]) + (", ..." if len(digests) > SHOWN_SAMPLES else "")
        kind = "random sample" if record["random"] else "sample"
        texts.append(f"{counted(record['count'], kind)}: {shown}")
    return "; ".join(texts) or "none"


def _changed(config: Mapping[str, Any]) -> list[str]:
    from qbc.config import CompileConfig

    defaults = dict(_leaves(CompileConfig().grouped(paths=False), ""))
    return [f"{path} = {value!r}" for path, value in _leaves(config, "") if defaults.get(path, _ABSENT) != value]


_ABSENT = object()


def _leaves(tree: Mapping[str, Any], prefix: str) -> Iterator[tuple[str, Any]]:
    for key, value in tree.items():
        if isinstance(value, Mapping) and value:
            yield from _leaves(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", value
