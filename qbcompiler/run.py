"""`qbcompiler run`: one run of an executable on the simulator."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from qbc.atomic import undone_on_failure
from qbc.errors import ArgumentError, QBCompilerError
from qbcompiler.channel import channel
from qbcompiler.console import shape_text, table
from qbcompiler.runtime.arrays import batch_size, run_arrays, split_batch

if TYPE_CHECKING:
    import numpy.typing as npt

    from qbc.program import HostTensor, Program

    Array = npt.NDArray[Any]


def run_program(path: str, inputs: Sequence[str], output_dir: Path | None, repeat: int, mode: str | None = None) -> int:
    """Run `path` on arrays from files, print what came out, write the outputs when a directory is given."""
    from qbc.driver.files import require_file
    from qbc.runtime import load

    if repeat < 1:
        raise ArgumentError("--repeat needs a number of at least 1")
    require_file(Path(path))
    simulator = load(path, mode=mode, notice=channel().notice)
    program = simulator.program
    named = read_inputs(program, inputs) if inputs else random_inputs(program)
    missing = [tensor.name for tensor in program.inputs if tensor.name not in named]
    if missing:
        raise ArgumentError(f"input {missing[0]!r} is not given", hint=f"add --input {missing[0]}=FILE.npy")
    arrays = [named[tensor.name] for tensor in program.inputs]
    times = []
    outputs: dict[str, Array] = {}
    for _ in range(repeat):
        started = time.perf_counter()
        results = run_arrays(simulator, arrays)
        outputs = {tensor.name: result for tensor, result in zip(program.outputs, results, strict=True)}
        times.append(time.perf_counter() - started)
    described = [_described(name, array) for name, array in outputs.items()]
    if output_dir is not None:
        with undone_on_failure() as made:
            for row in described:
                row["file"] = str(write_array(output_dir, row["name"], outputs[row["name"]], made))
    median = 1e3 * sorted(times)[len(times) // 2]
    data = {"outputs": described, "random_inputs": not inputs, "simulated_milliseconds": median}
    channel().result("run", data, lambda: _text(data))
    return 0


def _described(name: str, array: Array) -> dict[str, Any]:
    smallest, largest, mean = float(array.min()), float(array.max()), float(array.mean())
    return {"name": name, "shape": list(array.shape), "min": smallest, "max": largest, "mean": mean}


def _text(data: dict[str, Any]) -> str:
    lines = ["inputs: seeded random data (give arrays with --input NAME=FILE.npy)"] if data["random_inputs"] else []
    lines.append(table(("output", "shape", "min", "max", "mean"), [_row(output) for output in data["outputs"]]))
    time_ = f"{data['simulated_milliseconds']:.2f} ms"
    lines.append(f"simulated in {time_} on this CPU (this is not the latency of a device)")
    lines += [f"wrote {output['file']}" for output in data["outputs"] if "file" in output]
    return "\n".join(lines)


def _row(output: dict[str, Any]) -> tuple[str, ...]:
    return (output["name"], shape_text(output["shape"]), *(f"{output[key]:.5g}" for key in ("min", "max", "mean")))


def read_inputs(program: Program, texts: Sequence[str]) -> dict[str, Array]:
    """Read `NAME=FILE.npy` arguments; a file without a name belongs to the only input of the model."""
    names = [tensor.name for tensor in program.inputs]
    arrays: dict[str, Array] = {}
    for text in texts:
        name, _, file = text.rpartition("=")
        if not name and len(names) > 1:
            raise ArgumentError(f"--input {text!r} names no input", hint=f"the model has {', '.join(map(repr, names))}")
        name = name or names[0]
        if name not in names:
            known = ", ".join(map(repr, names))
            raise ArgumentError(f"--input names {name!r}, which is no input", hint=f"the model has {known}")
        if name in arrays:
            raise ArgumentError(f"--input names {name!r} twice")
        arrays[name] = read_array(Path(file))
        for tensor in program.inputs:
            if tensor.name == name:
                _check(file, tensor, arrays[name])
    return arrays


def _check(file: str, tensor: HostTensor, array: Array) -> None:
    """Raise what the simulator would raise for an array (of a batch, for its first image), with the file's name."""
    from qbc.runtime.boundary import to_device

    try:
        to_device(tensor, split_batch([array], batch_size([array], [tensor]))[0][0])
    except QBCompilerError as error:
        raise QBCompilerError(f"{file}: {error.message}", code=error.code, hint=error.hint) from None


def read_array(path: Path) -> Array:
    """Read an .npy file; anything else, or an array of objects, is INVALID_INPUT."""
    import numpy as np

    from qbc.driver.files import require_file

    require_file(path)
    try:
        array: Array = np.lib.format.open_memmap(path, mode="r")  # bounds the size by the file, never unpickles
    except (ValueError, OSError, EOFError, SyntaxError, TypeError) as error:
        reason = str(error).splitlines()[0] if str(error) else "damaged"
        raise QBCompilerError(
            f"{str(path)!r} is not a readable .npy file: {reason}",
            code="INVALID_INPUT",
            hint="write a numeric array with numpy.save; pickled objects are never loaded",
        ) from None
    return np.array(array)


def random_inputs(program: Program) -> dict[str, Array]:
    """Return seeded random arrays for all inputs: uniform over the range that the codes cover; zeros for indices."""
    import numpy as np

    generator = np.random.default_rng(0)
    arrays: dict[str, Array] = {}
    for tensor in program.inputs:
        shape = tensor.operand.shape
        if tensor.dtype == "i32":
            arrays[tensor.name] = np.zeros(shape, dtype=np.int32)
            continue
        if tensor.dtype == "u8":
            arrays[tensor.name] = generator.integers(0, 256, shape, dtype=np.uint8)
            continue
        half = 128 if tensor.operand.dtype == "i8" else 32768
        codes = generator.integers(-half, half, shape)
        arrays[tensor.name] = ((codes - tensor.zero_point) * tensor.scale).astype(np.float32)
    return arrays


def write_array(directory: Path, name: str, array: Array, made: list[Path]) -> Path:
    """Write an output as .npy; characters that a file name cannot hold become underscores.

    What did not exist before is added to `made`, for `undone_on_failure`.
    """
    import re

    import numpy as np

    from qbc.atomic import atomic_write, check_writable, make_directory

    make_directory(directory, made)
    path = directory / f"{re.sub(r'[^A-Za-z0-9_.-]', '_', name)}.npy"
    check_writable(path)
    is_new = not path.exists()
    with atomic_write(path) as handle:
        np.save(handle, array, allow_pickle=False)
    if is_new:
        made.append(path)
    return path
