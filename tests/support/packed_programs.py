"""Random but valid programs for the tests of the packed format."""

from __future__ import annotations

from hypothesis import strategies as st

from qbc.program import Blob, Command, HostTensor, Operand, Program
from qbc.program.opcodes import BLOB_DTYPES, ELEMENTS, OPCODES, Field, Opcode

ARENAS = {"dram": 1 << 16, "l2": 1 << 12}
I64 = st.integers(-(1 << 63), (1 << 63) - 1)
I32 = st.integers(-(1 << 31), (1 << 31) - 1)
SHAPES = st.lists(st.integers(1, 4), max_size=5).map(tuple)
NAMES = st.text(st.characters(codec="utf-8", exclude_categories=("C", "Z")), max_size=12)


@st.composite
def operands(draw: st.DrawFn) -> Operand:
    """An operand inside one of the arenas."""
    return Operand(
        draw(st.sampled_from(["dram", "l2"])),
        64 * draw(st.integers(0, 8)),
        draw(SHAPES),
        draw(st.sampled_from(ELEMENTS)),
    )


def _value(field: Field) -> st.SearchStrategy[object]:
    if field.kind == "int":
        return I64
    if field.kind == "list":
        return st.lists(I32, max_size=6).map(tuple)
    return st.sampled_from(field.kind)


@st.composite
def commands(draw: st.DrawFn, blobs: int, cores: int = 1) -> Command:
    """A command whose fields are all legal for the format (not for the kernels)."""
    usable = [opcode for opcode in OPCODES if blobs or all(field.optional for field in opcode.constants)]
    opcode: Opcode = draw(st.sampled_from(usable))
    count = draw(st.integers(opcode.least_inputs, min(opcode.most_inputs, 5)))
    fields = (*opcode.attributes, *opcode.later)
    attributes = {f.name: draw(_value(f)) for f in fields if not f.optional or draw(st.booleans())}
    constants = {
        f.name: draw(st.integers(0, blobs - 1))
        for f in opcode.constants
        if blobs and (not f.optional or draw(st.booleans()))
    }
    inputs = tuple(draw(operands()) for _ in range(count))
    places = (inputs, draw(operands()))
    numbers = (draw(st.integers(0, 9)), draw(st.integers(0, cores - 1)))
    return Command(opcode.kind, *places, attributes, constants, *numbers)


@st.composite
def host_tensors(draw: st.DrawFn, name: str, images: int = 1, *, is_output: bool = False) -> HostTensor:
    """A host tensor with an encoding that float32 holds; outputs may have scales of their channels."""
    operand = draw(operands())
    dtype = "i32" if operand.dtype == "i32" else "f32"
    layouts = {3: "ncw", 4: "nchw", 5: "ncdhw"}
    layout = draw(st.sampled_from(["", layouts.get(len(operand.shape), "")]))
    one = st.floats(2**-30, 2**30, width=32)
    copies = tuple(64 * draw(st.integers(0, 8)) for _ in range(images - 1))
    channels = operand.shape[-1] if operand.shape and is_output and dtype == "f32" and draw(st.booleans()) else 1
    scales = tuple(draw(one) for _ in range(channels))
    encoding = (max(scales), draw(st.integers(-128, 127)))
    return HostTensor(name, dtype, *encoding, layout, operand, copies, scales if channels > 1 else ())


@st.composite
def programs(draw: st.DrawFn) -> Program:
    """A whole program."""
    keys = st.binary(min_size=16, max_size=16).map(bytes.hex)
    blobs = tuple(
        Blob(draw(keys), draw(st.sampled_from(BLOB_DTYPES)), draw(SHAPES)) for _ in range(draw(st.integers(0, 3)))
    )
    mode, images, cores = draw(
        st.sampled_from([("single", 1, 1), ("multi", 4, 4), ("global4", 1, 4), ("global8", 1, 8)])
    )
    inputs = tuple(draw(host_tensors(name, images)) for name in draw(st.sets(NAMES, max_size=2)))
    names = draw(st.sets(NAMES, max_size=2))
    outputs = tuple(draw(host_tensors(name, images, is_output=True)) for name in names)
    body = tuple(draw(commands(len(blobs), cores)) for _ in range(draw(st.integers(0, 4))))
    return Program(draw(NAMES), mode, draw(st.integers(0, 3)), ARENAS, inputs, outputs, blobs, body)
