"""Random ONNX models: after each pass of the convert phase they compute what onnxruntime computes."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import onnx
import pytest

from qbc.driver.context import make_context
from qbc.execute.float_ort import FloatSession
from qbc.frontends.onnx import import_onnx
from qbc.passes.base import FunctionPass
from qbc.pipelines.phases import load_preset
from qbc.pipelines.registry import pass_class
from qbc.pipelines.runner import run_pipeline
from qbc.store import BlobStore
from tests.support.conversion import execute, main
from tests.support.mblt_passes import assert_no_strays
from tests.support.random_onnx import Array, RandomModel

SEEDS = range(int(os.environ.get("QBC_RANDOM_MODELS", "60")))
TOLERANCE = 1e-4  # of the largest absolute value of an output


def _assert_close(found: dict[str, Array], expected: dict[str, Array], after: str) -> None:
    assert list(found) == list(expected), after
    for name, wanted in expected.items():
        assert found[name].shape == wanted.shape, after
        bound = TOLERANCE * max(float(np.abs(wanted.astype(np.float64)).max()), 1e-3)
        np.testing.assert_allclose(found[name].astype(np.float64), wanted, rtol=0, atol=bound, err_msg=after)


@pytest.mark.parametrize("seed", SEEDS)
def test_random_model(seed: int, tmp_path: Path) -> None:
    source = RandomModel(seed).grow(3 + seed % 6)
    proto, expected = source.model()
    path = tmp_path / "model.onnx"
    onnx.save(proto, path)
    context = make_context(store=BlobStore())
    module = import_onnx(path, context.store)
    run_pipeline(module, load_preset("default").pipeline("import"), context)
    for call in load_preset("default").pipeline("convert").calls():
        instance = pass_class(call.name)()
        instance.run(main(module) if isinstance(instance, FunctionPass) else module, context)
        module.verify()
        assert_no_strays(main(module))
        _assert_close(execute(main(module), context, source.feed), expected, call.name)
    if context.report["conversion"] == []:
        FloatSession(main(module), context.store)
