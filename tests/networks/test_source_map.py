"""Every node of a source model is in the map of the artifacts, with operations and records or the reason why not."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from qbc.program.package import read_package
from qbcompiler.cli import main
from tests.support.networks import CI_NETWORKS, NETWORKS, compiled, parsed


def _node_names(graph: Any) -> Iterator[str]:
    """Names of the nodes, those in bodies included; nameless ones are called by operator and position."""
    nodes = list(graph.node)
    for index, node in enumerate(nodes):
        yield node.name or f"{node.op_type}_{index}"
        for attribute in node.attribute:
            if attribute.HasField("g"):
                yield from _node_names(attribute.g)


@pytest.fixture(autouse=True)
def _json_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("QBCOMPILER_JSONL", "1")


def _map(path: Path, capsys: pytest.CaptureFixture[str]) -> list[dict[str, Any]]:
    capsys.readouterr()
    assert main(["info", str(path), "--map"]) == 0
    events = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    return next(event["data"]["map"] for event in events if event["kind"] == "result")


def _check(nodes: set[str], rows: list[dict[str, Any]]) -> None:
    assert {row["node"] for row in rows} == nodes
    assert len(rows) == len(nodes)
    for row in rows:
        assert bool(row["operations"]) != bool(row["reason"])
        assert row["reason"] != "nothing that was computed depends on it", row


@pytest.mark.parametrize("name", CI_NETWORKS)
def test_all_nodes_are_in_both_maps(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    nodes = set(_node_names(onnx.load(NETWORKS[name].path()).graph))
    _check(nodes, _map(parsed(name), capsys))
    rows = _map(compiled(name), capsys)
    _check(nodes, rows)
    ((key, program),) = read_package(compiled(name)).programs.items()
    for row in rows:
        assert all((record["mode"], record["variant"]) == key for record in row["records"])
        assert bool(row["operations"]) == bool(row["records"])
    named = {record["number"] for row in rows for record in row["records"]}
    kinds = [command.kind for command in program.commands]
    assert {number for number, kind in enumerate(kinds) if kind not in ("quantize", "dequantize")} <= named


def test_nodes_of_bodies_functions_and_older_opsets(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    flag = helper.make_tensor("flag", TensorProto.BOOL, [1], [True])
    value = helper.make_tensor_value_info("v", TensorProto.FLOAT, None)
    taken = helper.make_graph([helper.make_node("Relu", ["x"], ["v"], "taken/relu")], "taken", [], [value])
    other = helper.make_graph([helper.make_node("Neg", ["x"], ["v"], "other/neg")], "other", [], [value])
    dynamic_then = helper.make_graph([helper.make_node("Exp", ["a"], ["v"], "then/exp")], "then", [], [value])
    dynamic_else = helper.make_graph([helper.make_node("Abs", ["a"], ["v"], "else/abs")], "else", [], [value])
    function = helper.make_function(
        "own", "Twice", ["f"], ["g"], [helper.make_node("Add", ["f", "f"], ["g"], "inner")],
        [helper.make_opsetid("", 9)],
    )  # fmt: skip
    nodes = [
        helper.make_node("Constant", [], ["condition"], "constant", value=flag),
        helper.make_node("If", ["condition"], ["a"], "decided", then_branch=taken, else_branch=other),
        helper.make_node("If", ["b"], ["c"], "open", then_branch=dynamic_then, else_branch=dynamic_else),
        helper.make_node("Twice", ["c"], ["d"], "call", domain="own"),
        helper.make_node("Upsample", ["d", "scales"], ["y"], "up", mode="nearest"),
        helper.make_node("Sin", ["y"], ["unused"]),
    ]
    graph = helper.make_graph(
        nodes,
        "g",
        [
            helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 2, 4, 4]),
            helper.make_tensor_value_info("b", TensorProto.BOOL, [1]),
        ],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
        [helper.make_tensor("scales", TensorProto.FLOAT, [4], np.float32([1, 1, 2, 2]))],
    )
    opsets = [helper.make_opsetid("", 9), helper.make_opsetid("own", 1)]
    model = helper.make_model(graph, opset_imports=opsets, functions=[function], ir_version=8)
    onnx.save(model, tmp_path / "m.onnx")
    assert main(["parse", "--model", str(tmp_path / "m.onnx"), "--output", str(tmp_path / "m.mblt")]) == 0
    rows = {row["node"]: row for row in _map(tmp_path / "m.mblt", capsys)}
    expected = {"constant", "decided", "taken/relu", "other/neg", "open", "then/exp", "else/abs", "call", "up", "Sin_5"}
    assert expected <= set(rows)
    assert rows["taken/relu"]["operations"] == ["mblt.relu"] and rows["then/exp"]["operations"] == ["framework.Exp"]
    assert rows["other/neg"]["reason"] == rows["decided"]["reason"] == "its condition is a constant"
    assert "local function" in rows["call"]["reason"] and "a constant" in rows["constant"]["reason"]
    assert rows["Sin_5"]["reason"] == "its results are not used"


@pytest.mark.parametrize("name", ["digits", "cls", "magika"])
def test_renamed_nodes_change_nothing_but_names(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model = onnx.load(NETWORKS[name].path())
    names: dict[str, str] = {}
    for index, node in enumerate(model.graph.node):
        old = node.name or f"{node.op_type}_{index}"
        node.name = names[old] = f"n{(index * 7919) % 10007}"
    onnx.save(model, tmp_path / "renamed.onnx")
    shape = "x".join(map(str, NETWORKS[name].inputs(1, 1)[0].shape))
    arguments = ["parse", "--model", str(tmp_path / "renamed.onnx"), "--output", str(tmp_path / "renamed.mblt")]
    assert main([*arguments, "--input-shape", f"{NETWORKS[name].input_name}={shape}"]) == 0
    rows = [{**row, "node": names[row["node"]]} for row in _map(parsed(name), capsys)]
    assert _map(tmp_path / "renamed.mblt", capsys) == rows
