"""The node cases of the onnx package through the frontend and back, compared in onnxruntime.

`python -m tests.frontends.node_cases` runs all of them (about half a minute) and prints what differs; the test takes a
sample. Cases above the pinned opset are refused by design, and those that onnxruntime cannot run as they are prove
nothing.
"""

from __future__ import annotations

import pickle
import sys
import tempfile
import warnings
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime

from qbc.errors import QBCompilerError
from qbc.export.onnx_framework import framework_to_onnx
from qbc.frontends.onnx import import_onnx
from qbc.store import BlobStore
from tests.models.fetch import cache_directory

# Equal operators, but onnxruntime computes the lifted version differently or has no kernel for it.
KNOWN = {
    "test_swish": "onnxruntime has Swish as a function of opset 24 only when the opset is newer",
    "test_scan_sum": "Scan of opset 8 has a batch axis; the version converter does not remove it",
}


@dataclass(frozen=True)
class Case:
    """One node case: its model and the inputs of its first data set."""

    name: str
    model: bytes
    inputs: list[Any]
    outputs: list[Any]


def all_cases() -> list[Case]:
    """Return the cases of the installed onnx, from the cache when they were collected before."""
    cache = cache_directory() / f"node_cases_{onnx.__version__}_v1.pickle"
    if not cache.exists():
        from onnx.backend.test.case.node import collect_testcases

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = collect_testcases(None)
        cases = [Case(c.name, c.model.SerializeToString(), *map(list, c.data_sets[0])) for c in found]
        cache.write_bytes(pickle.dumps([(c.name, c.model, c.inputs, c.outputs) for c in cases]))
    return [Case(*fields) for fields in pickle.loads(cache.read_bytes())]


def run(model: bytes, inputs: list[Any]) -> list[Any] | None:
    """Return the outputs of a model, or None when onnxruntime cannot run it."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 4
    try:
        session = onnxruntime.InferenceSession(model, options)
        names = [item.name for item in session.get_inputs()]
        feeds = {n: np.asarray(v) if isinstance(v, np.generic) else v for n, v in zip(names, inputs, strict=False)}
        return list(session.run(None, feeds))
    except Exception:  # onnxruntime raises a dozen unrelated classes
        return None


def same(a: Any, b: Any) -> bool:
    """Return whether two outputs agree: text and integers exactly, floats to 1e-3 (half precision cases) or 1e-5."""
    if isinstance(a, list) or isinstance(b, list):
        return isinstance(a, list) and isinstance(b, list) and len(a) == len(b) and all(map(same, a, b))
    if a is None or b is None:
        return a is b
    a, b = np.asarray(a), np.asarray(b)
    if a.dtype != b.dtype or a.shape != b.shape:
        return False
    if a.dtype.kind not in "fc":
        return bool(np.array_equal(a, b))
    tolerance = 1e-3 if a.dtype == np.float16 else 1e-5
    return bool(np.allclose(a, b, rtol=tolerance, atol=tolerance, equal_nan=True))


def check(case: Case, directory: Path) -> str:
    """Return `same`, `refused` (opset above the pinned one), `not comparable`, or what went wrong."""
    path = directory / "case.onnx"
    path.write_bytes(case.model)
    store = BlobStore()
    try:
        module = import_onnx(path, store)
    except QBCompilerError as error:
        return "refused" if error.code == "UNSUPPORTED_OPSET" else f"import: {error}"
    module.verify()
    back = framework_to_onnx(module, store).SerializeToString()
    wanted = run(case.model, case.inputs)
    if wanted is None or case.name in KNOWN:
        return "not comparable"
    found = run(back, case.inputs)
    if found is None:
        return "onnxruntime refuses the result"
    return "same" if same(found, wanted) or same(found, case.outputs) else "different"


def main() -> int:
    """Run all cases; exit status 1 when one went wrong."""
    outcome: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as directory:
        for case in all_cases():
            result = check(case, Path(directory))
            outcome[result] += 1
            if result not in ("same", "refused", "not comparable"):
                print(case.name, result)
    print(dict(outcome))
    return int(bool(outcome.keys() - {"same", "refused", "not comparable"}))


if __name__ == "__main__":
    sys.exit(main())
