"""Makes the small snapshots that show that files of every released format version stay readable.

    python -m tests.artifact.released

writes `data/v<N>.mblt`, `data/v<N>.mxq` and `data/v<N>.json` (an input, the float outputs of onnxruntime, and the
outputs of the program) for the present version. A version that was released is never made again: see docs/formats.md.
"""

from __future__ import annotations

import json
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from qbc.store.container import FORMAT_VERSIONS
from tests.models.graph import GraphWriter

DATA = Path(__file__).parent / "data"
INPUT, OUTPUT = "image", "scores"
SHAPE = (1, 1, 6, 6)


def write_network(path: Path) -> Path:
    """Write a convolution with relu and a linear layer."""
    rng = np.random.default_rng(1)
    graph = GraphWriter()
    weights = rng.normal(0, 0.5, (2, 1, 3, 3)).astype(np.float32)
    x = graph.conv(INPUT, weights, np.array([0.1, -0.1], np.float32), name="conv", pads=(1, 1, 1, 1))
    x = graph.node("Flatten", [graph.node("Relu", [x], "relu")], "flatten")
    x = graph.gemm(x, rng.normal(0, 0.2, (3, 72)).astype(np.float32), np.zeros(3, np.float32), "linear")
    graph.nodes[-1].output[0] = OUTPUT
    return graph.save(path, {INPUT: SHAPE}, {OUTPUT: (1, 3)})


def samples(count: int = 4) -> list[np.ndarray]:
    """Return calibration samples."""
    rng = np.random.default_rng(2)
    return [rng.random(SHAPE, dtype=np.float32) for _ in range(count)]


def float_outputs(model: Path, image: np.ndarray) -> list[float]:
    """Run the source model in onnxruntime."""
    import onnxruntime

    session = onnxruntime.InferenceSession(str(model), providers=["CPUExecutionProvider"])
    return [float(value) for value in session.run(None, {INPUT: image})[0].ravel()]


def main() -> None:
    from qbc.runtime import load
    from qbcompiler import mblt_compile, mxq_compile

    version = FORMAT_VERSIONS["MXQ"]
    mblt, mxq = DATA / f"v{version}.mblt", DATA / f"v{version}.mxq"
    DATA.mkdir(exist_ok=True)
    image = samples(1)[0]
    with TemporaryDirectory() as folder:
        model = write_network(Path(folder) / "model.onnx")
        mblt_compile(model, mblt)
        mxq_compile(mblt, "aries-rb", samples(), mxq, device="cpu", inference_scheme="all")
        expected = float_outputs(model, image)
    outputs = load(mxq, mode="single").run({INPUT: image})[OUTPUT]
    table = {
        "input": [float(value) for value in image.ravel()],
        "float": expected,
        "output": [float(value) for value in outputs.ravel()],
    }
    (DATA / f"v{version}.json").write_text(json.dumps(table, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
