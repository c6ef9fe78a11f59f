"""What every pass builds on: the compile context, the pass base classes, and the location-keeping rewrite driver."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

from xdsl.context import Context
from xdsl.dialects.builtin import (
    ArrayAttr,
    FusedLoc,
    LocationAttr,
    ModuleOp,
    NameLoc,
    NoneAttr,
    StringAttr,
    UnknownLoc,
    UnregisteredOp,
)
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation, SSAValue
from xdsl.pattern_rewriter import (
    GreedyRewritePatternApplier,
    PatternRewriter,
    PatternRewriteWalker,
    RewritePattern,
)
from xdsl.rewriter import Rewriter
from xdsl.utils.exceptions import VerifyException

from qbc.dialects.common.graph import location_names
from qbc.errors import QBCompilerError

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from qbc.store import BlobStore


MAX_SHOWN = 20  # violations in one message


class SampleSource(Protocol):
    """Calibration samples: iterated once per data pass, in a fixed order."""

    def __len__(self) -> int: ...

    def __iter__(self) -> Any:
        """Yield dicts: graph input name -> float32/int array in the layout of the mblt function argument."""
        ...


@dataclass
class CompileContext(Context):
    """xDSL context plus what passes share: weight store, calibration samples, target, notices and statistics."""

    store: BlobStore = None  # type: ignore[assignment]  # set by make_context; dataclass order forces a default
    samples: SampleSource | None = None
    kept_statistics: Any = None  # qbc.calibration.StatisticsFile: statistics to take over or to keep, or None
    target: Any = None  # qbc.targets.Target, or None where no target was chosen
    notices: list[str] = field(default_factory=list)
    statistics: dict[str, dict[str, int]] = field(default_factory=dict)
    current_pass: str = ""
    report: dict[str, Any] = field(default_factory=dict)  # tables that passes leave for reports, by name

    def notice(self, message: str) -> None:
        """Record something the user should know (a fallback, a default taken); shown once, in order."""
        if message not in self.notices:
            self.notices.append(message)

    def count(self, what: str, number: int = 1) -> None:
        """Add to a statistic of the running pass, for example `folded`."""
        table = self.statistics.setdefault(self.current_pass, {})
        table[what] = table.get(what, 0) + number


class Pass(ABC):
    """A named rewrite. Subclasses are frozen dataclasses whose fields are the options.

    Option types: int, float, bool, str, tuples of those, and `| None`. File name = pass name with underscores.
    """

    name: ClassVar[str]
    anchor: ClassVar[str]  # operation the pass runs on: builtin.module, func.func or npu.program
    needs: ClassVar[tuple[str, ...]] = ()  # dialects or levels (qbc.passes.levels), one of which must be present
    produces: ClassVar[tuple[str, ...]] = ()
    changes_interface: ClassVar[bool] = False  # whether it is meant to change what a module takes or returns

    @abstractmethod
    def run(self, op: Any, ctx: CompileContext) -> None:
        """Rewrite `op` in place."""


class FunctionPass(Pass):
    """A pass over one `func.func`."""

    anchor = "func.func"

    @abstractmethod
    def run(self, op: FuncOp, ctx: CompileContext) -> None: ...


class ModulePass(Pass):
    """A pass over the `builtin.module`."""

    anchor = "builtin.module"

    @abstractmethod
    def run(self, op: ModuleOp, ctx: CompileContext) -> None: ...


def check_options(low: float, high: float = math.inf, **options: float) -> None:
    """Raise ValueError unless each number is finite and within low..high; for `__post_init__` of passes."""
    for name, value in options.items():
        if not (math.isfinite(value) and low <= value <= high):
            wanted = f"at least {low:g}" if high == math.inf else f"from {low:g} to {high:g}"
            raise ValueError(f"{name.replace('_', '-')} is {value}, it must be {wanted}")


def check_choice(option: str, value: object, choices: Iterable[object]) -> None:
    """Raise ValueError unless the value of an option is one of `choices`; for `__post_init__` of passes."""
    known = list(choices)
    if value not in known:
        wanted = ", ".join(map(str, known))
        raise ValueError(f"{option} is {value!r}, it must be {'one of ' if len(known) > 1 else ''}{wanted}")


# --- locations -------------------------------------------------------------------------------------------------


@lru_cache(maxsize=1 << 16)  # long lists of names are made again at every fusion
def name_loc(name: str) -> NameLoc:
    """Return the location of a source node."""
    return NameLoc(StringAttr(name), NoneAttr())


def source_names(op: Operation) -> tuple[str, ...]:
    """Return the source node names in the location of `op`, in order, without repeats."""
    return location_names(op.location)


def fuse_locations(ops: Sequence[Operation]) -> LocationAttr:
    """Return one location that names every source node of `ops` (in the given order)."""
    names = list(dict.fromkeys(name for op in ops for name in source_names(op)))
    if not names:
        return UnknownLoc()
    if len(names) == 1:
        return name_loc(names[0])
    return FusedLoc(ArrayAttr([name_loc(name) for name in names]), NoneAttr())


# --- rewriting -------------------------------------------------------------------------------------------------


class _KeepLocations(GreedyRewritePatternApplier):
    """New operations without a location inherit the one of the matched operation (xDSL drops it)."""

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter) -> None:
        location = op.location

        def inherit(new: Operation) -> None:
            if isinstance(new.location, UnknownLoc):
                new.location = location

        rewriter.operation_insertion_handler.append(inherit)
        try:
            super().match_and_rewrite(op, rewriter)
        finally:
            rewriter.operation_insertion_handler.remove(inherit)


def rewrite(
    op: Operation, patterns: Sequence[RewritePattern], *, recursive: bool = True, erase_dead: bool = False
) -> bool:
    """Apply patterns greedily below `op`, keeping locations; return whether anything changed.

    A pattern that merges several operations sets the location of the result to `fuse_locations(...)` itself.
    """
    applier = _KeepLocations(list(patterns), dce_enabled=erase_dead)
    walker = PatternRewriteWalker(applier, apply_recursively=recursive)
    changed = False
    for region in op.regions:
        changed |= walker.rewrite_region(region)
    return changed


def erase_dead_ops(op: Operation, *, is_removable: Callable[[Operation], bool]) -> int:
    """Erase operations below `op` whose results are unused and that `is_removable` allows, last first."""
    erased = 0
    for inner in reversed(list(op.walk())):
        if inner is op or not inner.results or any(result.uses for result in inner.results):
            continue
        if is_removable(inner):
            Rewriter.erase_op(inner)
            erased += 1
    return erased


def single_user(value: SSAValue) -> Operation | None:
    """Return the only operation that uses `value`, or None when it has no or several uses."""
    uses = list(value.uses)
    return uses[0].operation if len(uses) == 1 else None


def pass_error(op: Operation, message: str, *, code: str = "VERIFY_ERROR", hint: str | None = None) -> QBCompilerError:
    """Build a located error about one operation: its source node, the rule, what to do."""
    return located(QBCompilerError(f"'{op.name}' op {message}", code=code, hint=hint), op)


def located(error: QBCompilerError, op: object) -> QBCompilerError:
    """Return the error with the operation it concerns, and its source node where it names none; blocks are no place."""
    if isinstance(op, Operation):
        error.operation = op
        error.node = error.node or ", ".join(source_names(op)) or None
        error.args = (error.describe(),)
    return error


@dataclass(frozen=True)
class Violation:
    """A broken rule: the operation and the text of the rule, which may be a sentence about more than the operation."""

    operation: Operation
    message: str
    is_sentence: bool = False

    def __str__(self) -> str:
        return self.message if self.is_sentence else f"'{_op_name(self.operation)}' op {self.message}"

    @property
    def node(self) -> str | None:
        """The source nodes of the operation."""
        return ", ".join(source_names(self.operation)) or None


class VerificationError(QBCompilerError):
    """IR that breaks rules; `violations` holds all of them, `subject` says what was checked where it is not plain."""

    default_code = "VERIFY_ERROR"

    def __init__(self, violations: Sequence[Violation], *, code: str | None = None, subject: str = "") -> None:
        self.violations = list(violations)
        self.subject = subject
        first = self.violations[0]
        super().__init__(self._text(), code=code, node=first.node)
        self.operation = first.operation

    def _text(self) -> str:
        """Return all violations; several stand on a line each, with their source nodes."""
        prefix = f"{self.subject}: " if self.subject else ""
        if len(self.violations) == 1:
            return f"{prefix}{self.violations[0]}"
        lines = [f"{item} [node {item.node!r}]" if item.node else str(item) for item in self.violations[:MAX_SHOWN]]
        if len(self.violations) > MAX_SHOWN:
            lines.append(f"and {len(self.violations) - MAX_SHOWN} more")
        return "\n  ".join([f"{prefix}{len(self.violations)} violations:", *lines])

    def describe(self) -> str:
        """Return the violations with their source nodes, and the hint."""
        if len(self.violations) == 1:
            return super().describe()
        return self.message + (f" ({self.hint})" if self.hint else "")


def _op_name(op: Operation) -> str:
    return op.op_name.data if isinstance(op, UnregisteredOp) else op.name


def locate_blob(error: QBCompilerError, module: ModuleOp) -> None:
    """Add to an error about a blob the first operation that names it."""
    from qbc.dialects.blob.handles import blob_keys

    for op in module.walk():
        if not op.regions and any(key in error.message for key in blob_keys(op)):
            error.operation = op
            error.node = error.node or ", ".join(source_names(op)) or None
            return


def array_of(ctx: CompileContext, handle: Any) -> npt.NDArray[np.generic]:
    """Return the data behind a blob attribute (read-only)."""
    from qbc.dialects.blob import read_blob

    return read_blob(ctx.store, handle)


__all__ = [
    "CompileContext",
    "FunctionPass",
    "ModulePass",
    "Pass",
    "SampleSource",
    "VerificationError",
    "VerifyException",
    "Violation",
    "array_of",
    "check_choice",
    "check_options",
    "erase_dead_ops",
    "fuse_locations",
    "locate_blob",
    "located",
    "name_loc",
    "pass_error",
    "rewrite",
    "single_user",
    "source_names",
]
