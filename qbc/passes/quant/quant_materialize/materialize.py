"""The pass that makes integers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from xdsl.dialects.builtin import ModuleOp, TensorType
from xdsl.ir import Operation, SSAValue

from qbc.dialects.blob import read_blob
from qbc.dialects.quant import ParamTable, QType, QuantOp, quantized_values
from qbc.errors import QBCompilerError
from qbc.passes.base import CompileContext, ModulePass, located, pass_error, source_names
from qbc.passes.quant.channel_layout import channel_encoding, encodings_agree
from qbc.passes.quant.legality import quant_ops
from qbc.passes.quant.quant_materialize import elementwise, normalization, pooling, shape, weighted
from qbc.passes.quant.quant_materialize.workspace import ChannelsEncoding, Encoding, Properties, Rule, Workspace

if TYPE_CHECKING:
    from qbc.store import BlobStore

RULES: dict[type[Operation], Rule] = {
    **weighted.RULES,
    **elementwise.RULES,
    **normalization.RULES,
    **pooling.RULES,
    **shape.RULES,
}


@dataclass(frozen=True)
class QuantMaterialize(ModulePass):
    """Turn encodings into integers: weight codes, B, multipliers and shifts, tables; types hold their encodings.

    All constants come from exact rationals of the stored float32 scales; every accumulator bound is proved, and a
    channel that does not fit is an error that names it. Rows with scales of channels stay, and types name them
    (`!quant.q<i8, "r7">`). After this pass nothing but the scales of graph inputs and
    outputs is float, and properties are those of the integer operation.

    ```mlir
    quant.params "r0" {storage = i8, scale = 0.5 : f32, zero_point = 0}
    quant.params "r1" {storage = i8, scale = 0.25 : f32, zero_point = -128}
    %1 = quant.lut %0 {function = "sigmoid"} : tensor<4x!quant.q<"r0">> -> tensor<4x!quant.q<"r1">>
    ```
    becomes
    ```mlir
    %1 = quant.lut %0 {table = #blob.ref<"..." : tensor<256xi8>>}
        : tensor<4x!quant.q<i8, 0.5 : 0>> -> tensor<4x!quant.q<i8, 0.25 : -128>>
    ```
    """

    name = "quant-materialize"
    needs = ("quant.created",)  # values without an encoding are listed by name
    produces = ("quant.materialized",)

    def run(self, op: ModuleOp, ctx: CompileContext) -> None:
        table = ParamTable(op)
        encodings = read_encodings(op, table)
        workspace = Workspace(ctx, encodings, read_channel_scales(op, table, ctx.store))
        ops = quant_ops(op)
        for inner in ops:
            _check_ties(inner, table, ctx.store)
        results = [(inner, _materialize(workspace, inner)) for inner in ops]
        workspace.report_raised()
        for inner, (kind, properties) in results:
            _apply(workspace, inner, kind, properties)
        for row in list(table):
            if row.channel_scales is None or not table.members(row):
                op.body.block.erase_op(row)


def read_encodings(module: ModuleOp, table: ParamTable) -> dict[SSAValue, Encoding]:
    """Return the encoding of every quantized value that has one scale; raises one error that lists unset values."""
    encodings: dict[SSAValue, Encoding] = {}
    missing: list[str] = []
    places: list[object] = []
    node: str | None = None
    for value in quantized_values(module):
        row, encoding = table.row_of(value), table.encoding(value)
        if row is not None and row.channel_scales is not None:
            continue
        if encoding is None:
            owner = value.owner
            names = source_names(owner) if isinstance(owner, Operation) else ()
            missing.append(", ".join(names) or f"a result of {getattr(owner, 'name', 'a block')}")
            places.append(owner)
            node = node or (names[0] if names else None)
            continue
        encodings[value] = Encoding(*encoding)
    if missing:
        listed = "; ".join(dict.fromkeys(missing))
        error = QBCompilerError(
            f"{len(missing)} values have no encoding yet: {listed}",
            code="QUANTIZATION_ERROR",
            node=node,
            hint="Run quant-collect and quant-assign-ranges before quant-materialize.",
        )
        raise located(error, places[0])
    return encodings


def read_channel_scales(module: ModuleOp, table: ParamTable, store: BlobStore) -> dict[SSAValue, ChannelsEncoding]:
    """Return the encoding of every value whose channels have scales of their own."""
    import numpy as np

    found: dict[SSAValue, ChannelsEncoding] = {}
    for row in table:
        if row.channel_scales is None or row.bits is None:
            continue
        scales = read_blob(store, row.channel_scales).astype(np.float32)
        if not (np.isfinite(scales) & (scales > 0)).all():
            message = f"row {row.row_name!r} has a scale that is not positive and finite"
            raise located(
                QBCompilerError(message, code="QUANTIZATION_ERROR", hint="run quant-output-scales again"), row
            )
        encoding = ChannelsEncoding(row.bits, scales, row.channel_zero_point, row.row_name)
        found.update(dict.fromkeys(table.members(row), encoding))
    return found


def _check_ties(op: QuantOp, table: ParamTable, store: BlobStore) -> None:
    if not encodings_agree(op, lambda value: channel_encoding(table, store, value)):
        raise pass_error(
            op,
            "moves codes between values with different encodings",
            code="QUANTIZATION_ERROR",
            hint="Run quant-insert-requant before quant-materialize.",
        )


def _materialize(workspace: Workspace, op: QuantOp) -> tuple[type[QuantOp], Properties]:
    rule = RULES.get(type(op))
    if rule is None:
        raise pass_error(op, "is materialized already", hint="Run quant-materialize once.")
    try:
        result = rule(workspace, op)
    except QBCompilerError as error:
        if error.node is not None:
            raise
        told = QBCompilerError(f"'{op.name}' op: {error.message}", code=error.code, hint=error.hint)
        raise located(told, op) from error
    return result.kind or type(op), dict(result.properties)


def _apply(workspace: Workspace, op: QuantOp, kind: type[QuantOp], properties: Properties) -> None:
    """Replace an operation by its integer form with inline encodings."""
    result = op.results[0]
    kept_type = result.type
    element = _final_element(workspace, result)
    if element is not None:
        assert isinstance(kept_type, TensorType)
        kept_type = TensorType(element, kept_type.get_shape())
    new = kind.create(
        operands=list(op.operands),
        result_types=[kept_type],
        properties=properties,
        attributes=dict(op.attributes),
        location=op.location,
    )
    new.results[0].name_hint = result.name_hint
    block = op.parent_block()
    assert block is not None
    block.insert_op_before(new, op)
    result.replace_all_uses_with(new.results[0])
    block.erase_op(op)


def _final_element(workspace: Workspace, value: SSAValue) -> QType | None:
    channels, encoding = workspace.channels.get(value), workspace.encodings.get(value)
    if channels is not None:
        return QType.of_channels(channels.storage, channels.row)
    return None if encoding is None else QType.inline(encoding.storage, encoding.scale, encoding.zero_point)


__all__ = ["QuantMaterialize", "read_encodings"]
