"""`canonicalize`: every op takes its simplest form."""

from __future__ import annotations

import importlib
import importlib.util
from dataclasses import dataclass

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.pattern_rewriter import RewritePattern
from xdsl.traits import HasCanonicalizationPatternsTrait, is_side_effect_free

from qbc.passes.base import CompileContext, ModulePass, erase_dead_ops, rewrite

PATTERN_PACKAGE = "qbc.passes.canonicalization"


@dataclass(frozen=True)
class CanonicalizePass(ModulePass):
    """Apply the canonicalization patterns of all dialects in the module until nothing changes, and erase dead ops.

    ```mlir
    %1 = mblt.transpose %0 {permutation = [0, 2, 1]} : tensor<1x2x3xf32> -> tensor<1x3x2xf32>
    %2 = mblt.transpose %1 {permutation = [0, 2, 1]} : tensor<1x3x2xf32> -> tensor<1x2x3xf32>
    %3 = mblt.relu %2 : tensor<1x2x3xf32> -> tensor<1x2x3xf32>
    ```
    becomes
    ```mlir
    %3 = mblt.relu %0 : tensor<1x2x3xf32> -> tensor<1x2x3xf32>
    ```
    Ops of other packages bring patterns through xDSL's canonicalization trait.
    """

    name = "canonicalize"

    def run(self, op: ModuleOp, ctx: CompileContext) -> None:
        patterns = _patterns(op, ctx)
        if patterns:
            rewrite(op, patterns)
        ctx.count("erased", erase_dead_ops(op, is_removable=_is_removable))


def _patterns(module: ModuleOp, ctx: CompileContext) -> list[RewritePattern]:
    classes = dict.fromkeys(type(op) for op in module.walk())
    dialects = dict.fromkeys(cls.name.partition(".")[0] for cls in classes)
    patterns: list[RewritePattern] = []
    for dialect in dialects:
        if importlib.util.find_spec(f"{PATTERN_PACKAGE}.{dialect}") is not None:
            patterns += importlib.import_module(f"{PATTERN_PACKAGE}.{dialect}").patterns(ctx)
    for cls in classes:
        for trait in cls.get_traits_of_type(HasCanonicalizationPatternsTrait):  # type: ignore[type-abstract]  # looked up, never made
            patterns += trait.get_patterns(cls)
    return patterns


def _is_removable(op: Operation) -> bool:
    return is_side_effect_free(op)
