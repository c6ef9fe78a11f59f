"""The pass that makes integers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import ModuleOp, TensorType
from xdsl.ir import Operation, SSAValue

from qbc.dialects.quant import ParamTable, QType, QuantOp, quantized_values
from qbc.errors import QBCompilerError
from qbc.passes.base import CompileContext, ModulePass, pass_error, source_names
from qbc.passes.quant.legality import quant_ops, tied_values
from qbc.passes.quant.quant_materialize import elementwise, normalization, pooling, shape, weighted
from qbc.passes.quant.quant_materialize.workspace import Encoding, Properties, Rule, Workspace

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
    channel that does not fit is an error that names it. After this pass nothing but the scales of graph inputs and
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
        workspace = Workspace(ctx, read_encodings(op, table))
        ops = quant_ops(op)
        for inner in ops:
            _check_ties(workspace, inner)
        results = [(inner, _materialize(workspace, inner)) for inner in ops]
        workspace.report_raised()
        for inner, (kind, properties) in results:
            _apply(workspace, inner, kind, properties)
        for row in list(table):
            op.body.block.erase_op(row)


def read_encodings(module: ModuleOp, table: ParamTable) -> dict[SSAValue, Encoding]:
    """Return the encoding of every quantized value; raises one error that lists the values without one."""
    encodings: dict[SSAValue, Encoding] = {}
    missing: list[str] = []
    node: str | None = None
    for value in quantized_values(module):
        encoding = table.encoding(value)
        if encoding is None:
            owner = value.owner
            names = source_names(owner) if isinstance(owner, Operation) else ()
            missing.append(", ".join(names) or f"a result of {getattr(owner, 'name', 'a block')}")
            node = node or (names[0] if names else None)
            continue
        encodings[value] = Encoding(*encoding)
    if missing:
        listed = "; ".join(dict.fromkeys(missing))
        raise QBCompilerError(
            f"{len(missing)} values have no encoding yet: {listed}",
            code="QUANTIZATION_ERROR",
            node=node,
            hint="Run quant-collect and quant-assign-ranges before quant-materialize.",
        )
    return encodings


def _check_ties(workspace: Workspace, op: QuantOp) -> None:
    tied: Sequence[SSAValue] = tied_values(op)
    if len({workspace.encoding(value) for value in tied}) > 1:
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
        names = ", ".join(source_names(op)) or None
        raise QBCompilerError(
            f"'{op.name}' op: {error.message}", code=error.code, node=names, hint=error.hint
        ) from error
    return result.kind or type(op), dict(result.properties)


def _apply(workspace: Workspace, op: QuantOp, kind: type[QuantOp], properties: Properties) -> None:
    """Replace an operation by its integer form with inline encodings."""
    result = op.results[0]
    kept_type = result.type
    encoding = workspace.encodings.get(result)
    if encoding is not None:
        assert isinstance(kept_type, TensorType)
        inline = QType.inline(encoding.storage, encoding.scale, encoding.zero_point)
        kept_type = TensorType(inline, kept_type.get_shape())
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


__all__ = ["QuantMaterialize", "read_encodings"]
