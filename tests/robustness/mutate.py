"""Seeded damage of files: truncation, flipped bytes, and structural changes that are signed again."""

from __future__ import annotations

import io
import json
import random
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx

from qbc.store import read_container, write_container
from tests.frontends.mutations import structural
from tests.robustness.mutate_onnx import hostile
from tests.robustness.mutate_text import numbers, properties, tokens

Rng = np.random.Generator
Mutation = Callable[[Path, Path, Rng], None]


def truncate(source: Path, target: Path, rng: Rng) -> None:
    """Keep a prefix."""
    data = source.read_bytes()
    target.write_bytes(data[: int(rng.integers(0, len(data)))])


def flip(source: Path, target: Path, rng: Rng) -> None:
    """Change one to eight bytes."""
    data = bytearray(source.read_bytes())
    for position in rng.integers(0, len(data), int(rng.integers(1, 9))):
        data[int(position)] ^= int(rng.integers(1, 256))
    target.write_bytes(data)


def flip_header(source: Path, target: Path, rng: Rng) -> None:
    """Change bytes near the start, where sizes and offsets stand."""
    data = bytearray(source.read_bytes())
    for position in rng.integers(0, min(len(data), 512), int(rng.integers(1, 5))):
        data[int(position)] = int(rng.integers(0, 256))
    target.write_bytes(data)


def container(source: Path, target: Path, rng: Rng) -> None:
    """Damage one section of a snapshot and sign it again, so that no checksum hides the reader."""
    opened = read_container(source)
    sections = {name: bytes(view) for name, view in opened.sections.items()}
    names = [name for name in sections if name != "ir" or opened.kind == "MBLT"]
    name = names[int(rng.integers(len(names)))]
    if name in ("ir", "blob-index") or name.startswith(("debug/", "manifest")):
        sections[name] = json.dumps(_mutated_json(json.loads(sections[name]), rng)).encode()
    elif rng.random() < 0.1:
        del sections[name]
    else:
        sections[name] = _mutated_words(sections[name], rng)
    write_container(target, opened.kind, sections)


def _mutated_json(value: Any, rng: Rng) -> Any:
    root = [json.loads(json.dumps(value))]
    holder: Any = root
    key: Any = 0
    while isinstance(holder[key], dict | list) and holder[key] and rng.random() < 0.93:
        holder = holder[key]
        key = (
            list(holder)[int(rng.integers(len(holder)))] if isinstance(holder, dict) else int(rng.integers(len(holder)))
        )
    choice = rng.random()
    if choice < 0.15 and isinstance(holder, list) and holder is not root:
        del holder[key]
    elif choice < 0.3 and isinstance(holder, list) and holder is not root:
        holder.insert(key, holder[int(rng.integers(len(holder)))])
    elif isinstance(holder[key], int) and rng.random() < 0.7:
        holder[key] += int(rng.choice([-2, -1, 1, 2, 1000, 1 << 40]))
    else:
        holder[key] = [None, -1, 1 << 70, "x", "", [], {}, 0.5, True][int(rng.integers(9))]
    return root[0]


