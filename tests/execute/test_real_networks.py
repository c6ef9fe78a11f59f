"""Whole networks after the convert phase: both float engines agree with onnxruntime on the source model."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import onnxruntime
import pytest

from qbc.dialects.common.graph import source_layouts
from qbc.driver.context import make_context
from qbc.execute.float_ort import FloatSession
from qbc.execute.float_torch import run
from qbc.frontends.onnx import import_onnx
from qbc.passes.base import source_names
from qbc.pipelines.phases import load_preset
from qbc.pipelines.runner import run_pipeline
from qbc.store import BlobStore
from tests.models import clips, efficientnet, images, magika, ocr, tiny, topologies
from tests.support.mblt_graphs import op_names

TOLERANCE = 1e-4  # of the largest absolute value of an output

Network = tuple[Callable[[], Path], Callable[[], Sequence[np.ndarray]]]


def _photo(size: int) -> np.ndarray:
    return images.crops(1, size, seed=1)


def _files() -> list[np.ndarray]:
    return [np.atleast_2d(magika.features(Path(__file__).read_bytes())).astype(np.int32)]


NETWORKS: dict[str, Network] = {
    "det": (lambda: ocr.ppocr_path("det"), lambda: ocr.det_inputs(1, 320, seed=2)),
    "cls": (lambda: ocr.ppocr_path("cls"), lambda: [ocr.rec_inputs(1, seed=2)[0][..., :192]]),
    "rec": (lambda: ocr.ppocr_path("rec"), lambda: ocr.rec_inputs(2, seed=2)),
    "magika": (magika.magika_path, _files),
    "resnet8": (lambda: tiny.tiny_path("resnet8"), lambda: images.resnet8_inputs(images.crops(2, 32, seed=1))),
    "vww": (lambda: tiny.tiny_path("vww"), lambda: images.vww_inputs(images.crops(2, 96, seed=1))),
    "kws": (lambda: tiny.tiny_path("kws"), lambda: clips.kws_inputs(2, seed=1)),
    "ad": (lambda: tiny.tiny_path("ad"), lambda: clips.ad_inputs(2, seed=1)),
    "efficientnet": (efficientnet.efficientnet_path, lambda: images.efficientnet_inputs(_photo(224))),
    "mobilenetv2": (topologies.mobilenetv2_path, lambda: images.efficientnet_inputs(_photo(224))),
    "resnet50": (topologies.resnet50_path, lambda: images.efficientnet_inputs(_photo(224))),
}
# What must be gone after the fusions, and what must be there
FUSED: dict[str, dict[str, int]] = {
    "det": {"hard_swish": 24, "batch_norm": 0, "transpose": 0, "clip": 0},
    "rec": {"layer_norm": 5, "silu": 7, "hard_swish": 28, "softmax": 3, "square": 0},
    "magika": {"gather": 1, "layer_norm": 2, "gelu": 1, "softmax": 1, "equal": 0},
    "cls": {"hard_swish": 18, "transpose": 0},
    "efficientnet": {"batch_norm": 0, "clip": 0, "transpose": 0, "constant": 0},
    "mobilenetv2": {"clip": 0, "transpose": 0},
    "resnet50": {"relu": 0, "transpose": 0, "conv2d": 53},
}


@pytest.mark.parametrize("name", NETWORKS)
def test_float_outputs_equal_those_of_the_source(name: str) -> None:
    path, samples = (part() for part in NETWORKS[name])
    source = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    entry = source.get_inputs()[0]
    first = np.asarray(samples[0])
    inputs = [np.asarray(sample) if first.ndim == len(entry.shape) else np.asarray(sample)[None] for sample in samples]
    store = BlobStore()
    context = make_context(store=store)
    module = import_onnx(path, store, input_shapes={entry.name: inputs[0].shape})
    nodes = {node for op in module.walk() if op.name != "framework.Constant" for node in source_names(op)}
    for phase in ("import", "convert"):
        run_pipeline(module, load_preset("default").pipeline(phase), context)
    func = next(op for op in module.ops if op.name == "func.func")
    assert not context.report["conversion"]
    assert (
        nodes <= {node for op in module.walk() for node in source_names(op)} | context.report.get("removed", {}).keys()
    )
    counts = Counter(op_names(func))
    assert {kind: counts[kind] for kind in FUSED.get(name, {})} == FUSED.get(name, {})

    (layout,) = source_layouts(func.arg_attrs, 1)
    result_layouts = source_layouts(func.res_attrs, len(source.get_outputs()))
    session = FloatSession(func, store)
    for sample in inputs:
        expected = source.run(None, {entry.name: sample})
        feed = {entry.name: sample if layout is None else np.ascontiguousarray(np.moveaxis(sample, 1, -1))}
        for found in (session.run_outputs(feed), run(func, store, feed)):
            for array, reference, moved in zip(found.values(), expected, result_layouts, strict=True):
                data = array if moved is None else np.moveaxis(array, -1, 1)
                assert data.shape == reference.shape
                assert np.abs(data - reference).max() <= TOLERANCE * np.abs(reference).max()
