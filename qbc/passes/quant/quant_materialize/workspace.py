"""What the rules of `quant-materialize` share: encodings of values, attributes, blobs, notices."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from xdsl.ir import Attribute, Operation, SSAValue

from qbc.dialects import quant
from qbc.dialects.blob import read_blob, write_blob
from qbc.dialects.quant import CODE_RANGES, QuantOp
from qbc.dialects.quant.base import int_attr, shape_of
from qbc.passes.base import CompileContext, pass_error
from qbc.passes.quant.legality import activation_bounds

if TYPE_CHECKING:
    from qbc.errors import QBCompilerError

Properties = dict[str, Attribute]


@dataclass(frozen=True)
class Encoding:
    """`real = scale * (code - zero_point)`; the scale is a float32 value."""

    storage: str
    scale: float
    zero_point: int

    @property
    def exact(self) -> Fraction:
        """The scale as a rational."""
        return Fraction(self.scale)

    @property
    def low(self) -> int:
        """Smallest code."""
        return CODE_RANGES[self.storage][0]

    @property
    def high(self) -> int:
        """Largest code."""
        return CODE_RANGES[self.storage][1]

    @property
    def bound(self) -> int:
        """Largest |code - zero_point|."""
        return max(self.high - self.zero_point, self.zero_point - self.low)


@dataclass(frozen=True)
class ChannelsEncoding:
    """One scale for each channel of the last axis (a float32 array), one zero point; `row` names it in types."""

    storage: str
    scales: Any
    zero_point: int
    row: str


@dataclass(frozen=True)
class Result:
    """What an operation becomes: another kind (None: the same) and exactly these properties."""

    properties: Mapping[str, Attribute]
    kind: type[QuantOp] | None = None


Rule = Callable[["Workspace", Operation], Result]


@dataclass
class Workspace:
    """State of one run of the pass."""

    ctx: CompileContext
    encodings: Mapping[SSAValue, Encoding]
    channels: Mapping[SSAValue, ChannelsEncoding] = field(default_factory=dict)
    raised_channels: dict[str, int] = field(default_factory=dict)  # layer -> channels whose weight scale had to grow

    def report_raised(self) -> None:
        """Give one notice for all layers whose weights are tiny beside their bias."""
        if not self.raised_channels:
            return
        worst = max(self.raised_channels, key=self.raised_channels.__getitem__)
        self.ctx.notice(
            f"the weights of {sum(self.raised_channels.values())} output channels in {len(self.raised_channels)} "
            f"layers are tiny beside their bias, so their weight scale was raised (most in {worst}: "
            f"{self.raised_channels[worst]})"
        )

    def encoding(self, value: SSAValue) -> Encoding:
        """Return the encoding of a value; an operand or result that should be quantized and is not is an error.

        So is one whose channels have scales of their own: weighted operations make those and data movement takes them.
        """
        if value in self.channels:
            raise self.error(_user(value), "cannot read or make a value whose channels have scales of their own")
        found = self.encodings.get(value)
        if found is None:
            raise self.error(_user(value), "has an operand or result without an encoding")
        return found

    def is_integer(self, value: SSAValue) -> bool:
        """Return whether a value holds indices, which have no encoding."""
        return value not in self.encodings and value not in self.channels

    def scales_of_result(self, op: Operation) -> Any:
        """Return the scale of the result of a weighted operation: a number, or an array with one a channel."""
        channels = self.channels.get(op.results[0])
        return self.encoding(op.results[0]).scale if channels is None else channels.scales

    def result_range(self, op: Operation) -> Properties:
        """Return `z`, `lo`, `hi` of the result: its code range intersected with the fused activation."""
        low, high = self.clamp(op)
        zero_point = self._encoding_or_channels(op).zero_point
        return {"z": int_attr(zero_point), "lo": int_attr(low), "hi": int_attr(high)}

    def clamp(self, op: Operation) -> tuple[int, int]:
        """Return the output clamp in codes."""
        from qbc.algorithms.fixed_point import code_of

        encoding = self._encoding_or_channels(op)
        bounds = activation_bounds(op)
        codes = [
            default
            if bound is None
            else code_of(bound, encoding.scale, encoding.zero_point, encoding.low, encoding.high)
            for bound, default in zip(bounds, (encoding.low, encoding.high), strict=True)
        ]
        return codes[0], codes[1]

    def _encoding_or_channels(self, op: Operation) -> Encoding:
        """Return the encoding of a result; of scales of channels any one, whose clamp must be the same for all."""
        channels = self.channels.get(op.results[0])
        if channels is None:
            return self.encoding(op.results[0])
        if not isinstance(op, quant.WeightedOp) or any(bound not in (None, 0.0) for bound in activation_bounds(op)):
            raise self.error(op, "cannot make a value whose channels have scales of their own")
        return Encoding(channels.storage, float(channels.scales[0]), channels.zero_point)

    def read(self, op: Operation, name: str) -> Any:
        """Return the data of a blob property, or None where it is absent."""
        blob = op.properties.get(name)
        return None if blob is None else read_blob(self.ctx.store, blob)

    def write(self, data: Any) -> Attribute:
        """Store an array and return its handle."""
        return write_blob(self.ctx.store, data)

    def rescale(self, op: Operation, ratio: Fraction, bound: int) -> Properties:
        """Return the attributes `m`, `s` of a ratio; see `multiplier`."""
        m, s = self.multiplier(op, ratio, bound)
        return {"m": int_attr(m), "s": int_attr(s)}

    def multiplier(self, op: Operation, ratio: Fraction, bound: int) -> tuple[int, int]:
        """Return (m, s) of a ratio: 31 bits wide where every accumulator is below 2^31, 15 bits below 2^47.

        `bound` is the largest possible |accumulator|; one that is larger is an error.
        """
        from qbc.algorithms.fixed_point import LONG, LONG_BOUND, SHORT, SHORT_BOUND, multiplier_of

        if bound >= SHORT_BOUND:
            raise self.error(op, f"its sum can reach {bound}, the accumulator holds 47 bits")
        return multiplier_of(ratio, LONG if bound < LONG_BOUND else SHORT)

    def error(self, op: Operation, message: str, hint: str | None = None) -> QBCompilerError:
        """Return a located QUANTIZATION_ERROR."""
        return pass_error(op, message, code="QUANTIZATION_ERROR", hint=hint)


def _user(value: SSAValue) -> Operation:
    owner = value.owner
    if isinstance(owner, Operation):
        return owner
    user: Operation = next(iter(value.uses)).operation
    return user


def kept(op: Operation, *names: str) -> Properties:
    """Return the named properties of an operation, those that are present."""
    return {name: op.properties[name] for name in names if name in op.properties}


__all__ = ["Encoding", "Properties", "Result", "Rule", "Workspace", "kept", "shape_of"]
