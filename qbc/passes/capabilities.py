"""What a device can run: one function a rule, whose docstring is the sentence that users read.

The rules read a `Demand`, what one operation asks of a device. Layers of the `mblt` dialect and commands of the `npu`
dialect are read into demands beside their passes, so one rule holds for both.

A rule returns None where it does not apply or holds, else what it found (empty where the rule says it all).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from xdsl.ir import Operation

from qbc.errors import QBCompilerError
from qbc.passes.base import located, source_names

if TYPE_CHECKING:
    from qbc.targets import Target

MAX_RANK = 8


@dataclass(frozen=True)
class Demand:
    """What an operation asks of a device; sizes are 0 or empty where it has none of the kind."""

    rank: int = 0  # the largest of its operands and results
    computes_integers: bool = False  # arithmetic on 32-bit integers
    kernel: Sequence[int] = ()
    strides: Sequence[int] = ()
    dilations: Sequence[int] = ()
    softmax_elements: int = 0
    norm_elements: int = 0
    function_unit: bool = False


Rule = Callable[[Demand, "Target"], str | None]


def rank_limit(demand: Demand, target: Target) -> str | None:
    """Tensors have at most 8 axes."""
    return f"it has {demand.rank}" if demand.rank > MAX_RANK else None


def integers_are_indices(demand: Demand, target: Target) -> str | None:
    """Arithmetic works on i8 and i16 codes; 32-bit integers serve as gather indices and may only be moved."""
    return "it computes with i32" if demand.computes_integers else None


def kernel_limit(demand: Demand, target: Target) -> str | None:
    """The kernel of a convolution has at most `limits.kernel` rows and columns."""
    return _above(demand.kernel, target.limits.kernel)


def stride_limit(demand: Demand, target: Target) -> str | None:
    """Strides of a convolution are at most `limits.stride`."""
    return _above(demand.strides, target.limits.stride)


def dilation_limit(demand: Demand, target: Target) -> str | None:
    """Dilations are at most `limits.dilation`."""
    return _above(demand.dilations, target.limits.dilation)


def softmax_limit(demand: Demand, target: Target) -> str | None:
    """A softmax runs over at most `limits.softmax_elements` elements."""
    return _above((demand.softmax_elements,), target.limits.softmax_elements)


def norm_limit(demand: Demand, target: Target) -> str | None:
    """A normalization runs over at most `limits.norm_elements` elements."""
    return _above((demand.norm_elements,), target.limits.norm_elements)


def function_unit(demand: Demand, target: Target) -> str | None:
    """Softmax, normalization, division and 16-bit tables need the multi-function unit, which this target lacks."""
    return "" if demand.function_unit and not target.core.mfu.present else None


RULES: tuple[Rule, ...] = (
    rank_limit,
    integers_are_indices,
    kernel_limit,
    stride_limit,
    dilation_limit,
    softmax_limit,
    norm_limit,
    function_unit,
)


@dataclass(frozen=True)
class Breach:
    """An operation that breaks a rule of a device."""

    operation: Operation
    demand: Demand
    rule: str
    found: str

    @property
    def node(self) -> str:
        """The source nodes of the operation."""
        return "/".join(source_names(self.operation)) or "unnamed"

    def __str__(self) -> str:
        return f"{self.node} ({self.operation.name}){self.found and f': {self.found}'}"


def rule_text(rule: Rule) -> str:
    """Return the sentence of a rule as users read it."""
    return (rule.__doc__ or "").strip()


def breaches(demands: Iterable[tuple[Operation, Demand]], target: Target) -> list[Breach]:
    """Return what operations ask for and the device cannot do, operation by operation."""
    return list(_breaches(demands, target))


def refusal(found: Sequence[Breach], target: Target, others: Sequence[str] = ()) -> QBCompilerError:
    """Return the UNSUPPORTED_OP error that lists operations under the rules that they break.

    The hint names the devices that these operations run on. `others` are lines about further operations.
    """
    lines = [line for rule, broken in by_rule(found).items() for line in (rule, *(f"  {entry}" for entry in broken))]
    message = f"{_summary(found, target)}:\n  " + "\n  ".join([*lines, *others])
    return located(QBCompilerError(message, code="UNSUPPORTED_OP", hint=_hint(found)), found[0].operation)


def refusal_notice(found: Sequence[Breach], target: Target) -> str:
    """Return the same list as one line of text."""
    parts = [f"{rule} {', '.join(map(str, broken))}" for rule, broken in by_rule(found).items()]
    return f"{_summary(found, target)}: {'; '.join(parts)}"


def by_rule(found: Sequence[Breach]) -> Mapping[str, list[Breach]]:
    """Return the breaches under the sentences of their rules."""
    groups: dict[str, list[Breach]] = {}
    for breach in found:
        groups.setdefault(breach.rule, []).append(breach)
    return groups


def _breaches(demands: Iterable[tuple[Operation, Demand]], target: Target) -> Iterator[Breach]:
    for operation, demand in demands:
        for rule in RULES:
            found = rule(demand, target)
            if found is not None:
                yield Breach(operation, demand, rule_text(rule), found)


def _hint(found: Sequence[Breach]) -> str:
    from qbc.targets import is_own_target, load_target, target_names

    devices = [load_target(name) for name in target_names() if is_own_target(name)]
    able = [device.name for device in devices if all(rule(b.demand, device) is None for b in found for rule in RULES)]
    choice = f", or choose a device that runs them: {', '.join(able)}" if able else ""
    return f"Change these parts of the model{choice}."


def _summary(found: Sequence[Breach], target: Target) -> str:
    return f"{target.name} cannot run {len({breach.operation for breach in found})} of the operations"


def _above(sizes: Sequence[int], limit: int) -> str | None:
    return f"found {max(sizes)}, the limit is {limit}" if sizes and max(sizes) > limit else None
