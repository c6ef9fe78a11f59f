"""The accuracy table against the float network and the integer program."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from xdsl.dialects.builtin import DictionaryAttr, UnitAttr
from xdsl.dialects.func import FuncOp

from qbc.dialects.blob import write_blob
from qbc.dialects.blob.handles import blob_keys
from qbc.errors import QBCompilerError
from qbc.passes.base import name_loc
from qbc.passes.quant.quant_collect import QuantCollect
from qbc.passes.quant.quant_report import QuantReport
from tests.support.calibrated_network import CalibratedNetwork

REST = (
    "builtin.module(quant-assign-bits,quant-collect,quant-group-scales,quant-assign-ranges{mode=0},quant-promote-16,"
    "quant-insert-requant,quant-bias-correction,quant-canonicalize,quant-materialize,quant-verify,quant-report)"
)


def _run_to_report(network: CalibratedNetwork) -> Any:
    from qbc.pipelines.grammar import parse_pipeline
    from qbc.pipelines.runner import run_pipeline

    for index, op in enumerate(network.module.walk()):
        op.location = name_loc(f"node{index}")
    run_pipeline(network.module, parse_pipeline(REST), network.ctx)
    return network.ctx.report["accuracy"]


def test_report_measures_the_integer_program() -> None:
    network = CalibratedNetwork()
    report = _run_to_report(network)
    assert [layer.operation for layer in report.layers] == ["conv2d", "lut", "add"]
    assert report.samples == 2 and set(report.outputs) == {"y"}
    assert all(layer.own_sqnr > 30 and layer.total_sqnr > 30 for layer in report.layers)
    assert all(layer.worst_steps < 8 for layer in report.layers)

    from qbc.execute.integer import run

    y = network.pre_activation()[:2]
    reference = 2 * y * np.clip(y / 6 + 0.5, 0, 1)
    function = next(op for op in network.module.body.block.ops if op.name == "func.func")
    got = np.concatenate(
        [run(function, network.ctx.store, {"x": sample})["y"] for sample in network.samples[:2]]  # type: ignore[arg-type]
    )
    noise = np.square(reference - got).sum()
    expected = 10 * np.log10(np.square(reference - reference.mean()).sum() / noise)
    assert report.outputs["y"] == pytest.approx(expected, abs=0.01)


def test_report_works_from_text_and_weights_alone() -> None:
    """A module that was printed and read again, in another context, gives the same table."""
    from qbc.driver.context import make_context
    from qbc.pipelines.text import parse_ir, print_ir

    network = CalibratedNetwork()
    expected = _run_to_report(network)
    ctx = make_context(store=network.ctx.store, samples=network.ctx.samples)
    QuantReport().run(parse_ir(ctx, print_ir(network.module), "again"), ctx)
    assert ctx.report["accuracy"] == expected


def test_the_weights_of_the_float_graph_are_named_by_the_module() -> None:
    network = CalibratedNetwork()
    before = set(blob_keys(network.module))
    _run_to_report(network)
    assert before <= set(blob_keys(network.module))


def test_collecting_again_replaces_the_float_graph() -> None:
    network = CalibratedNetwork()
    QuantCollect().run(network.module, network.ctx)
    first = str(network.module)
    QuantCollect().run(network.module, network.ctx)
    assert str(network.module) == first


@pytest.mark.parametrize("case", ["weights", "not text", "no function", "other function", "no dictionary"])
def test_an_attribute_that_names_no_float_graph_is_refused(case: str) -> None:
    network = CalibratedNetwork()
    _run_to_report(network)
    (function,) = (op for op in network.module.body.block.ops if isinstance(op, FuncOp))
    blobs = {
        "weights": np.ones(4, np.float32),
        "not text": np.full(4, 255, np.uint8),
        "no function": np.frombuffer(b"builtin.module {}", np.uint8),
        "other function": np.frombuffer(b"func.func @main() { func.return }", np.uint8),
    }
    named = DictionaryAttr({"text": write_blob(network.ctx.store, blobs[case])}) if case in blobs else UnitAttr()
    function.attributes["quant.float_graph"] = named
    with pytest.raises(QBCompilerError, match="not its float graph") as caught:
        QuantReport().run(network.module, network.ctx)
    assert caught.value.code == "VERIFY_ERROR"


def test_report_needs_the_float_graph() -> None:
    with pytest.raises(QBCompilerError) as caught:
        QuantReport().run(CalibratedNetwork().module, CalibratedNetwork().ctx)
    assert caught.value.code == "PIPELINE_ERROR"


def test_report_needs_samples() -> None:
    network = CalibratedNetwork()
    _run_to_report(network)
    network.ctx.samples = None
    with pytest.raises(QBCompilerError) as caught:
        QuantReport().run(network.module, network.ctx)
    assert caught.value.code == "NO_CALIBRATION_DATA"
