"""Source model and parsed graph side by side, in float."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from qbc.errors import ArgumentError

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from qbc.driver.inspect import Opened

    Array = npt.NDArray[np.generic]


def compare_outputs(source: Path, opened: Opened, feed: Mapping[str, Any]) -> dict[str, dict[str, float]]:
    """Return for each output the largest difference, the largest value of the source, and the cosine of both.

    Both run in onnxruntime on the same arrays, in the layout of the source model. Raises ArgumentError for inputs that
    are missing or do not fit.
    """
    from qbc.driver.samples import main_function
    from qbc.export.onnx import mblt_to_onnx

    exported = mblt_to_onnx(main_function(opened.module), opened.ctx.store, source_layout=True)
    expected = _run(str(source), feed)
    found = _run(exported.SerializeToString(), feed)
    return {name: _difference(expected[name], found[name]) for name in expected}


def _run(model: str | bytes, feed: Mapping[str, Any]) -> dict[str, Array]:
    import onnxruntime

    session = onnxruntime.InferenceSession(model, providers=["CPUExecutionProvider"])
    arrays = {entry.name: _array_for(entry, feed) for entry in session.get_inputs()}
    names = [entry.name for entry in session.get_outputs()]
    return dict(zip(names, session.run(names, arrays), strict=True))


def _array_for(entry: Any, feed: Mapping[str, Any]) -> Array:
    """Return the array for an input of a session, in its type; its shape must fit."""
    import numpy as np

    if entry.name not in feed:
        raise ArgumentError(f"feed_dict has no input {entry.name!r}", hint=f"it has {', '.join(feed)}")
    kind = entry.type.removeprefix("tensor(").removesuffix(")")
    array = np.asarray(feed[entry.name], {"float": "float32", "double": "float64"}.get(kind, kind))
    sizes = [size if isinstance(size, int) else None for size in entry.shape]
    if len(sizes) != array.ndim or any(size not in (None, dim) for size, dim in zip(sizes, array.shape, strict=True)):
        expected = "x".join("?" if size is None else str(size) for size in sizes)
        raise ArgumentError(f"feed_dict[{entry.name!r}] has shape {list(array.shape)}, expected {expected}")
    return array


def _difference(expected: Array, found: Array) -> dict[str, float]:
    import numpy as np

    first, second = (np.asarray(array, np.float64).reshape(-1) for array in (expected, found))
    if first.size == 0:
        return {"max_abs_difference": 0.0, "max_abs_value": 0.0, "cosine": 1.0}
    norms = float(np.linalg.norm(first) * np.linalg.norm(second))
    equal = bool(np.array_equal(first, second))
    return {
        "max_abs_difference": float(np.abs(first - second).max()),
        "max_abs_value": float(np.abs(first).max()),
        "cosine": 1.0 if equal else float(first @ second) / norms if norms else 0.0,
    }
