"""The rules behind `quant-verify`, one function a rule; each yields every violation with its operation."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from xdsl.dialects.builtin import AnyFloat, DenseArrayBase, FloatAttr, IntegerType, ModuleOp, TensorType
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Operation, SSAValue

from qbc.dialects import quant
from qbc.dialects.blob import BlobAttr
from qbc.dialects.quant import ParamTable, quantized_element
from qbc.dialects.quant.table import table_violations
from qbc.errors import QBCompilerError
from qbc.passes.base import CompileContext, Violation
from qbc.passes.quant.channel_layout import ChannelEncoding, channel_count, channel_encoding, encodings_agree
from qbc.passes.quant.legality import is_movement, quant_ops, tied_values

Rule = Callable[[ModuleOp, ParamTable, CompileContext], Iterator[Violation]]
LEVELS = ("created", "ranged", "materialized")


def violations(module: ModuleOp, ctx: CompileContext, wanted: str) -> list[Violation]:
    """Return all violations of a level; structural rules of lower levels are included."""
    table = ParamTable(module)
    return [violation for rule in RULES[wanted] for violation in rule(module, table, ctx)]


# --- all levels --------------------------------------------------------------------------------------------------


def values_are_quantized(module: ModuleOp, table: ParamTable, ctx: CompileContext) -> Iterator[Violation]:
    """Inside the graph a value is quantized or integer; float exists at the boundary only."""
    for op in quant_ops(module):
        for value in (*op.operands, *op.results):
            if _is_float(value) and not _is_boundary(op, value):
                yield Violation(op, f"has a float value of type {value.type}")


def rows_stand(module: ModuleOp, table: ParamTable, ctx: CompileContext) -> Iterator[Violation]:
    """Every row that a type names is in the table, once, and no row is without a value."""
    for op, message in table_violations(module):
        yield Violation(op, message)


def channels_have_scales(module: ModuleOp, table: ParamTable, ctx: CompileContext) -> Iterator[Violation]:
    """A row with scales of channels has one for each channel of the last axis of its values."""
    for row in table:
        scales = row.channel_scales
        for value in table.members(row) if scales is not None else ():
            if scales is not None and scales.shape[0] != channel_count(value):
                message = f"row {row.row_name!r} has {scales.shape[0]} scales, the value has shape {value.type}"
                yield Violation(value.owner if isinstance(value.owner, Operation) else row, message, is_sentence=True)


def indices_are_plain(module: ModuleOp, table: ParamTable, ctx: CompileContext) -> Iterator[Violation]:
    """Indices are i32 and have no encoding."""
    for op in quant_ops(module):
        if isinstance(op, quant.GatherOp) and not _is_index(op.operands[1]):
            yield Violation(op, f"has indices of type {op.operands[1].type}, expected i32")


def movement_shares_rows(module: ModuleOp, table: ParamTable, ctx: CompileContext) -> Iterator[Violation]:
    """Operations that move codes have one row for operand and result, or rows that agree channel by channel."""
    for op in quant_ops(module):
        rows = {row.row_name: row for value in tied_values(op) if (row := table.row_of(value)) is not None}
        if not is_movement(op) or len(rows) < 2:
            continue
        per_channel = any(row.channel_scales is not None for row in rows.values())
        if not per_channel or not encodings_agree(op, _encodings(table, ctx)):
            yield Violation(op, f"moves codes between rows {', '.join(sorted(rows))}")


def no_foreign_operations(module: ModuleOp, table: ParamTable, ctx: CompileContext) -> Iterator[Violation]:
    """Functions hold quant operations only."""
    for function in module.body.block.ops:
        if not isinstance(function, FuncOp) or "mblt.device" in function.attributes:
            continue
        for op in function.body.block.ops:
            if not isinstance(op, quant.QuantOp) and not op.name.startswith("func."):
                yield Violation(op, "is no operation of the quant dialect")


# --- float levels ------------------------------------------------------------------------------------------------


def weights_are_float(module: ModuleOp, table: ParamTable, ctx: CompileContext) -> Iterator[Violation]:
    """Weights and biases are float and constants of the integer form are absent."""
    for op in quant_ops(module):
        for name in ("weight", "bias", "scale"):
            blob = op.properties.get(name)
            if isinstance(blob, BlobAttr) and not isinstance(blob.type.element_type, AnyFloat):
                yield Violation(op, f"has a {name} of type {blob.type}, expected float")
        if isinstance(op, (quant.Lut16Op, quant.MantissaLutOp, quant.ResizeNearestOp, quant.ResizeLinearOp)):
            yield Violation(op, "exists only after quant-materialize")


# --- ranged ------------------------------------------------------------------------------------------------------


def rows_are_set(module: ModuleOp, table: ParamTable, ctx: CompileContext) -> Iterator[Violation]:
    """Every row has storage, scale and zero point."""
    for row in table:
        if not row.is_set:
            owners = [value.owner for value in table.members(row) if isinstance(value.owner, Operation)]
            message = f"row {row.row_name!r} has no encoding"
            yield Violation(owners[0] if owners else row, message, is_sentence=True)


def ties_hold(module: ModuleOp, table: ParamTable, ctx: CompileContext) -> Iterator[Violation]:
    """Operations that move or compare codes have equal encodings around them."""
    encoding_of = _encodings(table, ctx)
    for op in quant_ops(module):
        if not encodings_agree(op, encoding_of):
            count = len({encoding_of(value) for value in tied_values(op)} - {None})
            yield Violation(op, f"needs equal encodings, it has {count} different ones")


def requantizes_have_effect(module: ModuleOp, table: ParamTable, ctx: CompileContext) -> Iterator[Violation]:
    """No requantize is between equal encodings without a clamp, or unused."""
    for op in quant_ops(module):
        if not isinstance(op, quant.RequantizeOp):
            continue
        encoding = table.encoding(op.operands[0])
        clamps = "activation" in op.properties or "lo" in op.properties
        if encoding is not None and encoding == table.encoding(op.results[0]) and not clamps:
            yield Violation(op, "changes nothing")
        if not op.results[0].uses:
            yield Violation(op, "is not used")


# --- materialized ------------------------------------------------------------------------------------------------


def no_rows_left(module: ModuleOp, table: ParamTable, ctx: CompileContext) -> Iterator[Violation]:
    """Types are final: they hold their encoding, or name a row with scales of channels, and no other row is left."""
    for row in table:
        if row.channel_scales is None:
            yield Violation(row, f"row {row.row_name!r} is left", is_sentence=True)
    for op in quant_ops(module):
        for result in op.results:
            element = quantized_element(result)
            if element is not None and element.bits is None:
                yield Violation(op, f"has a result that still names row {element.row_name!r}")


def properties_are_integers(module: ModuleOp, table: ParamTable, ctx: CompileContext) -> Iterator[Violation]:
    """No property is a float or a blob of floats."""
    for op in quant_ops(module):
        for name, value in op.properties.items():
            if _holds_float(value):
                yield Violation(op, f"has the float property {name}")


def constants_are_valid(module: ModuleOp, table: ParamTable, ctx: CompileContext) -> Iterator[Violation]:
    """Every constant of the integer operation is present, of the right type and shape, and its bounds are proved."""
    from qbc.execute.integer import check_operation

    for op in quant_ops(module):
        try:
            check_operation(op, ctx.store)
        except QBCompilerError as error:
            if error.code == "MISSING_BLOB":
                raise
            yield Violation(op, error.message, is_sentence=True)


def _holds_float(value: Attribute) -> bool:
    if isinstance(value, FloatAttr):
        return True
    if isinstance(value, DenseArrayBase):
        return isinstance(value.elt_type, AnyFloat)
    return isinstance(value, BlobAttr) and isinstance(value.type.element_type, AnyFloat)


def _encodings(table: ParamTable, ctx: CompileContext) -> Callable[[SSAValue], ChannelEncoding | None]:
    return lambda value: channel_encoding(table, ctx.store, value)


def _is_float(value: SSAValue) -> bool:
    return isinstance(value.type, TensorType) and isinstance(value.type.element_type, AnyFloat)


def _is_boundary(op: Operation, value: SSAValue) -> bool:
    if isinstance(op, quant.QuantizeOp):
        return value is op.operands[0]
    return isinstance(op, quant.DequantizeOp) and value is op.results[0]


def _is_index(value: SSAValue) -> bool:
    return isinstance(value.type, TensorType) and value.type.element_type == IntegerType(32)


_STRUCTURE: tuple[Rule, ...] = (
    values_are_quantized,
    rows_stand,
    channels_have_scales,
    indices_are_plain,
    movement_shares_rows,
    no_foreign_operations,
)
RULES: dict[str, tuple[Rule, ...]] = {
    "created": (*_STRUCTURE, weights_are_float),
    "ranged": (*_STRUCTURE, weights_are_float, rows_are_set, ties_hold, requantizes_have_effect),
    "materialized": (
        *_STRUCTURE,
        no_rows_left,
        ties_hold,
        requantizes_have_effect,
        properties_are_integers,
        constants_are_valid,
    ),
}
