"""`quant-verify`: the rules of the three levels of a quantized module."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from xdsl.dialects.builtin import ModuleOp

from qbc.dialects.quant import level
from qbc.passes.base import CompileContext, ModulePass, VerificationError, check_choice
from qbc.passes.quant.level_rules import LEVELS, violations


@dataclass(frozen=True)
class QuantVerify(ModulePass):
    """Check a quantized module against a level and list all violations in one error.

    - `created`: every float value inside the graph names a row that exists, integer values have no encoding, values
      that move unchanged share a row, weights are float, no row is unused.
    - `ranged`: also every row is set with legal bits, operations that need equal encodings have them, and no
      requantize is without effect.
    - `materialized`: no row is left, weights and biases are integers, every constant of every operation is present
      with the right type and its overflow proof holds, and nothing is float but the scales of graph inputs and outputs.

    `level` is one of these, or `auto`: the level the module looks like.
    """

    name: ClassVar[str] = "quant-verify"
    needs: ClassVar[tuple[str, ...]] = ("quant",)

    level: str = "materialized"

    def __post_init__(self) -> None:
        check_choice("level", self.level, (*LEVELS, "auto"))

    def run(self, op: ModuleOp, ctx: CompileContext) -> None:
        wanted = level(op) if self.level == "auto" else self.level
        found = violations(op, ctx, wanted)
        if found:
            raise VerificationError(found, subject=f"level {wanted}")
