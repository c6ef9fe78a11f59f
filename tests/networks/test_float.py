"""The float `.mblt` of every network against onnxruntime on the source model, on real inputs."""

from __future__ import annotations

import numpy as np
import onnxruntime
import pytest
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp

from qbc.artifact.mblt import read_mblt
from qbc.driver.context import make_context
from qbc.execute import float_torch
from qbc.export.onnx import mblt_to_onnx
from tests.support.networks import CI_NETWORKS, NETWORKS, parsed

TOLERANCE = 1e-4
# Some files leave magika's layer norm hardly any variance: there its float32 spelling, mean(x^2) - mean(x)^2, cancels.
SAMPLES = {"magika": 60}


def _session(model: bytes | str) -> onnxruntime.InferenceSession:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    return onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])


def _function(module: ModuleOp) -> FuncOp:
    return next(op for op in module.ops if isinstance(op, FuncOp))


def _mblt_session(name: str) -> onnxruntime.InferenceSession:
    opened = read_mblt(parsed(name), make_context())
    model = mblt_to_onnx(_function(opened.module), opened.store, source_layout=True)
    return _session(model.SerializeToString())


@pytest.mark.parametrize("name", CI_NETWORKS)
def test_outputs_agree(name: str) -> None:
    network = NETWORKS[name]
    source, ours = _session(str(network.path())), _mblt_session(name)
    assert [o.name for o in source.get_outputs()] == [o.name for o in ours.get_outputs()]
    for sample in network.inputs(SAMPLES.get(name, 2), 5):
        feed = {network.input_name: sample}
        for expected, found in zip(source.run(None, feed), ours.run(None, feed), strict=True):
            assert found.shape == expected.shape
            assert np.abs(found - expected).max() <= TOLERANCE * np.abs(expected).max()


@pytest.mark.parametrize("name", ["digits", "kws", "cls"])
def test_torch_agrees(name: str) -> None:
    network = NETWORKS[name]
    opened = read_mblt(parsed(name), make_context())
    function = _function(opened.module)
    sample = network.inputs(1, 6)[0]
    layout_free = sample if sample.ndim != 4 else np.ascontiguousarray(sample.transpose(0, 2, 3, 1))
    expected = _session(str(network.path())).run(None, {network.input_name: sample})[0]
    found = next(iter(float_torch.run(function, opened.store, {network.input_name: layout_free}).values()))
    assert np.abs(found.reshape(expected.shape) - expected).max() <= TOLERANCE * np.abs(expected).max()
