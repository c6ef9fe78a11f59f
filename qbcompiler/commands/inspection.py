"""`info`, `validate`, `extract-body`, `target list` and `target show`."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from qbc.errors import ArgumentError, counted
from qbcompiler.channel import channel


def info(options: argparse.Namespace) -> int:
    """Print what a snapshot records, or its layers, or its source map; or compare a source model with the record."""
    files = [file for file in (options.file, options.mblt, options.mxq) if file is not None]
    if len(files) != 1:
        raise ArgumentError("info needs one file", hint="pass FILE, --mblt FILE or --mxq FILE")
    path = Path(files[0])
    if options.layers or options.map:
        return _info_of_graph(path, options)
    if options.check_source is not None:
        return _check_source(path, options.check_source)
    from qbcompiler.tools import provenance_of, read_record

    kind, version, manifest = read_record(path)
    interface = _interface(path) if kind == ".mxq" else {}
    complete = {**(manifest or {}), **interface} or None
    if options.file is not None and not options.json:
        from qbcompiler.records import record_text

        channel().result("info", complete, lambda: record_text(kind, version, manifest, interface))
        return 0
    shown = complete if options.mblt is None else provenance_of(manifest)
    channel().result("info", shown, lambda: _json(shown))
    return 0


def _check_source(path: Path, model: Path) -> int:
    from qbc.driver.provenance import check_source
    from qbcompiler.tools import read_record

    _, _, manifest = read_record(path)
    check_source({} if manifest is None else manifest["provenance"], model)
    channel().result("info", {"source": str(model), "matches": True}, f"{model} is the source model of {path}")
    return 0


def _interface(path: Path) -> dict[str, Any]:
    from qbc.driver.interface import interface_of

    return interface_of(path)


def _json(data: Any) -> str:
    import json

    return json.dumps(data, indent=2, ensure_ascii=False)


def _info_of_graph(path: Path, options: argparse.Namespace) -> int:
    from qbc.driver.inspect import layers, open_mblt
    from qbc.driver.source_map import record_map, removed_of, source_map

    data: dict[str, Any] = {}
    if path.suffix.lower() == ".mxq":
        if options.layers:
            from qbc.driver.precision import precision_table

            data["layers"] = precision_table(path)
        if options.map:
            data["map"] = record_map(path)
        channel().result("info", data, lambda: _graph_text(data))
        return 0
    opened = open_mblt(path)
    if options.layers:
        data["layers"] = layers(opened.module)
    if options.map:
        data["map"] = source_map(opened.module, removed_of(opened.manifest.reports, path))
    channel().result("info", data, lambda: _graph_text(data))
    return 0


def _graph_text(data: dict[str, Any]) -> str:
    from qbcompiler.console import table

    texts = []
    if data.get("layers") and "number" in data["layers"][0]:
        texts.append(_precision_text(data["layers"]))
    elif "layers" in data:
        rows = [
            (layer["name"], layer["type"], layer["operation"], layer["shape"], _macs_text(layer["macs"]))
            for layer in data["layers"]
        ]
        texts.append(table(("layer", "type", "operation", "shape", "M MACs"), rows))
    if "map" in data:
        has_records = any("records" in entry for entry in data["map"])
        lines = [
            (entry["node"], ", ".join(entry["operations"]) or f"({entry['reason']})", *_records_text(entry))
            for entry in data["map"]
        ]
        texts.append(table(("source node", "operations", "records")[: 2 + has_records], lines))
    return "\n\n".join(texts)


def _precision_text(rows: list[dict[str, Any]]) -> str:
    """Return a table of the commands of each program, with how many of them have 16-bit values."""
    from qbcompiler.console import table

    texts = []
    for mode, variant in dict.fromkeys((row["mode"], row["variant"]) for row in rows):
        own = [row for row in rows if (row["mode"], row["variant"]) == (mode, variant)]
        wide = sum(16 in (*row["input_bits"], row["output_bits"]) for row in own)
        name = _program_name(mode, variant)
        texts.append(f"core mode {name}: {counted(len(own), 'command')}, {wide} with 16-bit values")
        texts.append(
            table(("", "layer", "operation", "shape", "in", "weight", "out"), [_precision_row(r) for r in own])
        )
    return "\n".join(texts)


def _precision_row(row: dict[str, Any]) -> tuple[str, ...]:
    weight = "" if row["weight_bits"] is None else str(row["weight_bits"])
    inputs = ", ".join(map(str, row["input_bits"]))
    return str(row["number"]), row["name"], row["operation"], row["shape"], inputs, weight, str(row["output_bits"])


def _macs_text(macs: int | None) -> str:
    return "?" if macs is None else f"{macs / 1e6:.3f}"


def _records_text(entry: dict[str, Any]) -> tuple[str, ...]:
    """Return the record numbers of a source node by core mode; nothing for a graph that has no records."""
    if "records" not in entry:
        return ()
    numbers: dict[str, list[str]] = {}
    for record in entry["records"]:
        program = _program_name(record["mode"], record["variant"])
        numbers.setdefault(program, []).append(str(record["number"]))
    return ("; ".join(f"{program} {', '.join(found)}" for program, found in numbers.items()),)


def _program_name(mode: str, variant: int) -> str:
    return mode + (f"/{variant}" if variant else "")


def validate(options: argparse.Namespace) -> int:
    """Check a source model without compiling it."""
    from qbc.driver.arguments import parse_input_shapes
    from qbcompiler.arguments import refuse
    from qbcompiler.tools import validate_model

    if options.cpu_offload:
        raise refuse("cpu_offload", "running parts of the graph on the CPU")
    shapes = parse_input_shapes(options.input_shape)
    found = validate_model(options.model, options.backend, shapes, options.target_device)
    for notice in found.pop("notices"):
        channel().notice(notice)
    channel().result("validate", found, lambda: _validation_text(found))
    return 0


def _validation_text(found: dict[str, Any]) -> str:
    from qbcompiler.console import shape_text, table

    tensors = [(kind[:-1], tensor) for kind in ("inputs", "outputs") for tensor in found[kind]]
    rows = [
        (kind, tensor["name"], shape_text(tensor["source_shape"]), shape_text(tensor["shape"]), tensor["type"])
        for kind, tensor in tensors
    ]
    lines = [table(("", "name", "source shape", "NPU shape", "type"), rows), _differences_text(found)]
    open_layers = found["uncounted"]
    beside = f" beside {counted(open_layers, 'layer')} of open size (bind it with --input-shape)" if open_layers else ""
    count = counted(found["layers"], "layer")
    lines.append(f"{count}, {found['macs'] / 1e6:.2f} M multiply-accumulates{beside}")
    return "\n".join([*lines, _unconverted_text(found), *_target_lines(found)])


def _differences_text(found: dict[str, Any]) -> str:
    from qbcompiler.console import shape_text

    if not found["differences"]:
        return "inputs and outputs have the shapes of the source model"
    parts = [
        f"{entry['name']} is {shape_text(entry['found'])}, in the source model {shape_text(entry['expected'])}"
        for entry in found["differences"]
    ]
    return f"shapes differ from the source model: {'; '.join(parts)}"


def _unconverted_text(found: dict[str, Any]) -> str:
    from qbcompiler.console import table

    if not found["unconverted"]:
        return "every operator has a form on the NPU"
    left = [(item["node"], item["operator"], item["reason"]) for item in found["unconverted"]]
    share = found["npu_mac_share"]
    of_all = "" if share is None else f"; the others do {share:.1%} of the multiply-accumulates"
    return f"{counted(len(left), 'operator')} without a form on the NPU{of_all}\n" + table(
        ("node", "operator", "reason"), left
    )


def _target_lines(found: dict[str, Any]) -> list[str]:
    """Return what the device that was asked for cannot run; nothing where none was."""
    from qbcompiler.console import table

    if found["target"] is None:
        return ["no target device given: what a device refuses is not checked (--target-device)"]
    if not found["refused"]:
        return [f"{found['target']} can run every layer that has a form on the NPU"]
    rows = [
        (entry["node"], entry["operation"], entry["rule"] + (f" {entry['found']}" if entry["found"] else ""))
        for entry in found["refused"]
    ]
    layers = counted(len({row[:2] for row in rows}), "layer")
    return [f"{found['target']} cannot run {layers}", table(("node", "operation", "rule"), rows)]


def extract_body(options: argparse.Namespace) -> int:
    """Write the part of a graph that runs on an NPU."""
    from qbcompiler.tools import get_body_subgraph

    path = get_body_subgraph(options.mblt, options.output)
    channel().result("extract-body", {"output": str(path)}, f"wrote {path}")
    return 0


def target_list(options: argparse.Namespace) -> int:
    """Print the names of the devices."""
    from qbc.targets import target_names

    names = list(target_names())
    channel().result("target list", {"devices": names}, "\n".join(names))
    return 0


def target_show(options: argparse.Namespace) -> int:
    """Print the facts of a device with the status and reason of each."""
    from qbc.driver.context import find_target, make_context
    from qbc.targets.model import STATUSES
    from qbcompiler.console import table

    ctx = make_context()
    target = find_target(options.name, ctx)
    for notice in ctx.notices:
        channel().notice(notice)
    rows = [
        (key, str(fact.value), STATUSES.get(fact.status, fact.status), fact.reason)
        for key, fact in target.facts.items()
    ]
    facts = [dict(zip(("fact", "value", "status", "reason"), row, strict=True)) for row in rows]
    text = f"{target.name} (core modes: {', '.join(target.modes)})\n"
    data = {"name": target.name, "modes": list(target.modes), "facts": facts}
    channel().result("target show", data, lambda: text + table(("fact", "value", "status", "reason"), rows))
    return 0
