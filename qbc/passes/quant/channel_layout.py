"""Where the channels of the last axis go when codes move, so that each can keep a scale of its own.

A movement that takes every element of channel k of its operand to channel j of its result ties the scales of the two;
`channel_links` lists these pairs. Reshapes keep the flat order, so the flat index decides: from 6 channels to 2,
channels 0, 2, 4 become channel 0. An operation that mixes the last axis with others has no such pairs.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import TYPE_CHECKING

from xdsl.ir import Operation, SSAValue

from qbc.algorithms.disjoint_sets import DisjointSets
from qbc.dialects import quant
from qbc.dialects.quant import ParamTable
from qbc.dialects.quant.base import integer, ints, shape_of
from qbc.passes.quant.legality import tied_values

if TYPE_CHECKING:
    from qbc.store import BlobStore

_MOST_LINKS = 1 << 16
Link = tuple[SSAValue, Sequence[int], SSAValue, Sequence[int]]


def channel_count(value: SSAValue) -> int:
    """Return the size of the last axis, 1 for a scalar."""
    shape = shape_of(value)
    return shape[-1] if shape else 1


def channel_links(op: Operation) -> list[Link] | None:
    """Return (operand, its channels, result, their channels there) of a movement; None where channels are mixed."""
    if not op.results or 0 in shape_of(op.results[0]) or not shape_of(op.results[0]):
        return None
    kind = "resize_nearest" if isinstance(op, quant.ResizeOp) else op.name.partition(".")[2]
    rule = _RULES.get(kind)
    return None if rule is None else rule(op)


def _same(op: Operation) -> list[Link] | None:
    source, result = op.operands[0], op.results[0]
    channels = range(channel_count(result))
    return [(source, channels, result, channels)] if channel_count(source) == len(channels) else None


def _reshape(op: Operation) -> list[Link] | None:
    source, result = op.operands[0], op.results[0]
    before, after = channel_count(source), channel_count(result)
    indices = range(min(math.lcm(before, after), math.prod(shape_of(result))))
    if len(indices) > _MOST_LINKS:
        return None  # hardly a common divisor: next to no channel would keep a scale of its own
    return [(source, [i % before for i in indices], result, [i % after for i in indices])]


def _transpose(op: Operation) -> list[Link] | None:
    permutation = ints(op, "permutation")
    return _same(op) if permutation[-1] == len(permutation) - 1 else None


def _slice(op: Operation) -> list[Link] | None:
    channels = range(channel_count(op.results[0]))
    start, step = ints(op, "starts")[-1], ints(op, "steps")[-1]
    return [(op.operands[0], [start + step * channel for channel in channels], op.results[0], channels)]


def _expand(op: Operation) -> list[Link] | None:
    source, channels = op.operands[0], range(channel_count(op.results[0]))
    return [(source, [0] * len(channels), op.results[0], channels)] if channel_count(source) == 1 else _same(op)


def _gather(op: Operation) -> list[Link] | None:
    rank = len(shape_of(op.operands[0]))
    return _same(op) if integer(op, "axis") % rank != rank - 1 else None


def _concat(op: Operation) -> list[Link] | None:
    result, rank = op.results[0], len(shape_of(op.results[0]))
    if integer(op, "axis") % rank != rank - 1:
        channels = range(channel_count(result))
        return [(source, channels, result, channels) for source in op.operands]
    links: list[Link] = []
    first = 0
    for source in op.operands:
        count = channel_count(source)
        links.append((source, range(count), result, range(first, first + count)))
        first += count
    return links


_RULES: dict[str, Callable[[Operation], list[Link] | None]] = {
    "reshape": _reshape,
    "transpose": _transpose,
    "slice": _slice,
    "expand": _expand,
    "gather": _gather,
    "concat": _concat,
    "max_pool2d": _same,
    "resize_nearest": _same,
}


@dataclass(frozen=True)
class ChannelEncoding:
    """Storage, zero point and the scales of the channels of the last axis (one entry: the scale of all)."""

    storage: str
    scales: tuple[float, ...]
    zero_point: int

    def scale_of(self, channel: int) -> float:
        """Return the scale of a channel."""
        return self.scales[channel] if len(self.scales) > 1 else self.scales[0]


def channel_encoding(table: ParamTable, store: BlobStore, value: SSAValue) -> ChannelEncoding | None:
    """Return the encoding of a value with all scales, or None while it is unset."""
    from qbc.dialects.blob import read_blob

    row = table.row_of(value)
    if row is not None and row.channel_scales is not None and row.bits is not None:
        scales = tuple(float(scale) for scale in read_blob(store, row.channel_scales))
        return ChannelEncoding(row.bits, scales, row.channel_zero_point)
    encoding = table.encoding(value)
    return None if encoding is None else ChannelEncoding(encoding[0], (encoding[1],), encoding[2])


def encodings_agree(op: Operation, encoding_of: Callable[[SSAValue], ChannelEncoding | None]) -> bool:
    """Return whether codes may pass through `op` unchanged: what it ties has one encoding, channel by channel."""
    tied = tied_values(op)
    encodings = {value: encoding for value in tied if (encoding := encoding_of(value)) is not None}
    if len(set(encodings.values())) < 2 and all(len(encoding.scales) == 1 for encoding in encodings.values()):
        return True
    if len({(encoding.storage, encoding.zero_point) for encoding in encodings.values()}) > 1:
        return False
    links = channel_links(op)
    if links is None or len(encodings) < len(set(tied)):
        return False
    return all(_equal_scales(encodings[a], at_a, encodings[b], at_b) for a, at_a, b, at_b in links)


def _equal_scales(a: ChannelEncoding, at_a: Sequence[int], b: ChannelEncoding, at_b: Sequence[int]) -> bool:
    return all(a.scale_of(i) == b.scale_of(j) for i, j in zip(at_a, at_b, strict=True))


class ChannelClasses:
    """Which channels of some values must have one scale: disjoint sets of (value, channel), each with a number."""

    def __init__(self, values: Sequence[SSAValue]) -> None:
        counts = [channel_count(value) for value in values]
        self._first = dict(zip(values, accumulate(counts, initial=0), strict=False))
        self._sets = DisjointSets(range(sum(counts)))

    def link(self, a: SSAValue, at_a: Sequence[int], b: SSAValue, at_b: Sequence[int]) -> None:
        """Put channel `at_a[i]` of `a` and channel `at_b[i]` of `b` into one set, for every i."""
        for i, j in zip(at_a, at_b, strict=True):
            self._sets.union((self._first[a] + i, self._first[b] + j))

    def join(self, *values: SSAValue) -> None:
        """Put all channels of some values into one set."""
        self._sets.union(self._first[value] + i for value in values for i in range(channel_count(value)))

    def numbered(self) -> tuple[int, dict[SSAValue, list[int]]]:
        """Return the number of sets, and for every value the set of each channel."""
        numbers = {root: number for number, root in enumerate(self._sets.groups())}
        channels = {
            value: [numbers[self._sets.find(first + i)] for i in range(channel_count(value))]
            for value, first in self._first.items()
        }
        return len(numbers), channels
