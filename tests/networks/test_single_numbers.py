"""Inputs and outputs of rank 0, from calibration to the arrays that infer and run give."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper

from qbcompiler import mxq_compile
from qbcompiler.run import run_program
from qbcompiler.runtime import Accelerator, Model

IMAGE = [1, 3, 4, 4]
GRAPHS: dict[str, tuple[list[Any], dict[str, list[int]], list[int]]] = {
    "output": ([("Relu", ["x"], "r", {}), ("ReduceMean", ["r"], "y", {"keepdims": 0})], {"x": IMAGE}, []),
    "input": ([("Mul", ["x", "s"], "y", {})], {"x": IMAGE, "s": []}, IMAGE),
    "inputs and output": ([("Add", ["s", "t"], "y", {})], {"s": [], "t": []}, []),
    "one input": ([("Relu", ["s"], "y", {})], {"s": []}, []),
}


def saved(path: Path, name: str) -> Path:
    nodes, inputs, output = GRAPHS[name]
    graph = helper.make_graph(
        [helper.make_node(kind, read, [written], **attributes) for kind, read, written, attributes in nodes],
        "g",
        [helper.make_tensor_value_info(key, TensorProto.FLOAT, shape) for key, shape in inputs.items()],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, output)],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.checker.check_model(model)
    onnx.save(model, path)
    return path


@pytest.mark.parametrize("name", GRAPHS)
@pytest.mark.parametrize("form", ["memory", "files", "random"])
def test_against_onnxruntime(tmp_path: Path, name: str, form: str) -> None:
    generator = np.random.default_rng(0)
    _, inputs, output = GRAPHS[name]

    def sample() -> dict[str, Any]:
        return {key: np.asarray(generator.random(shape), np.float32) for key, shape in inputs.items()}

    source = saved(tmp_path / "m.onnx", name)
    samples: Any = [sample() for _ in range(8)]
    if form == "files":
        (tmp_path / "samples").mkdir()
        for index, item in enumerate(samples):
            np.savez(tmp_path / "samples" / f"{index}.npz", **item)
        samples = tmp_path / "samples"
    given = {"use_random_calib": True} if form == "random" else {"calib_data_path": samples}
    mxq_compile(source, "aries-rb", save_path=tmp_path / "m.mxq", **given)
    x = sample()
    (wanted,) = onnxruntime.InferenceSession(source).run(None, x)
    model = Model(tmp_path / "m.mxq")
    model.launch(Accelerator())
    arrays = [x[key] for key in model.get_input_names()]
    (found,) = model.infer(arrays)
    assert isinstance(found, np.ndarray)
    assert found.shape == tuple(output)
    assert found == pytest.approx(wanted, abs=0.05)
    target = [np.zeros(output, np.float32)]
    model.infer(arrays, target)
    assert np.array_equal(target[0], found)
    texts = []
    for key, array in x.items():
        np.save(tmp_path / f"{key}.npy", array)
        texts.append(f"{key}={tmp_path / key}.npy")
    run_program(str(tmp_path / "m.mxq"), texts, tmp_path / "out", 1)
    assert np.array_equal(np.load(tmp_path / "out" / "y.npy"), found)


@pytest.mark.parametrize("name", ["output", "input"])
def test_batches(tmp_path: Path, name: str) -> None:
    """Single numbers of the inputs belong to every image, those of the outputs become one array."""
    _, inputs, output = GRAPHS[name]
    mxq_compile(saved(tmp_path / "m.onnx", name), "aries-rb", None, tmp_path / "m.mxq", use_random_calib=True)
    model = Model(tmp_path / "m.mxq")
    model.launch(Accelerator())
    images = np.random.default_rng(1).random((3, 3, 4, 4), dtype=np.float32)
    rest = [np.float32(0.5)] if "s" in inputs else []
    (found,) = model.infer([images, *rest])
    single = [model.infer([image[None], *rest])[0] for image in images]
    assert np.array_equal(found, np.concatenate(single) if output else np.stack(single))
