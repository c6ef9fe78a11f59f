"""`quant-insert-requant`: explicit rescales where an operation needs equal encodings and has different ones."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from xdsl.dialects.builtin import ModuleOp, TensorType
from xdsl.ir import Block, Operation, SSAValue

from qbc.dialects import quant
from qbc.dialects.quant import ParamsOp, ParamTable, QType
from qbc.passes.base import CompileContext, ModulePass, source_names
from qbc.passes.quant.legality import is_movement, quant_ops, tied_values


@dataclass(frozen=True)
class QuantInsertRequant(ModulePass):
    """Make every operation legal that moves or compares codes: its operands get the encoding of its result.

    - A producer that rescales anyway takes the wanted encoding itself when all its users want the same one.
    - Otherwise one `quant.requantize` for each (value, encoding) stands right after the producer, shared by the users.

    ```mlir
    %2 = quant.concat %0, %1 {axis = 3} : (tensor<..!quant.q<"r0">>, tensor<..!quant.q<"r1">>) -> tensor<..!quant.q<"r2">>
    ```
    becomes, where `%0` has other users,
    ```mlir
    %r = quant.requantize %0 : tensor<..!quant.q<"r0">> -> tensor<..!quant.q<"r2">>
    %2 = quant.concat %r, %1 {axis = 3} : (tensor<..!quant.q<"r2">>, tensor<..!quant.q<"r2">>) -> tensor<..!quant.q<"r2">>
    ```
    """  # noqa: E501

    name: ClassVar[str] = "quant-insert-requant"
    needs: ClassVar[tuple[str, ...]] = ("quant.ranged",)

    def run(self, op: ModuleOp, ctx: CompileContext) -> None:
        table = ParamTable(op)
        shared: dict[tuple[SSAValue, str], SSAValue] = {}
        for inner in quant_ops(op):
            for index, value, row in _mismatches(inner, table):
                if _absorb(value, row, table):
                    ctx.count("absorbed")
                    continue
                key = (value, row.row_name)
                if key not in shared:
                    shared[key] = _insert(value, row, table)
                    ctx.count("inserted")
                inner.operands[index] = shared[key]
        report = [", ".join(source_names(value.owner)) for value, _ in shared if isinstance(value.owner, Operation)]
        ctx.report["requantized"] = report
        table.drop_unused()


def _mismatches(op: Operation, table: ParamTable) -> Iterator[tuple[int, SSAValue, ParamsOp]]:
    """Yield (operand index, operand, wanted row) of operands whose encoding differs from that of the result."""
    tied = tied_values(op)
    row = table.row_of(op.results[0]) if tied else None
    if row is None:
        return
    for index, value in enumerate(op.operands):
        own = table.row_of(value)
        if own is None or own is row or value not in tied:
            continue
        if own.encoding is None or own.encoding != row.encoding:
            yield index, value, row


def _absorb(value: SSAValue, row: ParamsOp, table: ParamTable) -> bool:
    """Let the producer of `value` target `row` when it rescales anyway, nothing else shares its row, and all users
    want `row`; return whether it did."""
    own = table.row_of(value)
    owner = value.owner
    if own is None or own.is_fixed or not isinstance(owner, quant.QuantOp):
        return False
    if tied_values(owner) or is_movement(owner) or list(table.members(own)) != [value]:
        return False
    if not all(_wants(use.operation, value, row, table) for use in value.uses):
        return False
    table.assign(value, row)
    return True


def _wants(user: Operation, value: SSAValue, row: ParamsOp, table: ParamTable) -> bool:
    return value in tied_values(user) and table.row_of(user.results[0]) is row


def _insert(value: SSAValue, row: ParamsOp, table: ParamTable) -> SSAValue:
    """Add a requantize of `value` to `row` after its definition and return the result."""
    assert isinstance(value.type, TensorType)
    owner = value.owner
    location = owner.location if isinstance(owner, Operation) else None
    kind = TensorType(QType.of_row(row.row_name), value.type.get_shape())
    op = quant.RequantizeOp.make([value], kind, {}, location)
    block = owner.parent_block() if isinstance(owner, Operation) else owner
    assert isinstance(block, Block)
    if isinstance(owner, Operation):
        block.insert_op_after(op, owner)
    elif block.first_op is not None:
        block.insert_op_before(op, block.first_op)
    table.assign(op.results[0], row)
    return op.results[0]
