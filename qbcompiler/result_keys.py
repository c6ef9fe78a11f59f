"""The keys of `data` in `result` events: what programs may rely on, by command.

Lists and tables inside have the keys that the pages of their subject give (docs/reports.md, docs/formats.md).
`explain` without a code has a key for each code; `info --mblt` is null for a file without provenance.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple


class ResultKeys(NamedTuple):
    """The keys of one kind of result: the command, the flags that ask for it, and what each key holds."""

    command: str
    flags: str
    keys: Mapping[str, str]


_OUTPUT = {"output": "the file that was written"}
_BUILD = {
    **_OUTPUT,
    "bytes": "its size",
    "notices": "what the compiler had to tell",
    "conversion": "operators that did not convert: node, operator, reason",
    "accuracy": "quality of each layer, null where nothing was quantized",
    "latency": "estimate of each layer, null where there is no program",
}
_LAYERS = {
    "layers": "with --layers: name, operation, shape; of a .mblt type and macs (null where a size is open), of an .mxq "
    "mode, variant, number, input_bits, weight_bits, output_bits",
    "map": "with --map: node, operations, reason; of an .mxq also records: mode, variant, number",
}
_MANIFEST = {
    "producer": "the compiler",
    "pipeline": "all passes",
    "target": "the device, or null",
    "config": "the resolved configuration",
    "provenance": "digests of the sources",
    "versions": "of packages",
    "notices": "what the compiler had to tell",
    "reports": "conversion, removed source nodes, latency",
    "preview": "whether it is for viewing only",
}
_INTERFACE = {
    "inputs": "of an .mxq: name, shape, dtype, codes, scales, zero_point of what it takes",
    "outputs": "of an .mxq: the same of what it gives",
}
_PROVENANCE = {
    **{key: text for key, text in _MANIFEST.items() if key not in ("provenance", "reports", "preview")},
    "record_version": "version of the next keys",
    "source": "digest of the source model",
    "graph": "digest and inputs of the parsed graph",
}

RESULTS = (
    *(ResultKeys(command, "", _BUILD) for command in ("compile", "parse", "quantize")),
    ResultKeys("print-pipeline", "compile, parse or quantize with --print-pipeline", {"pipeline": "the text"}),
    ResultKeys("dump-config", "with --output", _OUTPUT),
    ResultKeys("dump-config", "without", {"config": "the configuration"}),
    ResultKeys(
        "presets",
        "",
        {"presets": "name, base, description, config and missing (features that are not available) of each"},
    ),
    ResultKeys(
        "check",
        "",
        {
            "version": "of this package",
            "jsonl_version": "of this protocol",
            "commands": "names",
            "backends": "names",
            "devices": "names",
            "phases": "names",
            "presets": "names",
            "extensions": "what other packages add: kind, name, distribution",
            "versions": "of packages",
            "problems": "sentences about the installation",
        },
    ),
    ResultKeys(
        "explain",
        "CODE",
        {
            "code": "the code",
            "summary": "what it means",
            "causes": "reasons",
            "remedy": "what to do",
            "page": "where its page lies in the repository",
        },
    ),
    ResultKeys("completion", "", {"shell": "the shell", "script": "the text"}),
    ResultKeys("info", "FILE, --mxq FILE, or --json", {**_MANIFEST, **_INTERFACE}),
    ResultKeys("info", "--mblt FILE", _PROVENANCE),
    ResultKeys("info", "--layers, --map", _LAYERS),
    ResultKeys("info", "--check-source", {"source": "the model", "matches": "true (else there is an error)"}),
    ResultKeys(
        "validate",
        "",
        {
            "inputs": "name, shape, source_shape and type of each",
            "outputs": "name, shape, source_shape and type of each",
            "layers": "their number",
            "macs": "multiply-accumulates",
            "uncounted": "number of layers of open size, whose multiply-accumulates are not known",
            "unconverted": "node, operator, reason",
            "npu_mac_share": "share of the multiply-accumulates with a form on the NPU, null where there are none",
            "differences": "name, expected, found of each input or output whose shape is not the source model's",
            "target": "the device that was asked for, null where none was",
            "refused": "node, operation, rule, found of each layer that the device cannot run",
        },
    ),
    ResultKeys("export", "", _OUTPUT),
    ResultKeys(
        "export",
        "--qdq",
        {
            **_OUTPUT,
            "values": "number of values with codes",
            "weighted_layers": "number of layers with integer weights",
        },
    ),
    ResultKeys(
        "view",
        "",
        {
            **_OUTPUT,
            "nodes": "their number",
            "other_core_modes": "core modes of the programs that are not shown",
            "opened": "false: programs get the file only",
        },
    ),
    ResultKeys("extract-body", "", _OUTPUT),
    ResultKeys("target list", "", {"devices": "names"}),
    ResultKeys(
        "target show", "", {"name": "the device", "modes": "core modes", "facts": "fact, value, status, reason of each"}
    ),
    ResultKeys(
        "target selftest",
        "",
        {"kernels": "kernel family by role", "programs": "mode, variant, passed and verdict of each"},
    ),
    ResultKeys(
        "run",
        "",
        {
            "outputs": "name, shape, min, max, mean and, with --output-dir, file of each",
            "random_inputs": "whether inputs were made up",
            "simulated_milliseconds": "median time of the simulator",
        },
    ),
    ResultKeys(
        "demo",
        "",
        {
            "images": "their number",
            "float_accuracy": "share of right answers",
            "compiled_accuracy": "share of right answers",
            "signal_to_noise_db": "logits against float",
            "model": "file",
            "executable": "file",
            "ir": "directory",
        },
    ),
    ResultKeys("version", "--version", {"version": "of this package"}),
)
