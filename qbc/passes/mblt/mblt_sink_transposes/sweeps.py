"""Sweeps over a block that move transposes: down past their users, or up past the ops that make their operands."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import TYPE_CHECKING

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Block, Operation, SSAValue

from qbc.dialects.common.shapes import DYNAMIC
from qbc.dialects.mblt import ConstantOp, MatmulOp, MbltOp, ReshapeOp, TransposeOp, shape_of
from qbc.passes.mblt.mblt_sink_transposes.permutations import (
    Axes,
    compose,
    invert,
    is_identity,
    is_reshape,
    moves_units_only,
    permuted,
)
from qbc.passes.mblt.mblt_sink_transposes.rebuild import build, data_operands, plan, plan_back
from qbc.passes.mblt.mblt_sink_transposes.weights import fold_into_linear_after, fold_into_linear_before

if TYPE_CHECKING:
    from qbc.passes.base import CompileContext


class Sweeper:
    """Moves transposes in one block. `eager` also moves where that adds a transpose on another operand."""

    def __init__(self, block: Block, ctx: CompileContext, *, eager: bool) -> None:
        self.block = block
        self.ctx = ctx
        self.eager = eager
        self._made: dict[tuple[SSAValue, Axes], TransposeOp] = {}
        for op in list(block.ops):
            if isinstance(op, TransposeOp):
                self._register(op)

    def _register(self, op: TransposeOp) -> None:
        """Put a transpose right behind the definition of its operand, or drop it when an equal one stands there."""
        value, permutation = op.operands[0], op.ints("permutation")
        known = self._made.get((value, permutation))
        if known is not None:
            self._replace(op, known.results[0])
            return
        self.block.detach_op(op)
        self._insert_behind(op, value)
        self._made[value, permutation] = op

    def _insert_behind(self, op: Operation, value: SSAValue) -> None:
        first = self.block.first_op
        if isinstance(value.owner, Operation):
            self.block.insert_op_after(op, value.owner)
        elif first is None:
            self.block.add_op(op)
        else:
            self.block.insert_op_before(op, first)

    # --- down ------------------------------------------------------------------------------------------------

    def sink(self) -> None:
        """Move transposes below their users, merge and cancel them; one pass from the top is a fixpoint."""
        op = self.block.first_op
        while op is not None:
            following = op.next_op
            if isinstance(op, TransposeOp):
                self._merge(op)
            elif isinstance(op, ReshapeOp):
                merged = self._merge_reshapes(op)
                if merged is not None:
                    self._sink_below(merged)
            elif isinstance(op, MatmulOp):
                self._absorb_swap(op)
            elif isinstance(op, MbltOp):
                self._sink_below(op)
            op = following
        self._erase_dead()

    def _merge(self, op: TransposeOp) -> None:
        """Merge a transpose with the one before it; drop the identity."""
        permutation, source = op.ints("permutation"), op.operands[0]
        if isinstance(source.owner, TransposeOp):
            permutation = compose(source.owner.ints("permutation"), permutation)
            source = source.owner.operands[0]
        elif not is_identity(permutation):
            return
        self._replace(op, self._transposed(source, permutation))

    def _merge_reshapes(self, op: ReshapeOp) -> ReshapeOp | None:
        """Merge a reshape with the one before it and drop the identity; return what is left."""
        source = op.operands[0]
        if isinstance(source.owner, ReshapeOp):
            source = source.owner.operands[0]
        if source.type == op.results[0].type:
            self._replace(op, source)
            return None
        if source is op.operands[0]:
            return op
        merged = ReshapeOp.of(source, result_type=op.results[0].type, location=op.location)
        self.block.insert_op_before(merged, op)
        self._replace(op, merged.results[0])
        return merged

    def finish(self) -> None:
        """Write transposes that only move axes of size 1 as reshapes, and merge reshapes."""
        for op in list(self.block.ops):
            if isinstance(op, TransposeOp) and is_reshape(shape_of(op.operands[0]), op.ints("permutation")):
                made = ReshapeOp.of(op.operands[0], result_type=op.results[0].type, location=op.location)
                self.block.insert_op_before(made, op)
                self._replace(op, made.results[0])
                self._merge_reshapes(made)
            elif isinstance(op, ReshapeOp):
                self._merge_reshapes(op)
        self._erase_dead()

    def _absorb_swap(self, op: MatmulOp) -> None:
        """`matmul(a, transpose(b))` with the last axis of b before the last -> `transpose_b` the other way round."""
        owner = op.operands[1].owner
        if isinstance(owner, TransposeOp) and owner.ints("permutation")[-2] == len(owner.ints("permutation")) - 1:
            *leading, first, second = owner.ints("permutation")
            swapped = MatmulOp.of(
                op.operands[0],
                self._transposed(owner.operands[0], (*leading, second, first)),
                transpose_b=not op.value_of("transpose_b"),
                location=op.location,
            )
            self.block.insert_op_before(swapped, op)
            self._replace(op, swapped.results[0])
            op = swapped
        self._sink_below(op)

    def _sink_below(self, op: MbltOp) -> None:
        operands = data_operands(op)
        found = [value.owner for value in operands if isinstance(value.owner, TransposeOp)]
        if not found:
            return
        # The largest transposed operand decides; the others follow it.
        lead = max(found, key=lambda owner: _volume(shape_of(owner.results[0])))
        permutation = lead.ints("permutation")
        made = plan(op, permutation)
        if made is None:
            if isinstance(op, ReshapeOp):
                fold_into_linear_after(op, lead, self.ctx, self._replace)
            return
        inverse = invert(permutation)
        if not all(self._is_free(value, inverse) for value in operands) and not self.eager:
            return
        moved = build(op, made, [self._transposed(value, inverse) for value in operands])
        self.block.insert_op_before(moved, op)
        self._replace(op, self._transposed(moved.results[0], made.permutation))

    # --- up --------------------------------------------------------------------------------------------------

    def hoist(self) -> None:
        """Move transposes above the ops that make their operands, where every use of the result is that transpose."""
        op = self.block.last_op
        while op is not None:
            if isinstance(op, MbltOp) and not isinstance(op, TransposeOp | ConstantOp):
                op = self._hoist_above(op)
            op = op.prev_op
        self._erase_dead()

    def _hoist_above(self, op: MbltOp) -> Operation:
        """Return the op where the sweep goes on."""
        users = [use.operation for use in op.results[0].uses]
        found = {user.ints("permutation") if isinstance(user, TransposeOp) else None for user in users}
        if len(found) != 1 or None in found:
            return op
        permutation = next(entry for entry in found if entry is not None)
        planned = plan_back(op, permutation)
        if planned is None:
            fold_into_linear_before(op, users, self.ctx, self._replace)
            return op
        operand_permutation, made = planned
        operands = data_operands(op)
        bound = [value for value in operands if not self._is_free(value, operand_permutation)]
        if len(set(bound)) > 1 and not self.eager:
            return op
        moved = build(op, made, [self._transposed(value, operand_permutation) for value in operands])
        self.block.insert_op_before(moved, op)
        for user in users:
            self._replace(user, moved.results[0])
        self.block.erase_op(op)
        return moved

    # --- shared ----------------------------------------------------------------------------------------------

    def _is_free(self, value: SSAValue, permutation: Axes) -> bool:
        """Return whether `value` transposed by `permutation` needs no transpose."""
        owner = value.owner
        if isinstance(owner, ConstantOp) or moves_units_only(shape_of(value), permutation):
            return True
        if not isinstance(owner, TransposeOp):
            return False
        merged = compose(owner.ints("permutation"), permutation)
        return moves_units_only(shape_of(owner.operands[0]), merged)

    def _transposed(self, value: SSAValue, permutation: Axes) -> SSAValue:
        """Return `value` transposed: itself, a transposed constant, or a transpose behind its definition."""
        while not is_identity(permutation) and isinstance(owner := value.owner, TransposeOp):
            value, permutation = owner.operands[0], compose(owner.ints("permutation"), permutation)
        if is_identity(permutation):
            return value
        owner = value.owner
        if isinstance(owner, ConstantOp):
            made = permuted_constant(owner, permutation, self.ctx)
            self._insert_behind(made, value)
            return made.results[0]
        return self._transpose(value, permutation)

    def _transpose(self, value: SSAValue, permutation: Axes) -> SSAValue:
        known = self._made.get((value, permutation))
        if known is not None and known.parent is not None:
            return known.results[0]
        location = value.owner.location if isinstance(value.owner, Operation) else None
        op = TransposeOp.of(value, permutation=permutation, location=location)
        self._insert_behind(op, value)
        self._made[value, permutation] = op
        return op.results[0]

    def _replace(self, op: Operation, value: SSAValue) -> None:
        if op.results[0] is value:
            return
        op.results[0].replace_all_uses_with(value)
        self.block.erase_op(op)

    def _erase_dead(self) -> None:
        for op in reversed(list(self.block.ops)):
            if isinstance(op, MbltOp) and not op.results[0].uses:
                self.block.erase_op(op)


def _volume(shape: Sequence[int]) -> int:
    return prod(1 if size == DYNAMIC else size for size in shape)


def permuted_constant(op: ConstantOp, permutation: Axes, ctx: CompileContext) -> ConstantOp:
    """Return a constant with transposed data; where only axes of size 1 move the bytes are shared."""
    from qbc.dialects.blob import BlobRefAttr
    from qbc.dialects.framework import read_tensor, tensor_attr
    from qbc.errors import QBCompilerError

    value = op.properties["value"]
    shape = shape_of(op.results[0])
    if isinstance(value, BlobRefAttr) and moves_units_only(shape, permutation):
        reshaped = TensorType(value.type.element_type, list(permuted(shape, permutation)))
        return ConstantOp.of_value(BlobRefAttr(value.key, reshaped), op.location)
    data = read_tensor(ctx.store, value)
    if data is None:
        raise QBCompilerError(f"constant of type {op.results[0].type} cannot be read", code="VERIFY_ERROR")
    return ConstantOp.of_value(tensor_attr(ctx.store, data.transpose(permutation)), op.location)
