"""Progress over calibration samples, and memory that does not grow with their number."""

from __future__ import annotations

import tracemalloc
from pathlib import Path

import numpy as np

from qbc.calibration import InputSpec, open_samples
from qbc.driver.compile import compile_model
from qbc.driver.events import Event
from qbc.driver.plan import CompileOptions
from qbcompiler.demo import digits_model_path


def test_every_sample_is_an_event_with_the_time_that_is_left(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    for index in range(6):
        np.save(tmp_path / f"{index}.npy", rng.random((1, 1, 8, 8), dtype=np.float32))
    events: list[Event] = []
    options = CompileOptions(target="aries-rb", calibration=tmp_path, on_event=events.append)
    compile_model(digits_model_path(), tmp_path / "a.mxq", options)
    collected = [event for event in events if event.kind == "sample" and event.name == "quant-collect"]
    assert [(event.done, event.total) for event in collected] == [(index + 1, 6) for index in range(6)]
    left = [event.data["remaining_seconds"] for event in collected]
    assert left[-1] == 0 and min(left) >= 0


def test_memory_is_flat(tmp_path: Path) -> None:
    shape = (1, 128, 128, 3)
    for index in range(60):
        np.save(tmp_path / f"{index:03}.npy", np.full(shape, index, np.float32))
    size = int(np.prod(shape)) * 4
    tracemalloc.start()
    try:
        for sample in open_samples(tmp_path, [InputSpec("x", shape)]):
            assert sample["x"].shape == shape
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 8 * size
