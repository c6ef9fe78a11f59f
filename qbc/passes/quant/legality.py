"""Which values of a quant operation must share one encoding.

| operations | rule |
| --- | --- |
| reshape, transpose, slice, expand, pad, gather (data), max_pool2d, reduce_max, reduce_min, nearest resize | `=`: operand and result |
| concat, maximum, minimum, where (values) | `U`: all operands and the result |
| equal, greater, less | `U` from the start: the operands; the result is a mask |
| everything else | free: the operation rescales |

`=` holds from the start. `U` holds from the start with calibration methods 1 and 3; with 0 and 2 every operand keeps
its own encoding and `quant-insert-requant` rescales those that differ.
"""  # noqa: E501

from __future__ import annotations

from collections.abc import Iterable, Sequence

from xdsl.dialects.builtin import FloatAttr, ModuleOp
from xdsl.ir import Operation, SSAValue

from qbc.dialects import quant
from qbc.dialects.quant import quantized_element
from qbc.dialects.quant.base import text

SHARED_BY_MOVEMENT: tuple[type[Operation], ...] = (
    quant.ReshapeOp,
    quant.TransposeOp,
    quant.SliceOp,
    quant.ExpandOp,
    quant.PadOp,
    quant.MaxPool2dOp,
    quant.ReduceMaxOp,
    quant.ReduceMinOp,
    quant.ResizeNearestOp,
)
SHARED_BY_UNION: tuple[type[Operation], ...] = (quant.ConcatOp, quant.MaximumOp, quant.MinimumOp, quant.WhereOp)
GROUP_METHODS = (1, 3)
ZERO_POINT_METHODS = (2, 3)


def is_movement(op: Operation) -> bool:
    """Return whether codes pass through unchanged (`=`)."""
    if isinstance(op, (*SHARED_BY_MOVEMENT, quant.GatherOp)):
        return True
    return isinstance(op, quant.ResizeOp) and text(op, "mode") == "nearest"


def tied_values(op: Operation) -> Sequence[SSAValue]:
    """Return the quantized values around `op` that must have one encoding when it runs; empty where there is no tie."""
    if isinstance(op, quant.GatherOp):
        values: Iterable[SSAValue] = (op.operands[0], op.results[0])
    elif is_movement(op) or isinstance(op, (*SHARED_BY_UNION, quant.MaskOp)):
        values = (*op.operands, *op.results)
    else:
        return ()
    tied = tuple(value for value in values if quantized_element(value) is not None)
    return tied if len(tied) > 1 else ()


def ties_at_creation(op: Operation, method: int) -> Sequence[SSAValue]:
    """Return the values around `op` that share a row from the start under a calibration method (0 to 3)."""
    if isinstance(op, SHARED_BY_UNION) and method not in GROUP_METHODS:
        return ()
    return tied_values(op)


class UnionFind:
    """Disjoint sets of values; the representative of a set is its earliest value in the given order."""

    def __init__(self, values: Iterable[SSAValue]) -> None:
        self._order = {value: index for index, value in enumerate(values)}
        self._parent = {value: value for value in self._order}

    def find(self, value: SSAValue) -> SSAValue:
        """Return the representative of the set of `value`."""
        root = value
        while self._parent[root] is not root:
            root = self._parent[root]
        while self._parent[value] is not root:
            self._parent[value], value = root, self._parent[value]
        return root

    def union(self, values: Sequence[SSAValue]) -> None:
        """Merge the sets of all `values`."""
        roots = {self.find(value): None for value in values}
        if len(roots) < 2:
            return
        first = min(roots, key=self._order.__getitem__)
        for root in roots:
            self._parent[root] = first

    def groups(self) -> dict[SSAValue, list[SSAValue]]:
        """Return representative -> members, both in order."""
        found: dict[SSAValue, list[SSAValue]] = {}
        for value in self._order:
            found.setdefault(self.find(value), []).append(value)
        return found


def quant_ops(module: ModuleOp) -> list[quant.QuantOp]:
    """Return all quant operations with a result, in program order."""
    return [op for op in module.walk() if isinstance(op, quant.QuantOp)]


def activation_bounds(op: Operation) -> tuple[float | None, float | None]:
    """Return the real bounds (low, high) of the fused activation; None where open."""
    kind = text(op, "activation")
    if kind == "relu":
        return 0.0, None
    if kind == "relu6":
        return 0.0, 6.0
    if kind == "clip":
        return _bound(op, "activation_min"), _bound(op, "activation_max")
    return None, None


def _bound(op: Operation, name: str) -> float | None:
    attribute = op.properties.get(name)
    if not isinstance(attribute, FloatAttr):
        return None
    value = float(attribute.value.data)
    return value if abs(value) < 3.0e38 else None
