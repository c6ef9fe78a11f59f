"""Batches of images, and results in the arrays that a caller gave."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from qbc.errors import QBCompilerError
    from qbc.program import HostTensor

    Array = npt.NDArray[np.generic]


def batch_size(arrays: Sequence[Array], tensors: Sequence[HostTensor]) -> int | None:
    """Return the number of images when all inputs have a leading batch axis beyond 1, else None."""
    sizes = {
        array.shape[0] if array.ndim == len(tensor.operand.shape) and tensor.operand.shape[0] == 1 else 0
        for array, tensor in zip(arrays, tensors, strict=True)
        if tensor.operand.shape
    }
    size = sizes.pop() if len(sizes) == 1 else 0
    return size if size > 1 else None


def split_batch(arrays: Sequence[Array], batch: int | None) -> list[list[Array]]:
    """Return the inputs of each image."""
    if batch is None:
        return [list(arrays)]
    return [[array[index : index + 1] for array in arrays] for index in range(batch)]


def deliver(results: list[Array], outputs: list[Array] | None) -> list[Array]:
    """Return the results, in the arrays of `outputs` when there are any."""
    import numpy as np

    if outputs is None:
        return results
    if not outputs:
        outputs.extend(results)
        return outputs
    if len(outputs) != len(results):
        raise shape_error(f"the model has {len(results)} outputs, {len(outputs)} arrays were given")
    for result, target in zip(results, outputs, strict=True):
        if target.shape != result.shape:
            raise shape_error(f"an output has shape {list(result.shape)}, the array given for it {list(target.shape)}")
        np.copyto(target, result, casting="same_kind")
    return outputs


def shape_error(message: str) -> QBCompilerError:
    """Return the error Model_ShapeMismatched (21)."""
    from qbc.runtime.status import shape_mismatch

    return shape_mismatch(message)
