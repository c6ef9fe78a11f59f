"""`extra_output_config`: apply and layers; the additional outputs against onnxruntime."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest

from qbc.runtime import load
from qbcompiler import ExtraOutputConfig, mxq_compile
from qbcompiler.demo import digits_model_path

MODEL = digits_model_path()


@pytest.fixture
def samples() -> list[np.ndarray[Any, Any]]:
    generator = np.random.default_rng(3)
    return [generator.random((1, 1, 8, 8), dtype=np.float32) for _ in range(4)]


def float_value(node: str, image: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Return the first output of a node, computed by onnxruntime."""
    model = onnx.load(MODEL)
    (tensor,) = [item.output[0] for item in model.graph.node if item.name == node]
    model.graph.output.append(onnx.helper.make_tensor_value_info(tensor, onnx.TensorProto.FLOAT, None))
    session = onnxruntime.InferenceSession(model.SerializeToString())
    value: np.ndarray[Any, Any] = session.run([tensor], {"image": image})[0]
    return value


def test_results_of_layers_become_outputs(tmp_path: Path, samples: Any) -> None:
    config = ExtraOutputConfig(apply=True, layers=["pool", "block1/*"])
    mxq_compile(MODEL, "aries-rb", samples, tmp_path / "a.mxq", extra_output_config=config)
    found = load(tmp_path / "a.mxq").run({"image": samples[0]})
    assert list(found) == ["logits", "pool", "block1/relu"]
    for name in ("pool", "block1/relu"):
        expected = float_value(name, samples[0]).transpose(0, 2, 3, 1)
        assert found[name].shape == expected.shape
        assert np.abs(found[name] - expected).max() < 0.05 * np.abs(expected).max()


def test_an_output_of_the_graph_is_not_added_again(tmp_path: Path, samples: Any) -> None:
    config = {"apply": True, "layers": ["classifier"]}
    result = mxq_compile(MODEL, "aries-rb", samples, tmp_path / "a.mxq", extra_output_config=config)
    assert any("is an output of the graph already" in notice for notice in result.ctx.notices)
    assert list(load(tmp_path / "a.mxq").run({"image": samples[0]})) == ["logits"]
