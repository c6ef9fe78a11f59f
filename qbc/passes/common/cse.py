"""`cse`: equal operations are computed once."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation
from xdsl.traits import IsTerminator, is_side_effect_free

from qbc.passes.base import CompileContext, ModulePass, fuse_locations


@dataclass(frozen=True)
class CsePass(ModulePass):
    """Replace an op by an earlier one of the same block with equal name, operands, properties and result types.

    ```mlir
    %1 = mblt.relu %0 : tensor<1x8xf32> -> tensor<1x8xf32>
    %2 = mblt.relu %0 : tensor<1x8xf32> -> tensor<1x8xf32>
    %3 = mblt.add %1, %2 : (tensor<1x8xf32>, tensor<1x8xf32>) -> tensor<1x8xf32>
    ```
    becomes
    ```mlir
    %1 = mblt.relu %0 : tensor<1x8xf32> -> tensor<1x8xf32>
    %3 = mblt.add %1, %1 : (tensor<1x8xf32>, tensor<1x8xf32>) -> tensor<1x8xf32>
    ```
    Only ops without side effects and regions; the op that stays names the source nodes of both.
    """

    name = "cse"

    def run(self, op: ModuleOp, ctx: CompileContext) -> None:
        blocks = [block for inner in op.walk() for region in inner.regions for block in region.blocks]
        for block in blocks:
            ctx.count("erased", _merge_equal(block))


def _merge_equal(block: Block) -> int:
    seen: dict[Hashable, Operation] = {}
    merged: dict[Operation, list[Operation]] = {}
    for op in list(block.ops):
        if op.regions or not op.results or op.has_trait(IsTerminator) or not is_side_effect_free(op):
            continue
        key = (
            op.name,
            op.operands,
            tuple(sorted(op.properties.items())),
            tuple(sorted(op.attributes.items())),
            tuple(result.type for result in op.results),
        )
        first = seen.setdefault(key, op)
        if first is op:
            continue
        merged.setdefault(first, [first]).append(op)
        for old, new in zip(op.results, first.results, strict=True):
            old.replace_all_uses_with(new)
        block.erase_op(op)
    for first, equal in merged.items():
        first.location = fuse_locations(equal)
    return sum(len(equal) - 1 for equal in merged.values())
