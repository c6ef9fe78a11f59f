"""`quant-fold-affine`: multiplications and additions of one number move into the table lookup before them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from xdsl.dialects.builtin import FloatAttr, ModuleOp, f64
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation, SSAValue
from xdsl.rewriter import Rewriter

from qbc.dialects import quant
from qbc.dialects.quant import ParamTable
from qbc.dialects.quant.base import number, shape_of, text
from qbc.passes.base import CompileContext, ModulePass, array_of, fuse_locations, single_user

_AFFINE = (quant.AddOp, quant.SubOp, quant.MulOp)


@dataclass(frozen=True)
class QuantFoldAffine(ModulePass):
    """A table holds `gain * f(x) + offset` as easily as `f(x)`: one rounding instead of two or three.

    A lookup whose only reader multiplies by a constant number, or adds or subtracts one, takes that into its `gain` and
    `offset`, again and again. Functions that 16-bit inputs read through mantissa tables (log, sqrt, rsqrt, reciprocal)
    are left alone, and so is an operation with a fused activation.

    ```mlir
    %1 = quant.lut %0 {function = "hard_swish"} : ...
    %2 = quant.mul %1, %half : ...                        // a constant 0.5
    %3 = quant.add %2, %two : ...                         // a constant 2.0
    // becomes
    %3 = quant.lut %0 {function = "hard_swish", gain = 0.5, offset = 2.0} : ...
    ```
    """

    name: ClassVar[str] = "quant-fold-affine"
    needs: ClassVar[tuple[str, ...]] = ("quant.created",)

    def run(self, op: ModuleOp, ctx: CompileContext) -> None:
        table = ParamTable(op)
        for function in (inner for inner in op.body.block.ops if isinstance(inner, FuncOp)):
            for lookup in [inner for inner in function.body.block.ops if isinstance(inner, quant.LutOp)]:
                while _fold_reader(lookup, table, ctx):
                    ctx.count("folded")
            for constant in [inner for inner in function.body.block.ops if isinstance(inner, quant.ConstantOp)]:
                if not constant.results[0].uses:
                    Rewriter.erase_op(constant)
        ParamTable(op).drop_unused()


def _fold_reader(lookup: quant.LutOp, table: ParamTable, ctx: CompileContext) -> bool:
    """Fold the only reader of a lookup into it; return whether it could be folded."""
    result = lookup.results[0]
    reader = single_user(result)
    if text(lookup, "function") in quant.MANTISSA_FUNCTIONS or not isinstance(reader, _AFFINE):
        return False
    if "activation" in reader.properties or shape_of(reader.results[0]) != shape_of(result):
        return False
    constant = _number_beside(reader, result, ctx)
    row = table.row_of(reader.results[0])
    if constant is None or row is None:
        return False
    gain, offset = number(lookup, "gain", 1.0), number(lookup, "offset", 0.0)
    if isinstance(reader, quant.MulOp):
        gain, offset = gain * constant, offset * constant
    elif isinstance(reader, quant.AddOp):
        offset += constant
    elif reader.operands[0] is result:
        offset -= constant
    else:
        gain, offset = -gain, constant - offset
    lookup.properties["gain"] = FloatAttr(gain, f64)
    lookup.properties["offset"] = FloatAttr(offset, f64)
    lookup.location = fuse_locations([lookup, reader])
    table.assign(result, row)
    reader.results[0].replace_all_uses_with(result)
    Rewriter.erase_op(reader)
    return True


def _number_beside(reader: Operation, result: SSAValue, ctx: CompileContext) -> float | None:
    """Return the one number that the other operand of a binary operation holds, or None."""
    other = reader.operands[1] if reader.operands[0] is result else reader.operands[0]
    if not isinstance(other.owner, quant.ConstantOp):
        return None
    data = array_of(ctx, other.owner.properties["value"])
    if data.size == 0:
        return None
    first = float(data.reshape(-1)[0])
    return first if bool((data == first).all()) and first == first else None
