"""Verification of a module: every operation's own rules, terminators, definitions before uses, the parameter table.

All violations are collected (up to a limit) and reported together, each with the one operation it concerns. The table
is looked at where all operations are well formed.
"""

from __future__ import annotations

from xdsl.dialects.builtin import UnregisteredOp
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.traits import IsolatedFromAbove, IsTerminator, NoTerminator
from xdsl.utils.exceptions import VerifyException

from qbc.passes.base import VerificationError, Violation
from qbc.passes.parameter_rows import row_violations

MAX_VIOLATIONS = 20

__all__ = ["MAX_VIOLATIONS", "VerificationError", "Violation", "verify_module"]


def verify_module(module: Operation) -> None:
    """Check a module and everything in it; raises VerificationError with all violations."""
    checker = _Checker()
    checker.operation(module, set())
    for op, message in () if checker.violations else row_violations(module):
        checker.add(op, message)
    if checker.violations:
        raise VerificationError(checker.violations)


class _Checker:
    def __init__(self) -> None:
        self.violations: list[Violation] = []

    def add(self, op: Operation, message: str) -> None:
        if len(self.violations) < MAX_VIOLATIONS:
            self.violations.append(Violation(op, message))

    def operation(self, op: Operation, visible: set[SSAValue]) -> None:
        for operand in op.operands:
            if operand not in visible:
                self.add(op, "uses a value before its definition, or one that is not visible here")
        try:
            op.verify_()
        except VerifyException as error:
            self.add(op, _rule(error))
        if op.regions:
            inherited = set() if op.get_traits_of_type(IsolatedFromAbove) else visible
            for region in op.regions:
                self.region(op, region, inherited)
        visible.update(op.results)

    def region(self, parent: Operation, region: Region, visible: set[SSAValue]) -> None:
        blocks = list(region.blocks)
        inside = set(visible)
        if len(blocks) > 1:
            # With control flow between blocks, order inside each block is checked and dominance is not.
            inside.update(value for block in blocks for op in block.ops for value in op.results)
        for block in blocks:
            self.block(parent, block, inside)

    def block(self, parent: Operation, block: Block, visible: set[SSAValue]) -> None:
        visible.update(block.args)
        for op in block.ops:
            self.operation(op, visible)
        last = block.last_op
        if last is None or isinstance(last, UnregisteredOp) or isinstance(parent, UnregisteredOp):
            return
        if not parent.has_trait(NoTerminator) and not last.has_trait(IsTerminator):
            self.add(last, f"ends a block of '{parent.name}' but is not a terminator")


def _rule(error: VerifyException) -> str:
    text = str(error).strip()
    prefix = "Operation does not verify: "
    while text.startswith(prefix):
        text = text[len(prefix) :]
    return text.splitlines()[0] if text else "does not verify"
