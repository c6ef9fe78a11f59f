"""The bit-exact simulator: arenas, views and prepared kernels, run as a flat list.

It reads packed records and constants only; no IR, no float between the boundaries.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from qbc.errors import QBCompilerError
from qbc.kernels import KernelCall, TensorSpec, prepare
from qbc.kernels.storage import store_codes
from qbc.program import Command, Operand, Program
from qbc.runtime.boundary import InputForm, to_device, to_host
from qbc.store import BlobStore

Array = npt.NDArray[Any]
Observer = Callable[[int, Command, Array], None]

ALIGNMENT_BYTES = 64


@dataclass(frozen=True)
class _Step:
    kernel: Callable[..., None]
    arrays: tuple[Array, ...]


class Simulator:
    """Runs one program.

    `threads` bounds the threads of a run; the bytes of the results do not depend on it.
    """

    def __init__(self, program: Program, store: BlobStore, *, threads: int = 1) -> None:
        self.program = program
        self.threads = threads
        self._store = store
        self._constants: dict[tuple[int, str], Array] = {}
        try:
            self._arenas = _allocate(program)
            self._inputs = [self._view(tensor.operand) for tensor in program.inputs]
            self._outputs = [self._view(tensor.operand) for tensor in program.outputs]
            self._steps = [self._step(command) for command in program.commands]
        except MemoryError:
            raise QBCompilerError("the program needs more memory than there is", code="INVALID_SNAPSHOT") from None
        self._index_limits = _index_limits(program)

    # --- running ---

    def run(
        self,
        inputs: Mapping[str, Array],
        *,
        layout: str | None = None,
        as_float: bool = False,
        observe: Observer | None = None,
    ) -> dict[str, Array]:
        """Run once: input name -> array (either layout, batch axis of 1 optional), result: output name -> array.

        Layout, batch form and dtype of the outputs follow the inputs (`as_float`: floats also for codes). `layout`
        allows only one layout, "channel-last" or "source". `observe` is called after each record with its
        number, the command and the stored output (read-only, valid during the call).
        """
        stored, forms = self.quantize_inputs(inputs, layout)
        self.run_stored(stored, observe=observe)
        return {
            tensor.name: to_host(tensor, view, forms, as_float=as_float)
            for tensor, view in zip(self.program.outputs, self._outputs, strict=True)
        }

    def quantize_inputs(
        self, inputs: Mapping[str, Array], layout: str | None = None
    ) -> tuple[list[Array], list[InputForm]]:
        """Return the stored codes of all inputs in program order, and how each was given."""
        names = [tensor.name for tensor in self.program.inputs]
        missing = [name for name in names if name not in inputs]
        unknown = [name for name in inputs if name not in names]
        if missing or unknown:
            raise QBCompilerError(
                f"inputs are {', '.join(map(repr, inputs))}, the model has {', '.join(map(repr, names))}",
                code="INVALID_INPUT",
            )
        pairs = [to_device(tensor, inputs[tensor.name], layout) for tensor in self.program.inputs]
        return [stored for stored, _ in pairs], [form for _, form in pairs]

    def run_stored(self, inputs: Sequence[Array], *, observe: Observer | None = None) -> list[Array]:
        """Run on stored codes (i8 as bytes of code + 128) and return views of the stored outputs."""
        for position, (view, array) in enumerate(zip(self._inputs, inputs, strict=True)):
            self._check_indices(position, array)
            view[...] = array
        with _thread_limit(self.threads):
            if observe is None:
                for step in self._steps:
                    step.kernel(*step.arrays)
            else:
                self._run_observed(observe)
        return self._outputs

    def index_limit(self, position: int) -> int:
        """Return n where graph input `position` holds gather indices in -n..n-1, or 0 where it does not."""
        return self._index_limits.get(position, 0)

    def arrays(self, number: int) -> tuple[Array, ...]:
        """Return read-only views of the inputs and the output of a record, in storage form."""
        views = tuple(array.view() for array in self._steps[number].arrays)
        for view in views:
            view.flags.writeable = False
        return views

    def _run_observed(self, observe: Observer) -> None:
        for number, (step, command) in enumerate(zip(self._steps, self.program.commands, strict=True)):
            step.kernel(*step.arrays)
            output = step.arrays[-1].view()
            output.flags.writeable = False
            observe(number, command, output)

    def _check_indices(self, position: int, array: Array) -> None:
        limit = self._index_limits.get(position)
        if limit is None or not array.size:
            return
        if int(array.min()) < -limit or int(array.max()) >= limit:
            found, allowed = f"{int(array.min())}..{int(array.max())}", f"{-limit}..{limit - 1}"
            raise QBCompilerError(
                f"input {self.program.inputs[position].name!r} holds indices {found}, allowed are {allowed}",
                code="INVALID_INPUT",
            )

    # --- building ---

    def _step(self, command: Command) -> _Step:
        call = self.kernel_call(command)
        arrays = tuple(self._view(operand) for operand in (*command.inputs, command.output))
        return _Step(prepare(call), arrays)

    def kernel_call(self, command: Command) -> KernelCall:
        """Return the kernel call of a record."""
        return KernelCall(
            command.kind,
            tuple(TensorSpec(operand.shape, operand.dtype) for operand in command.inputs),
            TensorSpec(command.output.shape, command.output.dtype),
            dict(command.attributes),
            {name: self._blob(index) for name, index in command.constants.items()},
        )

    def _blob(self, index: int) -> Array:
        blob = self.program.blobs[index]
        return self._store.get(blob.key, blob.dtype, blob.shape)

    def _view(self, operand: Operand) -> Array:
        if operand.space == "const":
            return self._constant(operand)
        raw = self._arenas[operand.space][operand.address : operand.address + operand.nbytes]
        return raw.view(TensorSpec(operand.shape, operand.dtype).numpy_dtype).reshape(operand.shape)

    def _constant(self, operand: Operand) -> Array:
        key = (operand.address, operand.dtype)
        if key not in self._constants:
            self._constants[key] = store_codes(self._blob(operand.address), operand.dtype)
        return self._constants[key].reshape(operand.shape)


def _allocate(program: Program) -> dict[str, Array]:
    """Return zeroed arenas, each as large as its operands reach (never more than declared), aligned to 64 bytes."""
    reach: dict[str, int] = dict.fromkeys(program.arenas, 0)
    for operand in _operands(program):
        if operand.space != "const":
            reach[operand.space] = max(reach[operand.space], operand.address + operand.nbytes)
    arenas = {}
    for space, size in reach.items():
        raw = np.zeros(size + ALIGNMENT_BYTES, dtype=np.uint8)
        start = -raw.ctypes.data % ALIGNMENT_BYTES
        arenas[space] = raw[start : start + size]
    return arenas


def _operands(program: Program) -> Iterator[Operand]:
    for tensor in (*program.inputs, *program.outputs):
        yield tensor.operand
    for command in program.commands:
        yield command.output
        yield from command.inputs


def _index_limits(program: Program) -> dict[int, int]:
    """Return graph input number -> extent that its values index, for inputs that `gather` reads as indices."""
    places = {(tensor.operand.space, tensor.operand.address): i for i, tensor in enumerate(program.inputs)}
    limits: dict[int, int] = {}
    for command in program.commands:
        if command.kind != "gather":
            continue
        data, indices = command.inputs
        position = places.get((indices.space, indices.address))
        if position is None or program.inputs[position].dtype != "i32":
            continue
        axis = command.attributes["axis"]
        extent = data.shape[axis] if isinstance(axis, int) and -len(data.shape) <= axis < len(data.shape) else 0
        limits[position] = min(extent, limits.get(position, extent))
    return limits


@contextmanager
def _thread_limit(threads: int) -> Iterator[None]:
    """Bound the threads of torch during a run."""
    import torch

    before = torch.get_num_threads()
    if before == threads:
        yield
        return
    torch.set_num_threads(threads)
    try:
        yield
    finally:
        torch.set_num_threads(before)
