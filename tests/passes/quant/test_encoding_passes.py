"""assign-bits, group-scales, insert-requant, canonicalize and the three levels of quant-verify."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp
from xdsl.parser import Parser

from qbc.algorithms.statistics import Sketch
from qbc.dialects.blob import write_blob
from qbc.dialects.quant import ParamTable, level
from qbc.driver.context import DriverContext, make_context
from qbc.errors import QBCompilerError
from qbc.passes.quant.quant_assign_bits import QuantAssignBits
from qbc.passes.quant.quant_canonicalize import QuantCanonicalize
from qbc.passes.quant.quant_group_scales import QuantGroupScales
from qbc.passes.quant.quant_insert_requant import QuantInsertRequant
from qbc.passes.quant.quant_materialize import QuantMaterialize
from qbc.passes.quant.quant_verify import QuantVerify
from qbc.passes.quant.row_statistics import write_statistics
from qbc.store import BlobStore

ROWS = """
quant.params "a" {storage = i8, scale = 0.5 : f32, zero_point = 0}
quant.params "b" {storage = i8, scale = 0.25 : f32, zero_point = -128}
quant.params "c" {storage = i8, scale = 0.125 : f32, zero_point = 3}
"""


def q(row: str, shape: str = "1x4") -> str:
    """Return a tensor type of a row."""
    return f'tensor<{shape}x!quant.q<"{row}">>'


def parse(body: str, rows: str = ROWS) -> tuple[ModuleOp, DriverContext]:
    """Parse a function body between `%x` (f32) and a returned `%y` (f32), with weights `@w`."""
    ctx = make_context(store=BlobStore())
    weight = str(write_blob(ctx.store, np.eye(4, dtype=np.float32)))
    text = f"""{rows}
    func.func @main(%x: tensor<1x4xf32>) -> tensor<1x4xf32> {{
      {body.replace("@w", weight)}
      func.return %y : tensor<1x4xf32>
    }}"""
    module = Parser(ctx, text).parse_module()
    module.verify()
    return module, ctx


IN = f"%0 = quant.quantize %x : tensor<1x4xf32> -> {q('a')}"


def out(value: str, row: str) -> str:
    """Return the text of the output boundary."""
    return f"%y = quant.dequantize {value} : {q(row)} -> tensor<1x4xf32>"


def names(module: ModuleOp) -> list[str]:
    """Return mnemonics between the boundary ops."""
    skip = ("quantize", "dequantize", "params")
    found = [op.name.partition(".")[2] for op in module.walk() if op.name.startswith("quant.")]
    return [name for name in found if name not in skip]


# --- assign-bits -------------------------------------------------------------------------------------------------

UNSET = 'quant.params "a" quant.params "b" quant.params "c" {storage = i8, scale = 0.5 : f32, zero_point = 0, fixed}'
TWO_LAYERS = f"""{IN}
  %1 = quant.linear %0 {{weight = @w}} : {q("a")} -> {q("b")} loc("fc1")
  %2 = quant.lut %1 {{function = "tanh"}} : {q("b")} -> {q("c")} loc("act")
  {out("%2", "c")}"""


def test_assign_bits_fills_rows_and_keeps_fixed_ones() -> None:
    module, ctx = parse(TWO_LAYERS, UNSET)
    QuantAssignBits(preset="w8a16").run(module, ctx)
    assert [row.bits for row in ParamTable(module)] == ["i16", "i16", "i8"]
    module, ctx = parse(TWO_LAYERS, UNSET)
    QuantAssignBits(activation16=("fc1",)).run(module, ctx)
    assert [row.bits for row in ParamTable(module)] == ["i8", "i16", "i8"]


@pytest.mark.parametrize(
    ("options", "code", "text"),
    [
        ({"activation16": ("fc2",)}, "ARGUMENT_ERROR", "fc1"),
        ({"preset": "w4a8"}, "UNSUPPORTED_FEATURE", "not available"),
    ],
)
def test_assign_bits_refuses(options: dict[str, object], code: str, text: str) -> None:
    module, ctx = parse(TWO_LAYERS, UNSET)
    with pytest.raises(QBCompilerError) as caught:
        QuantAssignBits(**options).run(module, ctx)  # type: ignore[arg-type]
    assert caught.value.code == code
    assert text in caught.value.describe()


# --- insert-requant ----------------------------------------------------------------------------------------------


def maximum(left: str, left_row: str, right: str, right_row: str, row: str = "c") -> str:
    """Return the text of a maximum."""
    return f"%m = quant.maximum {left}, {right} : ({q(left_row)}, {q(right_row)}) -> {q(row)}"


def test_a_producer_that_rescales_takes_the_wanted_encoding() -> None:
    body = f"""{IN}
      %1 = quant.linear %0 {{weight = @w}} : {q("a")} -> {q("b")}
      {maximum("%1", "b", "%1", "b")}
      {out("%m", "c")}"""
    module, ctx = parse(body)
    QuantInsertRequant().run(module, ctx)
    assert names(module) == ["linear", "maximum"]
    assert [row.row_name for row in ParamTable(module)] == ["a", "c"]
    QuantVerify("ranged").run(module, ctx)


def test_one_requantize_serves_all_users_of_a_value() -> None:
    body = f"""{IN}
      %1 = quant.linear %0 {{weight = @w}} : {q("a")} -> {q("b")}
      %2 = quant.add %1, %0 : ({q("b")}, {q("a")}) -> {q("c")}
      {maximum("%1", "b", "%2", "c")}
      %n = quant.minimum %m, %1 : ({q("c")}, {q("b")}) -> {q("c")}
      {out("%n", "c")}"""
    module, ctx = parse(body)
    QuantInsertRequant().run(module, ctx)
    assert names(module) == ["linear", "requantize", "add", "maximum", "minimum"]
    QuantVerify("ranged").run(module, ctx)


def test_nothing_is_inserted_where_encodings_agree() -> None:
    body = f"""{IN}
      {maximum("%0", "a", "%0", "a", "a")}
      {out("%m", "a")}"""
    module, ctx = parse(body)
    QuantInsertRequant().run(module, ctx)
    assert names(module) == ["maximum"]


# --- canonicalize ------------------------------------------------------------------------------------------------


def requantize(result: str, value: str, before: str, after: str, clamp: str = "") -> str:
    """Return the text of a requantize."""
    return f"{result} = quant.requantize {value} {clamp} : {q(before)} -> {q(after)}"


def canonical(body: str) -> list[str]:
    """Run the pass and return what is left."""
    module, ctx = parse(body)
    QuantCanonicalize().run(module, ctx)
    module.verify()
    QuantVerify("ranged").run(module, ctx)
    return names(module)


def test_canonicalize_removes_identities_and_dead_operations() -> None:
    body = f"""{IN}
      {requantize("%1", "%0", "a", "a")}
      %dead = quant.linear %0 {{weight = @w}} : {q("a")} -> {q("b")}
      {out("%1", "a")}"""
    assert canonical(body) == []


def test_canonicalize_moves_a_clamp_into_its_producer() -> None:
    clamp = '{activation = "relu"}'
    body = f"""{IN}
      %1 = quant.linear %0 {{weight = @w}} : {q("a")} -> {q("b")}
      {requantize("%2", "%1", "b", "c", clamp)}
      {out("%2", "c")}"""
    assert canonical(body) == ["linear"]


def test_canonicalize_keeps_a_clamp_whose_producer_has_one_or_other_users() -> None:
    clamp = '{activation = "relu"}'
    own = f"""{IN}
      %1 = quant.linear %0 {{weight = @w, activation = "relu6"}} : {q("a")} -> {q("b")}
      {requantize("%2", "%1", "b", "c", clamp)}
      {out("%2", "c")}"""
    shared = f"""{IN}
      %1 = quant.linear %0 {{weight = @w}} : {q("a")} -> {q("b")}
      {requantize("%2", "%1", "b", "c", clamp)}
      %3 = quant.add %1, %2 : ({q("b")}, {q("c")}) -> {q("c")}
      {out("%3", "c")}"""
    assert canonical(own) == ["linear", "requantize"]
    assert canonical(shared) == ["linear", "requantize", "add"]


def test_canonicalize_shortens_chains() -> None:
    clamp = '{activation = "relu"}'
    body = f"""{IN}
      {requantize("%1", "%0", "a", "b")}
      {requantize("%2", "%1", "b", "c", clamp)}
      {out("%2", "c")}"""
    assert canonical(body) == ["requantize"]


# --- group-scales ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("spread", "method", "rows"), [(1.1, 2, 2), (3.0, 2, 3), (1.1, 3, 3)])
def test_group_scales_ties_branches_with_like_ranges(spread: float, method: int, rows: int) -> None:
    plain = 'quant.params "a" {storage = i8} quant.params "b" {storage = i8} quant.params "c" {storage = i8}'
    body = f"""{IN}
      %1 = quant.linear %0 {{weight = @w}} : {q("a")} -> {q("b")}
      {maximum("%0", "a", "%1", "b")}
      %2 = quant.add %m, %0 : ({q("c")}, {q("a")}) -> {q("b")}
      {out("%2", "b")}"""
    module, ctx = parse(body, plain)
    table = ParamTable(module)
    for name, factor in (("a", 1.0), ("b", 50.0), ("c", spread)):
        data = np.linspace(-1, 1, 100, dtype=np.float32) * np.float32(factor)
        sketch = Sketch()
        sketch.update(data)
        write_statistics(ctx.store, table.rows[name], name, sketch.freeze())
    QuantGroupScales(method).run(module, ctx)
    assert len(list(ParamTable(module))) == rows


# --- verify ------------------------------------------------------------------------------------------------------


def broken(body: str, wanted: str, message: str, rows: str = ROWS) -> None:
    """Check that a level refuses a module with a message."""
    module, ctx = parse(body, rows)
    with pytest.raises(QBCompilerError) as caught:
        QuantVerify(wanted).run(module, ctx)
    assert caught.value.code == "VERIFY_ERROR"
    assert message in caught.value.message


LEGAL = f"""{IN}
  %1 = quant.linear %0 {{weight = @w}} : {q("a")} -> {q("b")} loc("fc")
  %2 = quant.lut %1 {{function = "tanh"}} : {q("b")} -> {q("c")}
  {out("%2", "c")}"""
ALL_USED = "%u = quant.add %0, %0 : ({a}, {a}) -> {b} %v = quant.add %u, %u : ({b}, {b}) -> {c}".format(
    a=q("a"), b=q("b"), c=q("c")
)


def test_levels_of_a_legal_module() -> None:
    module, ctx = parse(LEGAL)
    assert level(module) == "ranged"
    QuantVerify("created").run(module, ctx)
    QuantVerify("ranged").run(module, ctx)
    QuantMaterialize().run(module, ctx)
    module.verify()
    assert level(module) == "materialized"
    QuantVerify("materialized").run(module, ctx)
    QuantVerify("auto").run(module, ctx)


def test_created_refuses_float_values_inside() -> None:
    body = f"""{IN} {ALL_USED}
      %1 = quant.linear %x {{weight = @w}} : tensor<1x4xf32> -> {q("b")}
      {out("%1", "b")}"""
    broken(body, "created", "float value")


def test_created_refuses_missing_and_unused_rows() -> None:
    body = f"{IN} {out('%0', 'a')}"
    broken(body, "created", "defines row 'b', which no value names")
    broken(body.replace('"a"', '"zz"'), "created", "'zz', which does not exist")
    broken(body, "created", "defines row 'a' a second time", ROWS + ROWS)


def test_created_refuses_movement_between_rows() -> None:
    body = f"""{IN} {ALL_USED}
      %1 = quant.reshape %0 : {q("a")} -> {q("b")}
      {out("%1", "b")}"""
    broken(body, "created", "moves codes between rows a, b")


def test_created_refuses_encoded_indices() -> None:
    body = f"""{IN} {ALL_USED}
      %1 = quant.gather %0, %0 {{axis = 0}} : ({q("a")}, {q("a")}) -> {q("a", "1x4x4")}
      {out("%0", "a")}"""
    broken(body, "created", "expected i32")


def test_created_refuses_foreign_operations() -> None:
    body = f"""{IN} {ALL_USED}
      %1 = mblt.relu %x : tensor<1x4xf32> -> tensor<1x4xf32>
      {out("%0", "a")}"""
    broken(body, "created", "no operation of the quant dialect")


def test_created_refuses_integer_weights() -> None:
    body = f"""{IN} {ALL_USED}
      %1 = quant.linear %0 {{weight = #blob.inline<"{"00" * 16}" : tensor<4x4xi8>>}} : {q("a")} -> {q("b")}
      {out("%1", "b")}"""
    broken(body, "created", "expected float")


def test_ranged_refuses_unset_rows() -> None:
    broken(LEGAL, "ranged", "row 'a' has no encoding", UNSET.replace('"b"', '"b" {storage = i8}'))


def test_ranged_refuses_unequal_operands_of_a_union() -> None:
    body = f"""{IN}
      %1 = quant.linear %0 {{weight = @w}} : {q("a")} -> {q("b")} loc("fc")
      {maximum("%0", "a", "%1", "b")} loc("max")
      {out("%m", "c")}"""
    broken(body, "ranged", "needs equal encodings")


def test_ranged_refuses_a_requantize_without_effect_or_use() -> None:
    body = f"""{IN} {ALL_USED}
      {requantize("%1", "%0", "a", "a")}
      {out("%0", "a")}"""
    broken(body, "ranged", "changes nothing")
    broken(body, "ranged", "is not used")


def materialized(change: Callable[[ModuleOp], None], message: str) -> None:
    """Check that a change of a materialized module is noticed."""
    module, ctx = parse(LEGAL)
    QuantMaterialize().run(module, ctx)
    change(module)
    with pytest.raises(QBCompilerError) as caught:
        QuantVerify("materialized").run(module, ctx)
    assert message in caught.value.message


def find(module: ModuleOp, name: str) -> object:
    """Return the first op of a name."""
    return next(op for op in module.walk() if op.name == name)


def test_materialized_refuses_rows_floats_and_missing_constants() -> None:
    from xdsl.dialects.builtin import FloatAttr, f32

    broken(LEGAL, "materialized", "is left")
    materialized(lambda m: find(m, "quant.linear").properties.pop("shift"), "shift")  # type: ignore[attr-defined]
    materialized(lambda m: find(m, "quant.lut").properties.pop("table") and None, "table")  # type: ignore[attr-defined]

    def add_float(module: ModuleOp) -> None:
        find(module, "quant.linear").properties["activation_min"] = FloatAttr(1.0, f32)  # type: ignore[attr-defined]

    materialized(add_float, "float property activation_min")


def test_materialize_needs_encodings_and_ties() -> None:
    module, ctx = parse(LEGAL, UNSET)
    with pytest.raises(QBCompilerError, match="no encoding yet: .*fc") as caught:
        QuantMaterialize().run(module, ctx)
    assert caught.value.code == "QUANTIZATION_ERROR"
    body = f"""{IN}
      %1 = quant.linear %0 {{weight = @w}} : {q("a")} -> {q("b")}
      {maximum("%0", "a", "%1", "b")}
      {out("%m", "c")}"""
    module, ctx = parse(body)
    with pytest.raises(QBCompilerError, match="different encodings"):
        QuantMaterialize().run(module, ctx)
