"""The conversion of one function: value map, emission with locations, and the registry of conversion functions.

A conversion function takes a `Node` and returns the values of the ONNX outputs (one value, or a list with None for
outputs that do not exist). Values stay in the layout of the source model; a layout-sensitive op is surrounded by
transposes, which `mblt-sink-transposes` moves and cancels. `node.refuse(reason)` leaves the operator in framework.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from math import prod
from typing import TYPE_CHECKING, Any, NoReturn, cast

from xdsl.dialects.builtin import TensorType, i64
from xdsl.ir import Attribute, Block, Operation, SSAValue

from qbc.dialects.common.shapes import DYNAMIC
from qbc.dialects.framework import (
    attribute,
    operands_by_position,
    operator,
    read_constant,
    results_by_position,
    tensor_attr,
)
from qbc.dialects.mblt import ConstantOp, MbltOp, ReshapeOp, TransposeOp, shape_of
from qbc.errors import QBCompilerError
from qbc.passes.base import source_names

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from qbc.passes.base import CompileContext

Converted = SSAValue | list[SSAValue | None]
WEIGHTED = frozenset({"Conv", "ConvTranspose", "Gemm", "MatMul", "BatchNormalization"})
CONVERSIONS: dict[str, Callable[[Node], Converted]] = {}


class CannotConvert(Exception):
    """An operator has no mblt form; the message is the reason in the conversion report."""


def converts(*operators: str) -> Callable[[Callable[[Node], Converted]], Callable[[Node], Converted]]:
    """Register the conversion function of ONNX operators."""

    def register(function: Callable[[Node], Converted]) -> Callable[[Node], Converted]:
        CONVERSIONS.update(dict.fromkeys(operators, function))
        return function

    return register


@dataclass
class FunctionState:
    """What the conversion of a function keeps: the new block and the new value of each source value."""

    ctx: CompileContext
    block: Block
    values: dict[SSAValue, SSAValue] = field(default_factory=dict)
    constants: dict[SSAValue, SSAValue] = field(default_factory=dict)  # mblt.constant made for a framework constant
    kept_constants: dict[SSAValue, SSAValue] = field(default_factory=dict)  # its copy, for operators that stay
    layouts: dict[tuple[SSAValue, tuple[int, ...]], SSAValue] = field(default_factory=dict)


@dataclass
class Node:
    """One framework operator during its conversion."""

    op: Operation
    state: FunctionState

    def __post_init__(self) -> None:
        self.sources = operands_by_position(self.op)
        self.results = results_by_position(self.op)

    # --- reading ---------------------------------------------------------------------------------------------

    def refuse(self, reason: str) -> NoReturn:
        """Leave the operator in the framework dialect."""
        raise CannotConvert(reason)

    def attr(self, name: str) -> Any:
        """Return an ONNX attribute or its schema default."""
        return attribute(self.op, name)

    def has(self, index: int) -> bool:
        """Return whether the optional input `index` is present."""
        return index < len(self.sources) and self.sources[index] is not None

    def array(self, index: int) -> npt.NDArray[Any] | None:
        """Return the data of a constant input, or None when it is absent or computed."""
        return self._data(self.sources[index]) if self.has(index) else None

    def _data(self, source: SSAValue | None) -> npt.NDArray[Any] | None:
        """Return the data of a constant; one that cannot be meant (NaN, an infinite weight) is INVALID_MODEL."""
        data = read_constant(self.state.ctx.store, source)
        if data is None or source is None or data.dtype.kind != "f" or not data.size:
            return data
        low, high = data.min(), data.max()  # either is NaN where any element is
        weighted = operator(self.op) in WEIGHTED
        if math.isnan(low) or (weighted and math.isinf(max(-low, high))):
            names = source_names(source.owner) if isinstance(source.owner, Operation) else ()
            what = "NaN" if math.isnan(low) else "infinite values"
            raise QBCompilerError(
                f"initializer {', '.join(names)!r} holds {what}",
                code="INVALID_MODEL",
                node=", ".join(source_names(self.op)) or None,
                hint="export the model again from weights that are finite",
            )
        return data

    def constant(self, index: int, what: str) -> npt.NDArray[Any]:
        """Return the data of an input that must be constant; refuses otherwise."""
        data = self.array(index)
        if data is None:
            self.refuse(f"{what} is not a constant")
        return data

    def value(self, index: int) -> SSAValue:
        """Return the mblt value of an input, in the source layout."""
        source = self.sources[index] if index < len(self.sources) else None
        if source is None:
            self.refuse(f"input {index} is missing")
        value = self.value_of(source)
        if not isinstance(value.type, TensorType):
            self.refuse("the rank of an operand is unknown")
        return value

    def value_of(self, source: SSAValue) -> SSAValue:
        """Return the mblt value of a source value; a constant becomes `mblt.constant` at its first use."""
        mapped = self.state.values.get(source) or self.state.constants.get(source)
        if mapped is not None:
            return mapped
        data = self._data(source)
        if data is None:
            self.refuse("an operand has no tensor data")
        value = self.constant_value(data)
        self.state.constants[source] = value
        return value

    def shape(self, index: int) -> tuple[int, ...]:
        """Return the shape of an input; refuses when its rank is unknown."""
        source = self.sources[index] if index < len(self.sources) else None
        if source is None or not isinstance(source.type, TensorType):
            self.refuse("the rank of an operand is unknown")
        return source.type.get_shape()

    def is_used(self, index: int) -> bool:
        """Return whether output `index` exists and has a use."""
        result = self.results[index] if index < len(self.results) else None
        return result is not None and bool(result.uses)

    def result_type(self, index: int = 0) -> TensorType[Attribute]:
        """Return the type of an output; refuses when its rank is unknown."""
        result = self.results[index]
        if result is None or not isinstance(result.type, TensorType):
            self.refuse("the rank of the result is unknown")
        return cast("TensorType[Attribute]", result.type)

    # --- emitting --------------------------------------------------------------------------------------------

    def emit(
        self, op_class: type[MbltOp], *operands: SSAValue, result_type: Attribute | None = None, **properties: object
    ) -> SSAValue:
        """Append an mblt op with the location of the source node and return its result.

        An op that breaks a rule of its class (an unknown size where a known one is needed) raises VerifyException,
        which leaves the operator in framework like a refusal.
        """
        op = op_class.of(*operands, result_type=result_type, location=self.op.location, **properties)
        self.state.block.add_op(op)
        op.check()
        return op.results[0]

    def blob(self, array: npt.NDArray[Any]) -> Attribute:
        """Put an array into the store and return its handle."""
        from qbc.dialects.blob import write_blob

        return write_blob(self.state.ctx.store, array)

    def constant_value(self, array: npt.NDArray[Any]) -> SSAValue:
        """Emit a constant."""
        op = ConstantOp.of_value(tensor_attr(self.state.ctx.store, array), self.op.location)
        self.state.block.add_op(op)
        return op.results[0]

    def reshape(self, value: SSAValue, shape: Sequence[int]) -> SSAValue:
        """Emit a reshape unless the shape is already right; refuses several unknown sizes."""
        if shape_of(value) == tuple(shape):
            return value
        known = [size for size in shape if size != DYNAMIC]
        if len(known) == len(shape) - 1 and DYNAMIC not in shape_of(value):
            missing = prod(shape_of(value)) // max(1, prod(known))
            shape = [missing if size == DYNAMIC else size for size in shape]
        if len(known) < len(shape) - 1:
            self.refuse(f"the shape {['?' if size == DYNAMIC else size for size in shape]} has several unknown sizes")
        element = cast("TensorType[Attribute]", value.type).element_type
        return self.emit(ReshapeOp, value, result_type=TensorType(element, list(shape)))

    def transpose(self, value: SSAValue, permutation: Sequence[int]) -> SSAValue:
        """Emit a transpose: nothing for the identity, the origin for the inverse, once for each value."""
        order = tuple(permutation)
        if order == tuple(range(len(order))):
            return value
        owner = value.owner
        if isinstance(owner, TransposeOp) and [owner.ints("permutation")[axis] for axis in order] == sorted(order):
            return owner.operands[0]
        key = (value, order)
        if key not in self.state.layouts:
            self.state.layouts[key] = self.emit(TransposeOp, value, permutation=order)
        return self.state.layouts[key]

    def channel_last(self, value: SSAValue) -> SSAValue:
        """Return the channel-last form of a channel-first value (N, C, ... -> N, ..., C)."""
        rank = len(shape_of(value))
        return self.transpose(value, (0, *range(2, rank), 1))

    def channel_first(self, value: SSAValue) -> SSAValue:
        """Return the channel-first form of a channel-last value (N, ..., C -> N, C, ...)."""
        rank = len(shape_of(value))
        return self.transpose(value, (0, rank - 1, *range(1, rank - 1)))

    def with_rank(self, index: int, rank: int) -> SSAValue:
        """Return an input with sizes of 1 put before its shape until it has `rank` axes."""
        shape = self.shape(index)
        if len(shape) == rank:
            return self.value(index)
        data = self.array(index)
        if data is not None:
            return self.constant_value(data.reshape((1,) * (rank - len(shape)) + shape))
        return self.reshape(self.value(index), (*(1,) * (rank - len(shape)), *shape))

    def index_constant(self, indices: npt.NDArray[Any], limit: int) -> SSAValue:
        """Emit constant indices into an axis of size `limit`: i32, counted from the front."""
        import numpy as np

        if limit == DYNAMIC and int(indices.min(initial=0)) < 0:
            self.refuse("negative indices need a known size")
        positive: npt.NDArray[np.int64] = np.where(indices < 0, indices + limit, indices).astype(np.int64)
        if limit != DYNAMIC and positive.size and not (positive.min() >= 0 and positive.max() < limit):
            self.refuse(f"an index is outside the size {limit}")
        # The range 0..limit-1 fits i32, so the narrowing changes no index.
        if positive.size and positive.max() > 2**31 - 1:
            self.refuse("an index does not fit i32")
        return self.constant_value(positive.astype(np.int32))


def is_integer(value_type: Attribute) -> bool:
    """Return whether a tensor type holds i64 (shape arithmetic, indices)."""
    return isinstance(value_type, TensorType) and value_type.element_type == i64
