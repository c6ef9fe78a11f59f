"""`.mblt` files: text and table agree, damage is noticed, tables that no writer made are refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp
from xdsl.parser import Parser

from qbc.artifact.attribute_table import DamagedTable
from qbc.artifact.ir_table import read_ir_table, write_ir_table
from qbc.artifact.manifest import Manifest
from qbc.artifact.mblt import IR_SECTION, read_mblt, write_mblt
from qbc.driver.context import make_context
from qbc.errors import QBCompilerError
from qbc.passes.base import CompileContext
from qbc.pipelines.text import parse_ir
from qbc.store import BlobStore, read_container, write_container

TEXT = """
module attributes {{a.list = [1 : i64, "two", 0.1 : f32], a.flag}} {{
  func.func @main(%x: tensor<1x8x8x3xf32> {{mblt.name = "input", mblt.source_layout = "nchw"}})
      -> (tensor<1x8x8x4xf32> {{mblt.name = "out"}}) {{
    %0 = mblt.conv2d %x {{weight = #blob.ref<"{weight}" : tensor<4x3x3x3xf32>>, kernel = [3, 3], strides = [1, 1],
      padding = [1, 1, 1, 1], dilations = [1, 1], groups = 1, activation = "relu"}}
      : tensor<1x8x8x3xf32> -> tensor<1x8x8x4xf32> loc(fused["a/Conv", "b/Relu"])
    %1 = mblt.sigmoid %0 : tensor<1x8x8x4xf32> -> tensor<1x8x8x4xf32> loc("c")
    %2 = mblt.mul %0, %1 : (tensor<1x8x8x4xf32>, tensor<1x8x8x4xf32>) -> tensor<1x8x8x4xf32>
    func.return %2 : tensor<1x8x8x4xf32>
  }}
}}
"""


def _module(context: CompileContext) -> ModuleOp:
    weight = context.store.put(np.arange(108, dtype=np.float32))
    return Parser(context, TEXT.format(weight=weight)).parse_module()


def test_round_trip(tmp_path: Path) -> None:
    context = make_context(store=BlobStore())
    module = _module(context)
    write_mblt(tmp_path / "m.mblt", module, context.store, Manifest(producer="test", pipeline="p"))
    opened = read_mblt(tmp_path / "m.mblt", make_context(store=BlobStore()))
    assert opened.module.is_structurally_equivalent(module)
    assert [op.location for op in opened.module.walk()] == [op.location for op in module.walk()]
    assert opened.manifest.pipeline == "p"
    key = context.store.put(np.arange(108, dtype=np.float32))
    assert np.array_equal(opened.store.get(key, "float32", (108,)), np.arange(108))


def test_equal_modules_give_equal_bytes(tmp_path: Path) -> None:
    for name in ("a", "b"):
        context = make_context(store=BlobStore())
        context.store.put(b"never named in the IR" + name.encode())
        write_mblt(tmp_path / name, _module(context), context.store, Manifest(producer="test"))
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def _mutations(table: dict[str, Any]) -> list[dict[str, Any]]:
    """Structural damage: every leaf of the JSON replaced by another kind of value, rows dropped and swapped."""
    replacements = [-1, 10**12, "x", None, [], {}, 1.5]
    out: list[dict[str, Any]] = []
    rng = np.random.default_rng(3)
    for _ in range(100):
        damaged = json.loads(json.dumps(table))
        node: Any = damaged
        path = []
        while isinstance(node, dict | list) and node and (rng.random() < 0.9 or not path):
            key = list(node)[int(rng.integers(len(node)))] if isinstance(node, dict) else int(rng.integers(len(node)))
            path.append((node, key))
            node = node[key]
        holder, key = path[-1]
        if rng.random() < 0.2 and isinstance(holder, list):
            del holder[key]
        else:
            holder[key] = replacements[int(rng.integers(len(replacements)))]
        out.append(damaged)
    return out


def test_mutated_tables_never_crash() -> None:
    context = make_context(store=BlobStore())
    module = _module(context)
    refused = 0
    for damaged in _mutations(json.loads(write_ir_table(module))):
        try:
            read_ir_table(json.dumps(damaged).encode(), make_context(store=BlobStore()))
        except DamagedTable:
            refused += 1
    assert refused > 60


@pytest.mark.parametrize("data", [b"", b"[]", b"{}", b'{"version":2}', b"\xff\xfe", b"[" * 100_000])
def test_foreign_tables_are_refused(data: bytes) -> None:
    with pytest.raises(DamagedTable):
        read_ir_table(data, make_context(store=BlobStore()))


def test_missing_blob_is_named(tmp_path: Path) -> None:
    context = make_context(store=BlobStore())
    write_mblt(tmp_path / "m.mblt", _module(context), context.store, Manifest(producer="test"))
    container = read_container(tmp_path / "m.mblt")
    sections = {name: bytes(view) for name, view in container.sections.items()}
    sections["blob-index"], sections["blobs"] = b"[]", b""
    write_container(tmp_path / "n.mblt", "MBLT", sections)
    with pytest.raises(QBCompilerError, match="lacks blob") as caught:
        read_mblt(tmp_path / "n.mblt", make_context(store=BlobStore()))
    assert caught.value.code == "INVALID_SNAPSHOT"
    assert IR_SECTION in sections


def test_wrong_kind(tmp_path: Path) -> None:
    write_container(tmp_path / "x.mxq", "MXQ", {"manifest": b"{}"})
    with pytest.raises(QBCompilerError, match="kind 'MXQ'"):
        read_mblt(tmp_path / "x.mxq", make_context(store=BlobStore()))


@pytest.mark.parametrize("place", [b"[4321]", b"tensor<4321x"], ids=["a row", "text"])
def test_a_table_with_a_size_beyond_64_bits_is_refused(place: bytes) -> None:
    text = "func.func @main(%x: tensor<4321xf32>) -> tensor<4321xf32> {\n  func.return %x : tensor<4321xf32>\n}"
    table = write_ir_table(parse_ir(make_context(store=BlobStore()), text, "t"))
    assert place in table
    with pytest.raises(DamagedTable):
        read_ir_table(
            table.replace(place, place.replace(b"4321", str(2**63).encode())), make_context(store=BlobStore())
        )
