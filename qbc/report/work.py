"""What each record of a program costs: MACs, elements by unit and bytes by memory, read off the record alone.

A record that computes a block of channels costs that block. Records of several cores that stand together form one step.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import prod

from qbc.program import Command, DebugRow, Operand, Program
from qbc.targets.latency import LayerWork
from qbc.targets.model import Mfu

_MFU_PASSES = {
    "lut16": "passes_lut16",
    "mantissa_lut": "passes_lut16",
    "softmax": "passes_softmax",
    "log_softmax": "passes_softmax",
    "layer_norm": "passes_layer_norm",
    "div": "passes_div",
}
_PER_CHANNEL = ("weight", "bias", "multiplier", "shift")
_MOVEMENT = frozenset({"reshape", "transpose", "slice", "concat", "expand", "gather", "pad", "tile", "resize_nearest"})


def layer_works(program: Program, debug: Sequence[DebugRow], mfu: Mfu) -> list[LayerWork]:
    """Return the work of every record, in program order; `debug` gives names, `mfu` the passes of its functions."""
    return [_work(command, program, _name(command, debug), mfu) for command in program.commands]


def layer_steps(program: Program, debug: Sequence[DebugRow], mfu: Mfu) -> list[list[LayerWork]]:
    """Return the works of the cores at each step: consecutive records on ascending cores run at the same time.

    What several cores read of external memory in one step is read once and handed to all of them.
    """
    steps: list[list[LayerWork]] = []
    previous, seen = 0, set[object]()
    for command, work in zip(program.commands, layer_works(program, debug, mfu), strict=True):
        if not steps or command.core <= previous:
            steps.append([])
            seen = set()
        shared = sum(size for what, size in _external_reads(command, program) if what in seen)
        seen.update(what for what, _ in _external_reads(command, program))
        steps[-1].append(replace(work, dram_read=work.dram_read - shared))
        previous = command.core
    return steps


def _external_reads(command: Command, program: Program) -> list[tuple[object, int]]:
    """Return what a record reads of external memory, and the bytes of each."""
    block = command.attributes.get("channels")
    parts = [(operand, _part(command, index)) for index, operand in enumerate(command.inputs)]
    reads: list[tuple[object, int]] = [
        (whole if part == whole else (whole, block), part.nbytes)
        for whole, part in parts
        if whole.space in ("dram", "const")
    ]
    return [*reads, *(((name, index, block), size) for name, index, size in _constants(command, program))]


def _block(command: Command) -> tuple[int, int]:
    """Return the output channels of a record: first, and one after the last."""
    block = command.attributes.get("channels")
    return (block[0], block[1]) if isinstance(block, tuple) else (0, command.output.shape[-1])


def _part(command: Command, index: int) -> Operand:
    """Return the part of input `index` that a record reads; blocks of grouped operations read channels of theirs."""
    operand = command.inputs[index]
    if "channels" not in command.attributes:
        return operand
    begin, end = _block(command)
    channels, total = operand.shape[-1], command.output.shape[-1]
    if index > 0:
        return replace(operand, shape=(*operand.shape[:-1], end - begin))
    if int(str(command.attributes.get("groups", 1))) == 1:
        return operand
    return replace(operand, shape=(*operand.shape[:-1], channels * (end - begin) // total))


def _narrowed(command: Command) -> Command:
    """Return the record with the operands of its block."""
    if "channels" not in command.attributes:
        return command
    begin, end = _block(command)
    total = command.output.shape[-1]
    attributes = dict(command.attributes)
    groups = int(str(attributes.get("groups", 1)))
    if groups > 1:
        attributes["groups"] = groups * (end - begin) // total
    output = replace(command.output, shape=(*command.output.shape[:-1], end - begin))
    inputs = tuple(_part(command, index) for index in range(len(command.inputs)))
    return replace(command, inputs=inputs, output=output, attributes=attributes)


def _name(command: Command, debug: Sequence[DebugRow]) -> str:
    if command.debug >= len(debug):
        return f"{command.kind}_{command.debug}"
    nodes = debug[command.debug].nodes
    return nodes[0] if nodes else f"{debug[command.debug].op}_{command.debug}"


def _work(whole: Command, program: Program, name: str, mfu: Mfu) -> LayerWork:
    command = _narrowed(whole)
    shape = _mac_shape(command, program)
    vec = dict.fromkeys(("i8", "i16", "i32"), 0)
    mfu_elements, mfu_passes = 0, 1
    if command.kind in _MFU_PASSES:
        mfu_elements, mfu_passes = command.output.size, getattr(mfu, _MFU_PASSES[command.kind])
    elif command.kind not in _MOVEMENT:
        vec[_widest(command)] += _vector_elements(command)
    plane = command.attributes.get("plane", "full")
    kind = command.kind if plane == "full" else f"{command.kind} ({plane} plane)"
    return LayerWork(
        name=name,
        kind=kind,
        vec_i8=vec["i8"],
        vec_i16=vec["i16"],
        vec_i32=vec["i32"],
        mfu_elements=mfu_elements,
        mfu_passes=mfu_passes,
        dram_read=_bytes(command.inputs, "dram", "const") + sum(size for _, _, size in _constants(whole, program)),
        dram_write=_bytes((command.output,), "dram"),
        l2_bytes=_bytes((*command.inputs, command.output), "l2"),
        **shape,
    )


def _bytes(operands: Sequence[Operand], *spaces: str) -> int:
    return sum(operand.nbytes for operand in operands if operand.space in spaces)


def _constants(command: Command, program: Program) -> list[tuple[str, int, int]]:
    """Return name, index and bytes of the constants that a record reads; of a block only its channels."""
    sizes = {"int8": 1, "int16": 2, "int32": 4, "int64": 8}
    begin, end = _block(command) if "channels" in command.attributes else (0, 1)
    total = command.output.shape[-1] if "channels" in command.attributes else 1
    found = []
    for name, index in command.constants.items():
        blob = program.blobs[index]
        size = sizes[blob.dtype] * prod(blob.shape)
        found.append((name, index, size * (end - begin) // total if name in _PER_CHANNEL else size))
    return found


def _widest(command: Command) -> str:
    types = {operand.dtype for operand in (*command.inputs, command.output)}
    return next(dtype for dtype in ("i32", "i16", "i8") if dtype in types)


def _vector_elements(command: Command) -> int:
    if command.kind in ("max_pool2d", "avg_pool2d"):
        return command.output.size * prod(_ints(command, "kernel"))
    if command.kind.startswith("reduce_") or command.kind == "arg_max":
        return command.inputs[0].size
    if command.kind == "resize_linear":
        return 4 * command.output.size
    return command.output.size * (2 if "add_ma" in command.attributes else 1)


def _ints(command: Command, name: str) -> tuple[int, ...]:
    value = command.attributes[name]
    return value if isinstance(value, tuple) else ()


def _mac_shape(command: Command, program: Program) -> dict[str, int]:
    if command.kind == "conv2d":
        return _convolution(command, program)
    if command.kind == "transpose_conv2d":
        return _transposed(command, program)
    if command.kind == "linear":
        out_channels = command.output.shape[-1]
        return _product(command.output.size // out_channels, command.inputs[0].shape[-1], out_channels, 1, 1)
    if command.kind == "matmul":
        *lead, rows, columns = command.output.shape
        return _product(rows, command.inputs[0].shape[-1], columns, 1, prod(lead))
    return {}


def _product(pixels: int, in_channels: int, out_channels: int, taps: int, groups: int) -> dict[str, int]:
    return {
        "macs": pixels * in_channels * out_channels * taps * groups,
        "pixels": pixels,
        "in_channels": in_channels,
        "out_channels": out_channels,
        "taps": taps,
        "groups": groups,
    }


def _weight_shape(command: Command, program: Program) -> tuple[int, ...]:
    return (command.output.shape[-1], *program.blobs[command.constants["weight"]].shape[1:])


def _convolution(command: Command, program: Program) -> dict[str, int]:
    out_channels, kernel_h, kernel_w, per_group = _weight_shape(command, program)
    batch, height, width, _ = command.inputs[0].shape
    _, out_h, out_w, _ = command.output.shape
    groups = int(str(command.attributes["groups"]))
    strides, dilations, padding = (_ints(command, name) for name in ("strides", "dilations", "padding"))
    rows = _valid_taps(height, out_h, kernel_h, strides[0], dilations[0], padding[0])
    columns = _valid_taps(width, out_w, kernel_w, strides[1], dilations[1], padding[1])
    shape = _product(batch * out_h * out_w, per_group, out_channels // groups, kernel_h * kernel_w, groups)
    return {**shape, "macs": batch * rows * columns * out_channels * per_group}


def _valid_taps(size: int, outputs: int, kernel: int, stride: int, dilation: int, before: int) -> int:
    """Taps that lie inside the map, summed over all output positions of one axis."""
    starts = [position * stride - before for position in range(outputs)]
    return sum(1 for start in starts for tap in range(kernel) if 0 <= start + tap * dilation < size)


def _transposed(command: Command, program: Program) -> dict[str, int]:
    out_channels, kernel_h, kernel_w, per_group = _weight_shape(command, program)
    batch, height, width, _ = command.inputs[0].shape
    groups = int(str(command.attributes["groups"]))
    return _product(batch * height * width, per_group, out_channels // groups, kernel_h * kernel_w, groups)
