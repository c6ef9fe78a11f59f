"""PP-OCRv4 through the frontend, the framework passes and back, against the files in onnxruntime."""

from __future__ import annotations

import numpy as np
import onnx
import onnxruntime
import pytest

from qbc.export.onnx_framework import framework_to_onnx
from qbc.frontends.onnx import import_onnx
from qbc.passes.framework.inference import all_static
from qbc.store import BlobStore
from tests.frontends.onnx_models import main_of, run, run_passes
from tests.models.ocr import INPUT_SHAPES, det_inputs, ppocr_path, rec_inputs

PASSES = ("framework-fold-shapes", "framework-fold-constants", "framework-simplify", "framework-eliminate-dead")
# Nodes left by onnxslim 0.1.98 on the same file with the same input shape; det and cls have nothing to fold.
MOST_NODES = {"det": 330, "cls": 233, "rec": 397}


def sample(part: str) -> np.ndarray:
    if part == "det":
        return det_inputs(1)[0]
    return np.ascontiguousarray(rec_inputs(1)[0][..., : INPUT_SHAPES[part][3]])


@pytest.mark.parametrize("part", ["det", "cls", "rec"])
@pytest.mark.parametrize("passes", [(), PASSES], ids=["import", "passes"])
def test_outputs_equal_those_of_the_file(part: str, passes: tuple[str, ...]) -> None:
    store = BlobStore()
    path = ppocr_path(part)
    module = import_onnx(path, store, input_shapes={"x": INPUT_SHAPES[part]})
    run_passes(module, store, *passes)
    back = framework_to_onnx(module, store)
    onnx.checker.check_model(back)
    inputs = {"x": sample(part)}
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    wanted = onnxruntime.InferenceSession(str(path), options).run(None, inputs)[0]
    assert np.max(np.abs(run(back, inputs)[0] - wanted)) <= 1e-6
    if passes:
        assert all_static(main_of(module))
        assert len(back.graph.node) <= MOST_NODES[part]


def test_recognition_keeps_its_characters() -> None:
    store = BlobStore()
    module = import_onnx(ppocr_path("rec"), store, input_shapes={"x": INPUT_SHAPES["rec"]})
    metadata = {entry.key: entry.value for entry in framework_to_onnx(module, store).metadata_props}
    assert len(metadata["character"].splitlines()) == 6623
