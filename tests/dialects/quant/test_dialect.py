"""Text form, types and parameter table of the quant dialect."""

from __future__ import annotations

import struct
from io import StringIO

import pytest
from hypothesis import given
from hypothesis import strategies as st
from xdsl.context import Context
from xdsl.dialects.builtin import Builtin, ModuleOp
from xdsl.dialects.func import Func
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from qbc.dialects.blob import Blob
from qbc.dialects.quant import ParamTable, QType, Quant, level
from qbc.dialects.quant.types import shortest_f32

TEXT = """
quant.params "r0" {storage = i8, scale = 1.0e-05 : f32, zero_point = -3}
quant.params "r1" {storage = i8, scale = 0.0078125 : f32, zero_point = 0, fixed, threshold = {t = 0.5}}
quant.params "r2"
func.func @main(%x: tensor<1x8x8x4xf32> {mblt.name = "x"}) -> (tensor<1x8x8x4xf32> {mblt.name = "y"}) {
  %0 = quant.quantize %x : tensor<1x8x8x4xf32> -> tensor<1x8x8x4x!quant.q<"r0">> loc("inp")
  %1 = quant.conv2d %0 {weight = #blob.ref<"aa" : tensor<2x3x3x4xf32>>, kernel = [3, 3], strides = [1, 1],
       padding = [1, 1, 1, 1], dilations = [1, 1], groups = 1, activation = "relu"}
       : tensor<1x8x8x4x!quant.q<"r0">> -> tensor<1x8x8x2x!quant.q<"r1">> loc("/conv")
  %2 = quant.concat %1, %1 {axis = 3}
       : (tensor<1x8x8x2x!quant.q<"r1">>, tensor<1x8x8x2x!quant.q<"r1">>) -> tensor<1x8x8x4x!quant.q<"r1">>
  %3 = quant.dequantize %2 : tensor<1x8x8x4x!quant.q<"r1">> -> tensor<1x8x8x4xf32>
  func.return %3 : tensor<1x8x8x4xf32>
}
"""


def context() -> Context:
    """Return a context with the dialects of the text above."""
    ctx = Context()
    for dialect in (Builtin, Func, Blob, Quant):
        ctx.load_dialect(dialect)
    return ctx


def parse(text: str) -> ModuleOp:
    """Parse and verify a module."""
    module = Parser(context(), text).parse_module()
    module.verify()
    return module


def test_text_round_trip_in_both_forms() -> None:
    module = parse(TEXT)
    assert str(parse(str(module))) == str(module)
    generic = StringIO()
    Printer(generic, print_generic_format=True).print_op(module)
    assert str(parse(generic.getvalue())) == str(module)


@given(st.floats(min_value=2.0**-126, max_value=2.0**127, width=32))
def test_scale_text_is_shortest_and_exact(value: float) -> None:
    text = shortest_f32(value)
    assert struct.pack("<f", float(text)) == struct.pack("<f", value)
    assert "." in text
    digits = len(text.partition("e")[0].replace(".", "").strip("0"))
    shorter = f"{value:.{max(digits - 1, 1)}g}"
    assert digits <= 1 or struct.pack("<f", float(shorter)) != struct.pack("<f", value)


@given(st.floats(min_value=2.0**-100, max_value=2.0**100, width=32), st.integers(-128, 127))
def test_inline_encoding_round_trip(scale: float, zero_point: int) -> None:
    kind = QType.inline("i8", scale, zero_point)
    assert Parser(context(), str(kind)).parse_type() == kind
    assert kind.encoding == ("i8", scale, zero_point)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("!quant.q<i8, 0.0 : 0>", "greater than 0"),
        ("!quant.q<i8, 0.5 : 128>", "outside the codes"),
        ("!quant.q<i16, 0.5 : 1>", "zero point 0"),
        ("!quant.q<i32, 0.5 : 0>", "storage is i8 or i16"),
        ('!quant.q<i32, "r0">', "storage is i8 or i16"),
        ('!quant.q<"">', "names a row"),
    ],
)
def test_illegal_encodings_are_refused(text: str, message: str) -> None:
    with pytest.raises(VerifyException, match=message):
        Parser(context(), text).parse_type()


def test_table_knows_rows_and_members_in_order() -> None:
    module = parse(TEXT)
    table = ParamTable(module)
    assert [row.row_name for row in table] == ["r0", "r1", "r2"]
    assert [len(table.members(row)) for row in table] == [1, 2, 0]
    assert table.rows["r1"].is_fixed
    assert level(module) == "ranged"
    assert table.drop_unused() == 1
    row = table.new_row()
    assert row.row_name == "r2"
    table.assign(table.members(table.rows["r1"])[0], row)
    assert level(module) == "created"
    table.set_encoding(row, "i16", 0.1, 0)
    assert row.encoding == ("i16", struct.unpack("<f", struct.pack("<f", 0.1))[0], 0)
    assert level(module) == "ranged"
    table.merge(table.rows["r0"], row)
    assert [row.row_name for row in table] == ["r0", "r1"]
    assert [len(table.members(row)) for row in table] == [2, 1]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('quant.params "r0" {scale = 1.0 : f32}', "set together"),
        ('quant.params "r0" {scale = 1.0 : f32, zero_point = 0}', "has a storage"),
        ('quant.params "r0" {scales = #blob.ref<"s" : tensor<4xf32>>}', "set together"),
        (
            'quant.params "r0" {scales = #blob.ref<"s" : tensor<4xf32>>, storage = i8, zero_point = 128}',
            "outside the codes",
        ),
        (
            'quant.params "r" func.func @f(%x: tensor<2x!quant.q<"r">>) { %0 = quant.reshape %x : '
            'tensor<2x!quant.q<"r">> -> tensor<3x!quant.q<"r">> func.return }',
            "number of elements",
        ),
        (
            'quant.params "r" func.func @f(%x: tensor<2x4x!quant.q<"r">>) { %0 = quant.linear %x {weight = '
            '#blob.ref<"a" : tensor<5x3xf32>>} : tensor<2x4x!quant.q<"r">> -> tensor<2x5x!quant.q<"r">> func.return }',
            "weight takes 3 channels",
        ),
        (
            'quant.params "r" func.func @f(%x: tensor<2x4x!quant.q<"r">>) { %0 = quant.lut %x {function = "foo"} : '
            'tensor<2x4x!quant.q<"r">> -> tensor<2x4x!quant.q<"r">> func.return }',
            "'foo' is unknown",
        ),
        (
            'quant.params "r" func.func @f(%x: tensor<2x4x!quant.q<"r">>) { %0 = quant.add %x, %x {activation = "tanh"}'
            ' : (tensor<2x4x!quant.q<"r">>, tensor<2x4x!quant.q<"r">>) -> tensor<2x4x!quant.q<"r">> func.return }',
            "activation is",
        ),
    ],
)
def test_invalid_operations_are_refused(text: str, message: str) -> None:
    with pytest.raises(VerifyException, match=message):
        parse(text)
