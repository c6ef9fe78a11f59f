"""The bit-exact simulator: arenas, views and prepared kernels, run as a flat list.

It reads packed records and constants only; no IR, no float between the boundaries.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from qbc.errors import ArgumentError, QBCompilerError
from qbc.kernels import KernelCall, TensorSpec, binder
from qbc.kernels.storage import store_codes
from qbc.program import Command, HostTensor, Operand, Program
from qbc.runtime.boundary import InputForm, to_device, to_host
from qbc.runtime.notices import Notice, input_notices, log_notice, output_notices
from qbc.store import BlobStore

Array = npt.NDArray[Any]
Observer = Callable[[int, Command, Array], None]
Binder = Callable[[Sequence[Array]], Callable[[], None]]

ALIGNMENT_BYTES = 64


@dataclass(frozen=True)
class _Step:
    run: Callable[[], None]
    arrays: tuple[Array, ...]
    core: int
    channels: slice  # output channels that the record computes

    @property
    def output(self) -> Array:
        """Read-only view of what the record computes."""
        whole = self.arrays[-1]
        view = whole[..., self.channels] if whole.ndim else whole[...]
        view.flags.writeable = False
        return view


class Simulator:
    """Runs one program, one run at a time: its memory is shared by all runs (`qbcompiler.runtime.Model` takes turns).

    `threads` bounds the threads of a run; the bytes of the results do not depend on it. `notice` is told, once each,
    what is decided about inputs (a layout where two fit, what NaN becomes); by default those are warnings in the log.
    """

    def __init__(self, program: Program, store: BlobStore, *, threads: int = 1, notice: Notice = log_notice) -> None:
        if threads < 1:
            raise ArgumentError(f"threads is {threads}, expected 1 or more")
        self.program = program
        self.threads = threads
        self._notice = notice
        self._told: set[str] = set()
        self._store = store
        self._constants: dict[tuple[int, str], Array] = {}
        try:
            self._arenas = _allocate(program)
            self._inputs = self._images(program.inputs)
            self._outputs = self._images(program.outputs)
            prepared: dict[object, Binder] = {}  # images of one run share packed weights
            self._steps = [self._step(command, prepared) for command in program.commands]
            self._runs = self._runs_of(program.cores)
        except MemoryError:
            raise QBCompilerError("the program needs more memory than there is", code="RESOURCE_ERROR") from None
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
        number, the command and the stored output (read-only, valid during the call; of a record that computes a block
        of channels, that block). In core mode multi only the first core runs.
        """
        return self.run_batch([inputs], layout=layout, as_float=as_float, observe=observe)[0]

    def run_batch(
        self,
        batch: Sequence[Mapping[str, Array]],
        *,
        layout: str | None = None,
        as_float: bool = False,
        observe: Observer | None = None,
    ) -> list[dict[str, Array]]:
        """`run` for up to `program.images` images at once; cores without an image stay idle."""
        prepared = [self.quantize_inputs(inputs, layout) for inputs in batch]
        stored = self.run_images([codes for codes, _ in prepared], observe=observe)
        results = [
            {
                tensor.name: to_host(tensor, view, forms, as_float=as_float)
                for tensor, view in zip(self.program.outputs, views, strict=True)
            }
            for views, (_, forms) in zip(stored, prepared, strict=True)
        ]
        for tensor, result in itertools.product(self.program.outputs, results):
            for message in output_notices(tensor, result[tensor.name]):
                self._tell(message)
        return results

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
        for tensor in self.program.inputs:
            for message in input_notices(tensor, np.asarray(inputs[tensor.name]), layout):
                self._tell(message)
        return [stored for stored, _ in pairs], [form for _, form in pairs]

    def _tell(self, message: str) -> None:
        if message not in self._told:
            self._told.add(message)
            self._notice(message)

    def run_stored(self, inputs: Sequence[Array], *, observe: Observer | None = None) -> list[Array]:
        """Run one image on stored codes (i8 as bytes of code + 128) and return views of the stored outputs."""
        return self.run_images([inputs], observe=observe)[0]

    def run_images(self, images: Sequence[Sequence[Array]], *, observe: Observer | None = None) -> list[list[Array]]:
        """`run_stored` for up to `program.images` images; returns the views of each image."""
        if not 1 <= len(images) <= self.program.images:
            raise QBCompilerError(
                f"{len(images)} images were given, a run in core mode {self.program.mode} takes 1 to "
                f"{self.program.images}",
                code="INVALID_INPUT",
            )
        for views, inputs in zip(self._inputs, images, strict=False):
            self._store_inputs(views, inputs)
        cores = len(images) if self.program.images > 1 else self.program.cores
        with _thread_limit(self.threads):
            if observe is None:
                for run in self._runs if cores == self.program.cores else self._runs_of(cores):
                    run()
            else:
                self._run_observed(observe, cores)
        return self._outputs[: len(images)]

    def _runs_of(self, cores: int) -> list[Callable[[], None]]:
        """Return what the first cores run."""
        return [step.run for step in self._steps if step.core < cores]

    def _store_inputs(self, views: Sequence[Array], inputs: Sequence[Array]) -> None:
        if len(inputs) != len(views):
            message = f"{len(inputs)} inputs were given, the program has {len(views)}"
            raise QBCompilerError(message, code="INVALID_INPUT")
        for position, (view, array) in enumerate(zip(views, inputs, strict=True)):
            if (array.shape, array.dtype) != (view.shape, view.dtype):
                raise QBCompilerError(
                    f"input {self.program.inputs[position].name!r} is stored as {view.dtype}{list(view.shape)}, "
                    f"found {array.dtype}{list(array.shape)}",
                    code="INVALID_INPUT",
                )
            self._check_indices(position, array)
        for view, array in zip(views, inputs, strict=True):
            view[...] = array

    def index_limit(self, position: int) -> int:
        """Return n where graph input `position` holds gather indices in -n..n-1, or 0 where it does not."""
        return self._index_limits.get(position, 0)

    def arrays(self, number: int) -> tuple[Array, ...]:
        """Return read-only views of the inputs and the output of a record, in storage form."""
        views = tuple(array.view() for array in self._steps[number].arrays)
        for view in views:
            view.flags.writeable = False
        return views

    def _run_observed(self, observe: Observer, cores: int) -> None:
        for number, (step, command) in enumerate(zip(self._steps, self.program.commands, strict=True)):
            if step.core < cores:
                step.run()
                observe(number, command, step.output)

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

    def _step(self, command: Command, prepared: dict[object, Binder]) -> _Step:
        arrays = tuple(self._view(operand) for operand in (*command.inputs, command.output))
        key = _call_key(command)
        if key not in prepared:
            prepared[key] = binder(self.kernel_call(command))
        block = command.attributes.get("channels")
        channels = slice(*block) if isinstance(block, tuple) else slice(None)
        return _Step(prepared[key](arrays), arrays, command.core, channels)

    def _images(self, tensors: Sequence[HostTensor]) -> list[list[Array]]:
        """Return for each image the views of its graph inputs or outputs."""
        places = [tensor.operands for tensor in tensors]
        return [[self._view(operands[image]) for operands in places] for image in range(self.program.images)]

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


