"""The accuracy table as text and as data."""

from __future__ import annotations

import json
import math

from qbc.report.accuracy import AccuracyReport, LayerAccuracy, render_accuracy


def report() -> AccuracyReport:
    layers = (
        LayerAccuracy("conv1, relu1", "conv2d", "i8", 0.0123456, 41.26, 40.0, 1.2),
        LayerAccuracy("a" * 60, "lut", "i16", 0.5, None, 12.04, 3.0),
        LayerAccuracy("pool", "max_pool2d", "i8", 0.01, math.inf, math.inf, 0.0),
    )
    return AccuracyReport(layers, {"logits": 39.06}, 4)


def test_table() -> None:
    lines = render_accuracy(report()).splitlines()
    assert lines[0].split() == ["layer", "operation", "bits", "scale", "own", "dB", "total", "dB", "worst/step"]
    assert lines[2].split() == ["conv1,", "relu1", "conv2d", "i8", "0.01235", "41.3", "40.0", "1.2"]
    assert lines[3].startswith("..." + "a" * 37 + "  lut")
    assert "exact" in lines[4] and lines[-1] == "output logits: 39.1 dB over 4 samples"


def test_worst_layers_keep_program_order() -> None:
    text = render_accuracy(report(), limit=2)
    assert text.index("conv1") < text.index("aaa") and "pool" not in text
    assert "(1 better layers not shown)" in text


def test_data_is_json() -> None:
    data = json.loads(json.dumps(report().as_dict(), allow_nan=False))
    assert data["layers"][2]["total_sqnr"] is None and data["outputs"] == {"logits": 39.06}