def _mutated_words(data: bytes, rng: Rng) -> bytes:
    if not data:
        return b"\x01"
    words = bytearray(data)
    for _ in range(int(rng.integers(1, 4))):
        position = int(rng.integers(0, max(len(words) // 4, 1))) * 4
        extremes = [0, 1, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, int(rng.integers(0, 1 << 32)), int(rng.integers(0, 64))]
        value = extremes[int(rng.integers(len(extremes)))]
        words[position : position + 4] = value.to_bytes(4, "little")
    return bytes(words)


def onnx_graph(source: Path, target: Path, rng: Rng) -> None:
    """Change one structural thing of a model: an attribute, a shape, a name, a node, a tensor."""
    model = onnx.load(source)
    graph = model.graph
    kind = int(rng.integers(0, 10))
    node = graph.node[int(rng.integers(len(graph.node)))]
    tensor = graph.initializer[int(rng.integers(len(graph.initializer)))]
    if kind == 0 and node.attribute:
        attribute = node.attribute[int(rng.integers(len(node.attribute)))]
        attribute.i = int(rng.choice([-1, 0, 1 << 40]))
        for position in range(len(attribute.ints)):
            attribute.ints[position] = int(rng.choice([-5, 0, 3, 1 << 33]))
    elif kind == 1:
        dims = graph.input[0].type.tensor_type.shape.dim
        dims[int(rng.integers(len(dims)))].dim_value = int(rng.choice([0, 1, 7, 1 << 31]))
    elif kind == 2 and node.input:
        node.input[int(rng.integers(len(node.input)))] = str(rng.choice(["", "nowhere", graph.output[0].name]))
    elif kind == 3:
        node.op_type = str(rng.choice(["Nonsense", "Add", "Conv", "Reshape", "Loop", ""]))
    elif kind == 4:
        del graph.node[int(rng.integers(len(graph.node)))]
    elif kind == 5 and tensor.dims:
        tensor.dims[int(rng.integers(len(tensor.dims)))] = int(rng.choice([-1, 0, 2, 1 << 34]))
    elif kind == 6:
        tensor.data_type = int(rng.choice([0, 1, 6, 7, 10, 16, 99]))
    elif kind == 7:
        tensor.raw_data = tensor.raw_data[: int(rng.integers(0, len(tensor.raw_data) + 1))]
    elif kind == 8:
        model.opset_import[0].version = int(rng.choice([0, 1, 7, 26, 99]))
    else:
        graph.node.insert(int(rng.integers(len(graph.node))), node)
    target.write_bytes(model.SerializeToString())


def onnx_structure(source: Path, target: Path, rng: Rng) -> None:
    """One to three of the structural changes that the tests of the frontend use."""
    target.write_bytes(structural(random.Random(int(rng.integers(1 << 32))), source.read_bytes()))


def npy(source: Path, target: Path, rng: Rng) -> None:
    """Another shape, type, content or header."""
    array = np.load(source)
    choice = int(rng.integers(0, 8))
    variants: list[Callable[[], Any]] = [
        lambda: array.transpose(),
        lambda: array.astype([np.int8, np.float64, np.complex64, np.uint16][int(rng.integers(4))]),
        lambda: np.where(rng.random(array.shape) < 0.1, np.nan, array),
        lambda: array[..., :-1],
        lambda: np.zeros((0,), np.float32),
        lambda: np.array(5.0),
        lambda: np.where(rng.random(array.shape) < 0.01, np.inf, array),
    ]
    if choice < len(variants):
        np.save(target, variants[choice]())
        return
    buffer = io.BytesIO()
    np.save(buffer, np.array([{"a": 1}], dtype=object), allow_pickle=True)
    target.write_bytes(buffer.getvalue())


def npy_header(source: Path, target: Path, rng: Rng) -> None:
    """Another header before the same data: sizes, types and texts that no writer makes."""
    shapes = ["(1099511627776,)", "(-1,)", "(2, 2)", "()", "(1 << 40,)", "((((((" * 400, "9" * 5000, "None", "(1.5,)"]
    types = ["'<f4'", "'|O'", "'<M8[D]'", "'>f4'", "[('a', '<f4')]", "'<U7'", "'nonsense'", "'|V8'", "'<f2'", "'<f16'"]
    shape, kind = shapes[int(rng.integers(len(shapes)))], types[int(rng.integers(len(types)))]
    order = str(rng.choice(["True", "False", "7"]))
    text = f"{{'descr': {kind}, 'fortran_order': {order}, 'shape': {shape}}}".encode()
    version = int(rng.choice([1, 2, 3, 9]))
    length = struct.pack("<H" if version == 1 else "<I", int(rng.choice([len(text) + 1, len(text) + 1, 0, 65535])))
    target.write_bytes(b"\x93NUMPY" + bytes([version, 0]) + length + text + b"\n" + source.read_bytes()[128:])


BY_FORMAT: dict[str, tuple[Mutation, ...]] = {
    "onnx": (truncate, flip, onnx_graph, onnx_structure, hostile, hostile, hostile),
    "mblt": (truncate, flip, flip_header, container, container, container),
    "mxq": (truncate, flip, flip_header, container, container, container),
    "mlir": (truncate, tokens, numbers, numbers, properties, properties, properties, properties),
    "npy": (truncate, flip, flip_header, npy, npy, npy_header, npy_header),
}