def _call_key(command: Command) -> object:
    """Return what makes the kernel call of a record: two records with equal keys differ in addresses only."""
    specs = tuple((operand.shape, operand.dtype) for operand in (*command.inputs, command.output))
    return (command.kind, specs, tuple(command.attributes.items()), tuple(command.constants.items()))


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
        yield from tensor.operands
    for command in program.commands:
        yield command.output
        yield from command.inputs


def _index_limits(program: Program) -> dict[int, int]:
    """Return graph input number -> extent that its values index, for inputs that `gather` reads as indices.

    Later values may take the place of an input that nothing needs any more; they are not the input.
    """
    places = {o: i for i, tensor in enumerate(program.inputs) if tensor.dtype == "i32" for o in tensor.operands}
    limits: dict[int, int] = {}
    for command in program.commands:
        if command.kind == "gather":
            data, indices = command.inputs
            axis = command.attributes["axis"]
            extent = data.shape[axis] if isinstance(axis, int) and -len(data.shape) <= axis < len(data.shape) else 0
            for position in (i for place, i in places.items() if _same_place(place, indices)):
                limits[position] = min(extent, limits.get(position, extent))
        places = {place: i for place, i in places.items() if not _overlap(place, command.output)}
    return limits


def _same_place(a: Operand, b: Operand) -> bool:
    return (a.space, a.address) == (b.space, b.address)


def _overlap(a: Operand, b: Operand) -> bool:
    return a.space == b.space and a.address < b.address + b.nbytes and b.address < a.address + a.nbytes


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
