"""The float `.mblt` of every network against onnxruntime on the source model, on real inputs.

    python -m benchmarks.float_model [--quick]

The difference is the largest of all outputs and inputs: max |found - source| / max |source|, per output and input.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from xdsl.dialects.func import FuncOp

from benchmarks.measure import Row, arguments, show, single_thread

REQUIRED = 1e-4
INPUTS = {"magika": 200}
OTHER_INPUTS = 8
QUICK_INPUTS = 2


def difference(name: str, count: int) -> float:
    """Return the largest relative difference of a network over `count` inputs."""
    import onnxruntime

    from qbc.artifact.mblt import read_mblt
    from qbc.driver.context import make_context
    from qbc.export.onnx import mblt_to_onnx
    from tests.support.networks import NETWORKS, parsed

    network = NETWORKS[name]
    opened = read_mblt(parsed(name), make_context())
    function = next(op for op in opened.module.ops if isinstance(op, FuncOp))
    ours = mblt_to_onnx(function, opened.store, source_layout=True).SerializeToString()
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    sessions = [
        onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
        for model in (str(network.path()), ours)
    ]
    worst = 0.0
    for sample in network.inputs(count, 5):
        stated, found = (session.run(None, {network.input_name: sample}) for session in sessions)
        pairs = zip(stated, found, strict=True)
        worst = max(worst, *(float(np.abs(y - x).max() / np.abs(x).max()) for x, y in pairs))
    return worst


def rows(quick: bool) -> Iterator[Row]:
    """Yield one row for each network."""
    single_thread()
    from tests.support.networks import NETWORKS

    for name in NETWORKS:
        count = QUICK_INPUTS if quick else INPUTS.get(name, OTHER_INPUTS)
        found = difference(name, count)
        text = f"{found:.1e} on {count} inputs"
        yield Row(f"float .mblt / onnxruntime difference, {name}", text, f"<= {REQUIRED:g}", found <= REQUIRED)


if __name__ == "__main__":
    raise SystemExit(show(rows(arguments(__doc__).quick)))
