"""ONNX to `.mblt` as a process, against onnxslim as a process, on the 102 MB ResNet-50 file.

    python -m benchmarks.parse [--quick]

Both commands run in turns, with one thread; peak memory is that of the process.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from statistics import median

from benchmarks.measure import Row, arguments, run_process, show, single_thread

RATIO, ROOM_BYTES = 0.8, 250 << 20


def rows(quick: bool) -> Iterator[Row]:
    """Yield the rows of CPU time and peak memory."""
    single_thread()
    from tests.models.topologies import resnet50_path

    model = resnet50_path()
    scripts = Path(sys.executable).parent
    with tempfile.TemporaryDirectory() as directory:
        ours = [str(scripts / "qbcompiler"), "parse", "--model", str(model), "--output", f"{directory}/model.mblt"]
        peer = [str(scripts / "onnxslim"), str(model), f"{directory}/slim.onnx"]
        run_process(ours)
        pairs = [(run_process(ours), run_process(peer)) for _ in range(3 if quick else 7)]
    ours_s, peer_s = (median(pair[side].cpu_seconds for pair in pairs) for side in range(2))
    ratio = median(a.cpu_seconds / b.cpu_seconds for a, b in pairs)
    peak = max(a.peak_bytes for a, _ in pairs)
    limit = model.stat().st_size + ROOM_BYTES
    yield Row(
        "ONNX to .mblt / onnxslim, process CPU time, ResNet-50",
        f"{ratio:.2f} ({ours_s:.2f} s : {peer_s:.2f} s)",
        f"<= {RATIO}",
        ratio <= RATIO,
    )
    yield Row(
        "ONNX to .mblt, peak memory (file size + 250 MB allowed)",
        f"{peak >> 20} MB (onnxslim {max(b.peak_bytes for _, b in pairs) >> 20} MB)",
        f"<= {limit >> 20} MB",
        peak <= limit,
    )


if __name__ == "__main__":
    raise SystemExit(show(rows(arguments(__doc__).quick)))
