"""The one table of commands: opcode numbers, and the attributes and constants of each in their packed order.

An attribute kind is `int` (64 bits, signed), `list` (a count, then 32-bit signed words) or a tuple of words that an
enumeration may hold. A name that ends in `?` here is optional; a presence mask in the record says which are there.
Constants are indices into the program's blob table. Numbers are part of the format: never reuse or renumber one.
An attribute that a later version added is in `later`: its mask bit and its words follow those of the constants.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

AttributeKind = Literal["int", "list"] | tuple[str, ...]

ELEMENTS: tuple[str, ...] = ("i8", "i16", "i32")
ELEMENT_BYTES: dict[str, int] = {"i8": 1, "i16": 2, "i32": 4}
SPACES: tuple[str, ...] = ("const", "dram", "l2")
ARENAS: tuple[str, ...] = ("dram", "l2")
BLOB_DTYPES: tuple[str, ...] = ("int8", "int16", "int32", "int64")


@dataclass(frozen=True)
class Field:
    """One attribute or constant of a command."""

    name: str
    kind: AttributeKind
    optional: bool


@dataclass(frozen=True)
class Opcode:
    """One kind of command."""

    number: int
    kind: str
    least_inputs: int
    most_inputs: int
    attributes: tuple[Field, ...]
    constants: tuple[Field, ...]
    later: tuple[Field, ...] = ()

    @property
    def fields(self) -> tuple[Field, ...]:
        """All fields in the order of their bits in the presence mask."""
        return (*self.attributes, *self.constants, *self.later)


def _fields(text: str, kind: AttributeKind) -> tuple[Field, ...]:
    return tuple(Field(name.rstrip("?"), kind, name.endswith("?")) for name in text.split())


def _opcode(
    number: int,
    kind: str,
    inputs: tuple[int, int],
    *,
    lists: str = "",
    ints: str = "",
    choices: Mapping[str, tuple[str, ...]] | None = None,
    constants: str = "",
    later_lists: str = "",
) -> Opcode:
    words = tuple(_fields(name, words)[0] for name, words in (choices or {}).items())
    attributes = (*_fields(lists, "list"), *_fields(ints, "int"), *words)
    return Opcode(number, kind, *inputs, attributes, _fields(constants, "int"), _fields(later_lists, "list"))


_ACCUMULATE = "zx z lo hi"
_FUSED_ADD = "add_ma? add_mb? add_s? add_za? add_zb? add_z? add_lo? add_hi?"
_PLANE = {"plane?": ("full", "hi", "lo"), "add_dtype?": ("i8", "i16")}
_WEIGHTS = "weight bias? multiplier? shift? table?"
_BLOCK = "channels?"  # the output channels that the record computes
_CLAMP = "lo hi"
_RESCALE = "zx m s z lo hi"

OPCODES: tuple[Opcode, ...] = (
    *(
        _opcode(
            number,
            kind,
            (1, 3),
            lists="strides padding dilations",
            ints=f"groups {_ACCUMULATE} {_FUSED_ADD}",
            choices=_PLANE,
            constants=_WEIGHTS,
            later_lists=_BLOCK,
        )
        for number, kind in ((1, "conv2d"), (2, "transpose_conv2d"))
    ),
    _opcode(
        3,
        "linear",
        (1, 3),
        ints=f"{_ACCUMULATE} {_FUSED_ADD}",
        choices=_PLANE,
        constants=_WEIGHTS,
        later_lists=_BLOCK,
    ),
    _opcode(4, "matmul", (2, 2), ints="za zb transpose_b m s z lo hi"),
    _opcode(5, "add", (2, 2), ints="za zb ma mb s z lo hi"),
    _opcode(6, "mul", (2, 2), ints="za zb m s z lo hi"),
    _opcode(7, "div", (2, 2), ints="za zb p t z lo hi"),
    _opcode(8, "maximum", (2, 2), ints=_CLAMP),
    _opcode(9, "minimum", (2, 2), ints=_CLAMP),
    _opcode(10, "requantize", (1, 1), ints=_RESCALE),
    _opcode(11, "lut", (1, 1), constants="table"),
    _opcode(12, "lut16", (1, 1), ints=_CLAMP, constants="table"),
    _opcode(
        13,
        "mantissa_lut",
        (1, 1),
        ints="m s z lo hi c1? c2?",
        choices={"function": ("reciprocal", "rsqrt", "sqrt", "log")},
        constants="table",
    ),
    _opcode(14, "max_pool2d", (1, 1), lists="kernel strides padding dilations?"),
    _opcode(
        15,
        "avg_pool2d",
        (1, 1),
        lists="kernel strides padding dilations?",
        ints="count_include_pad zx z lo hi",
        constants="counts multiplier shift",
    ),
    _opcode(16, "reduce_sum", (1, 1), lists="axes", ints=_RESCALE),
    _opcode(17, "reduce_max", (1, 1), lists="axes"),
    _opcode(18, "reduce_min", (1, 1), lists="axes"),
    _opcode(19, "softmax", (1, 1), ints="k q g z lo hi"),
    _opcode(20, "layer_norm", (1, 1), ints="n zx eps t z lo hi rms?", constants="gamma beta"),
    _opcode(21, "reshape", (1, 1)),
    _opcode(22, "transpose", (1, 1), lists="permutation"),
    _opcode(23, "slice", (1, 1), lists="starts steps"),
    _opcode(24, "concat", (1, 255), ints="axis"),
    _opcode(25, "expand", (1, 1)),
    _opcode(26, "gather", (2, 2), ints="axis"),
    _opcode(
        27,
        "pad",
        (1, 1),
        lists="before after",
        ints="value?",
        choices={"mode?": ("constant", "reflect", "edge")},
        constants="codes?",
    ),
    _opcode(28, "tile", (1, 1), lists="repeats"),
    _opcode(29, "resize_nearest", (1, 1), constants="index_h index_w"),
    _opcode(30, "resize_linear", (1, 1), ints=_RESCALE, constants="h0 h1 hw w0 w1 ww"),
    _opcode(31, "equal", (2, 2)),
    _opcode(32, "greater", (2, 2)),
    _opcode(33, "less", (2, 2)),
    _opcode(34, "logical_and", (2, 2)),
    _opcode(35, "logical_or", (2, 2)),
    _opcode(36, "logical_not", (1, 1)),
    _opcode(37, "where", (3, 3)),
    _opcode(38, "log_softmax", (1, 1), ints="k m s z lo hi", constants="table"),
    _opcode(39, "reduce_l2", (1, 1), lists="axes", ints=_RESCALE),
    _opcode(40, "arg_max", (1, 1), ints="axis"),
)
OPCODE_OF_KIND: dict[str, Opcode] = {entry.kind: entry for entry in OPCODES}
OPCODE_OF_NUMBER: dict[int, Opcode] = {entry.number: entry for entry in OPCODES}
