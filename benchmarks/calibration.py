"""From ONNX to a quantized model with 64 images, against onnxruntime's static quantization (MinMax), PP-OCRv4 det 320.

    python -m benchmarks.calibration [--quick]

Ours imports, converts, collects ranges and histograms, quantizes, corrects biases and measures every layer with the
default preset; the peer prepares the graph, collects minima and maxima, and quantizes. CPU time of this process; the
peer's thread pool is part of it.
"""

from __future__ import annotations

import time
from collections.abc import Iterator

from benchmarks.measure import Row, arguments, cpu_seconds, show, single_thread

GOAL = 1.0
IMAGES = 64


def rows(quick: bool) -> Iterator[Row]:
    """Yield one row; `quick` uses 16 images."""
    single_thread()
    from benchmarks.accuracy import run_ours, run_peer
    from tests.models import ocr

    count = 16 if quick else IMAGES
    path, shape = ocr.ppocr_path("det"), ocr.INPUT_SHAPES["det"]
    samples, test = list(ocr.det_inputs(count, seed=1)), list(ocr.det_inputs(1, seed=2))
    run_ours(path, samples[:1], test, shape)  # compiles the loops
    ours = run_ours(path, samples, test, shape).seconds
    start = time.monotonic()
    peer = cpu_seconds(lambda: run_peer(path, samples, test, shape))
    yield Row(
        f"ONNX to quantized model, det, {count} images / onnxruntime MinMax",
        f"{ours / peer:.2f} ({ours:.1f} s : {peer:.1f} s, {time.monotonic() - start:.0f} s wall)",
        f"goal <= {GOAL}",
    )


if __name__ == "__main__":
    raise SystemExit(show(rows(arguments(__doc__).quick)))
