"""`quant-canonicalize`: rescales that are not needed, clamps that their producer can do, dead operations and rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from qbc.dialects import quant
from qbc.dialects.quant import ParamTable
from qbc.passes.base import CompileContext, ModulePass, erase_dead_ops, fuse_locations, single_user
from qbc.passes.quant.legality import CLAMPING, tied_values

_CLAMPS = ("activation", "activation_min", "activation_max")


@dataclass(frozen=True)
class QuantCanonicalize(ModulePass):
    """Clean up after the last pass that changes an encoding; nothing changes integers later.

    - A requantize between equal encodings without a clamp disappears.
    - A requantize of a requantize reads the first one's source (the first has no clamp).
    - A requantize that is the only user of a rescaling producer moves into it, with its clamp.
    - Operations whose results are unused and rows that no value names are erased.

    ```mlir
    %1 = quant.conv2d %0 {...} : ... -> tensor<..!quant.q<"r1">>
    %2 = quant.requantize %1 {activation = "relu"} : tensor<..!quant.q<"r1">> -> tensor<..!quant.q<"r2">>
    ```
    becomes
    ```mlir
    %1 = quant.conv2d %0 {..., activation = "relu"} : ... -> tensor<..!quant.q<"r2">>
    ```
    """

    name: ClassVar[str] = "quant-canonicalize"
    needs: ClassVar[tuple[str, ...]] = ("quant.ranged",)

    def run(self, op: ModuleOp, ctx: CompileContext) -> None:
        table = ParamTable(op)
        for requantize in [inner for inner in op.walk() if isinstance(inner, quant.RequantizeOp)]:
            _skip_chain(requantize)
            if _is_identity(requantize, table):
                _replace(requantize)
                ctx.count("identities")
            elif _absorb(requantize, table):
                ctx.count("absorbed")
        erased = erase_dead_ops(op, is_removable=lambda inner: isinstance(inner, quant.QuantOp))
        ctx.count("dead", erased)
        ParamTable(op).drop_unused()


def _has_clamp(op: Operation) -> bool:
    return "activation" in op.properties


def _skip_chain(op: quant.RequantizeOp) -> None:
    source = op.operands[0].owner
    while isinstance(source, quant.RequantizeOp) and not _has_clamp(source):
        op.operands[0] = source.operands[0]
        source = op.operands[0].owner


def _is_identity(op: quant.RequantizeOp, table: ParamTable) -> bool:
    before, after = table.encoding(op.operands[0]), table.encoding(op.results[0])
    return before is not None and before == after and not _has_clamp(op)


def _replace(op: Operation) -> None:
    op.results[0].replace_all_uses_with(op.operands[0])
    block = op.parent_block()
    assert block is not None
    block.erase_op(op)


def _absorb(op: quant.RequantizeOp, table: ParamTable) -> bool:
    """Let the producer emit the encoding and clamp of `op`; return whether it did."""
    value = op.operands[0]
    producer = value.owner
    if not isinstance(producer, quant.QuantOp) or single_user(value) is not op or tied_values(producer):
        return False
    row, own = table.row_of(op.results[0]), table.row_of(value)
    if row is None or own is None or own.is_fixed:
        return False
    if _has_clamp(op):
        if not isinstance(producer, CLAMPING) or _has_clamp(producer):
            return False
        producer.properties.update({name: op.properties[name] for name in _CLAMPS if name in op.properties})
    elif isinstance(producer, quant.ConstantOp):
        return False
    table.assign(value, row)
    producer.location = fuse_locations([producer, op])
    _replace(op)
    return True
