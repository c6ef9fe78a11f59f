"""Arrays as callers give them: one or a list, batches of images, and arrays to be filled with results."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from qbc.argument_types import described
from qbc.errors import ArgumentError, QBCompilerError

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from qbc.program import HostTensor
    from qbc.runtime import Simulator

    Array = npt.NDArray[np.generic]


def as_arrays(inputs: Any) -> list[Array]:
    """Return the arrays of an `infer` call: `inputs` is an array or tensor, or a list or tuple of those."""
    if hasattr(inputs, "shape"):
        return [_as_array("inputs", inputs)]
    if not isinstance(inputs, list | tuple):
        raise ArgumentError(
            f"inputs is {described(inputs)}, expected an array or a list of arrays",
            hint="arrays are in the order of get_input_names()",
        )
    return [_as_array(f"inputs[{index}]", item) for index, item in enumerate(inputs)]


def _as_array(name: str, item: Any) -> Array:
    import numpy as np

    try:
        array: Array = np.asarray(item)
    except (TypeError, ValueError, RuntimeError) as error:  # ragged lists, tensors of other devices or with gradients
        raise ArgumentError(f"{name} is no array: {error}") from None
    if array.dtype.kind not in "biufc" and not isinstance(item, np.ndarray):
        raise ArgumentError(f"{name} is {described(item)}, expected an array")
    return array


def batch_size(arrays: Sequence[Array], tensors: Sequence[HostTensor]) -> int | None:
    """Return the number of images when all inputs have a leading batch axis beyond 1, else None."""
    sizes = {
        array.shape[0] if _is_batch(array, tensor) else 0
        for array, tensor in zip(arrays, tensors, strict=True)
        if tensor.operand.shape
    }
    size = sizes.pop() if len(sizes) == 1 else 0
    return size if size > 1 else None


def _is_batch(array: Array, tensor: HostTensor) -> bool:
    """Return whether an array stacks images: only its first axis differs from what the program takes."""
    from qbc.runtime.boundary import source_shape

    shapes = (tensor.operand.shape, source_shape(tensor))
    return any(shape[0] == 1 and array.ndim == len(shape) and array.shape[1:] == shape[1:] for shape in shapes)


def split_batch(arrays: Sequence[Array], batch: int | None) -> list[list[Array]]:
    """Return the inputs of each image; single numbers belong to every image."""
    if batch is None:
        return [list(arrays)]
    return [[array[index : index + 1] if array.ndim else array for array in arrays] for index in range(batch)]


def run_arrays(
    simulator: Simulator, arrays: Sequence[Array], *, layout: str | None = None, as_float: bool = False
) -> list[Array]:
    """Run the images of a batch, as many at once as the core mode takes; arrays are in the order of the program."""
    import numpy as np

    program = simulator.program
    batch = batch_size(arrays, program.inputs)
    names = [tensor.name for tensor in program.inputs]
    images = [dict(zip(names, image, strict=True)) for image in split_batch(arrays, batch)]
    runs: list[list[Array]] = []
    for start in range(0, len(images), program.images):
        results = simulator.run_batch(images[start : start + program.images], layout=layout, as_float=as_float)
        runs += [[result[tensor.name] for tensor in program.outputs] for result in results]
    if batch is None:
        return runs[0]
    return [np.concatenate(parts) if parts[0].ndim else np.stack(parts) for parts in zip(*runs, strict=True)]


def deliver(results: list[Array], outputs: Any) -> list[Array]:
    """Return the results, in the arrays of `outputs` when there are any; an empty list is filled."""
    import numpy as np

    if outputs is None:
        return results
    targets = _targets(outputs)
    if not targets:
        targets.extend(results)
        return targets
    if len(targets) != len(results):
        raise shape_error(f"the model has {len(results)} outputs, {len(targets)} arrays were given")
    for index, (result, target) in enumerate(zip(results, targets, strict=True)):
        _check_target(index, result, target)
    for result, target in zip(results, targets, strict=True):
        np.copyto(target, result, casting="same_kind")
    return targets


def _targets(outputs: Any) -> list[Array]:
    """Return `outputs` as a list: itself where it is one, so that the caller sees what is appended."""
    if isinstance(outputs, list):
        return outputs
    if isinstance(outputs, tuple) and outputs:
        return list(outputs)
    raise ArgumentError(f"outputs is {described(outputs)}, expected a list of arrays, or an empty list to be filled")


def _check_target(index: int, result: Array, target: Any) -> None:
    """Raise for an array that cannot take a result: another shape, kind of dtype, or read-only."""
    import numpy as np

    from qbc.runtime.status import dtype_mismatch

    if not isinstance(target, np.ndarray):
        raise ArgumentError(f"outputs[{index}] is {described(target)}, expected an array")
    if target.shape != result.shape:
        raise shape_error(f"output {index} has shape {list(result.shape)}, the array given for it {list(target.shape)}")
    if target.dtype.kind != result.dtype.kind or not np.can_cast(result.dtype, target.dtype, "same_kind"):
        raise dtype_mismatch(
            f"output {index} has dtype {result.dtype.name}, the array given for it {target.dtype.name}",
            hint="the dtype of outputs follows the inputs: floats in, floats out; int8 in, int8 out; uint8 too",
        )
    if not target.flags.writeable:
        raise ArgumentError(f"outputs[{index}] is read-only")


def shape_error(message: str) -> QBCompilerError:
    """Return the error Model_ShapeMismatched (21)."""
    from qbc.runtime.status import shape_mismatch

    return shape_mismatch(message)
