"""Bit-exact simulator against onnxruntime float32: whole graph, batch 1, one thread, host conversion excluded.

    python -m benchmarks.simulator [--quick]

Both run the same networks on the same image in turns; the ratio is onnxruntime's time / the simulator's (above 1: the
integer run is faster). The required ratios hold for CPUs with AVX512-VNNI; elsewhere they are only reported.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path

from benchmarks.measure import Row, arguments, in_turns, show, single_thread

REQUIRED = {"resnet50": 1.8, "mobilenetv2": 0.7}


def has_vnni() -> bool:
    """Return whether the processor multiplies bytes in 512-bit vectors (where the ratios are required)."""
    try:
        return "avx512_vnni" in Path("/proc/cpuinfo").read_text(encoding="utf-8")
    except OSError:
        return False


def rows(quick: bool) -> Iterator[Row]:
    """Yield one row for each network."""
    single_thread()
    import onnxruntime

    from qbc.runtime.load import load
    from tests.support.networks import NETWORKS, compiled

    for name, required in REQUIRED.items():
        network = NETWORKS[name]
        image = {network.input_name: network.inputs(1, 5)[0]}
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        session = onnxruntime.InferenceSession(str(network.path()), options, providers=["CPUExecutionProvider"])
        simulator = load(compiled(name))
        stored, _ = simulator.quantize_inputs(image)
        for _ in range(3):
            session.run(None, image)
            simulator.run_stored(stored)
        float_s, integer_s, ratio = in_turns(
            partial(session.run, None, image),
            partial(simulator.run_stored, stored),
            7 if quick else 31,
        )
        yield Row(
            f"simulator / onnxruntime float32 speed, {name}",
            f"{ratio:.2f}x ({float_s * 1e3:.1f} ms : {integer_s * 1e3:.1f} ms)",
            f">= {required}x",
            ratio >= required if has_vnni() else None,
        )


if __name__ == "__main__":
    raise SystemExit(show(rows(arguments(__doc__).quick)))
