"""What each record of a program costs: MACs, elements by unit and bytes by memory, read off the record alone."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from qbc.program import Command, DebugRow, Operand, Program
from qbc.targets.latency import LayerWork
from qbc.targets.model import Mfu

_MFU_PASSES = {
    "lut16": "passes_lut16",
    "mantissa_lut": "passes_lut16",
    "softmax": "passes_softmax",
    "layer_norm": "passes_layer_norm",
    "div": "passes_div",
}
_MOVEMENT = frozenset({"reshape", "transpose", "slice", "concat", "expand", "gather", "pad", "tile", "resize_nearest"})


def layer_works(program: Program, debug: Sequence[DebugRow], mfu: Mfu) -> list[LayerWork]:
    """Return the work of every record, in program order; `debug` gives names, `mfu` the passes of its functions."""
    return [_work(command, program, _name(command, debug), mfu) for command in program.commands]


def _name(command: Command, debug: Sequence[DebugRow]) -> str:
    if command.debug >= len(debug):
        return f"{command.kind}_{command.debug}"
    nodes = debug[command.debug].nodes
    return nodes[0] if nodes else f"{debug[command.debug].op}_{command.debug}"


def _work(command: Command, program: Program, name: str, mfu: Mfu) -> LayerWork:
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
        dram_read=_bytes(command.inputs, "dram", "const") + _constant_bytes(command, program),
        dram_write=_bytes((command.output,), "dram"),
        l2_bytes=_bytes((*command.inputs, command.output), "l2"),
        **shape,
    )


def _bytes(operands: Sequence[Operand], *spaces: str) -> int:
    return sum(operand.nbytes for operand in operands if operand.space in spaces)


def _constant_bytes(command: Command, program: Program) -> int:
    sizes = {"int8": 1, "int16": 2, "int32": 4, "int64": 8}
    blobs = [program.blobs[index] for index in command.constants.values()]
    return sum(sizes[blob.dtype] * prod(blob.shape) for blob in blobs)


def _widest(command: Command) -> str:
    types = {operand.dtype for operand in (*command.inputs, command.output)}
    return next(dtype for dtype in ("i32", "i16", "i8") if dtype in types)


def _vector_elements(command: Command) -> int:
    if command.kind in ("max_pool2d", "avg_pool2d"):
        return command.output.size * prod(_ints(command, "kernel"))
    if command.kind.startswith("reduce_"):
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
    return program.blobs[command.constants["weight"]].shape


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
