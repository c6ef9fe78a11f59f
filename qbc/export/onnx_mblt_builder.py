"""The ONNX graph under construction: nodes, initializers, and for every mblt value its tensor in one or two layouts.

mblt is channel-last, ONNX kernels are channel-first. Each value is known in the layout its producer made; the other
layout is made by one Transpose the first time it is asked for. So a CNN runs channel-first inside and has transposes at
its ends only.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import onnx
from onnx import helper
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, TensorType
from xdsl.ir import Attribute, Operation, SSAValue

from qbc.dialects.blob import BlobAttr, dtype_name, read_blob
from qbc.dialects.common.access import number, shape_of, tensor_type, text
from qbc.dialects.common.graph import location_names
from qbc.store import BlobStore

Array = npt.NDArray[Any]
Layout = Literal["last", "first"]
LAST: Layout = "last"
FIRST: Layout = "first"


def to_first(rank: int) -> tuple[int, ...]:
    """Return the permutation from channel-last to channel-first: axis i of the result is axis `p[i]` of the value."""
    return (0, rank - 1, *range(1, rank - 1)) if rank >= 3 else tuple(range(rank))


def to_last(rank: int) -> tuple[int, ...]:
    """Return the permutation from channel-first to channel-last."""
    return (0, *range(2, rank), 1) if rank >= 3 else tuple(range(rank))


class GraphBuilder:
    """Collects nodes and initializers; `begin(op)` names what follows after the source node of `op`."""

    def __init__(self, store: BlobStore) -> None:
        self.store = store
        self.nodes: list[onnx.NodeProto] = []
        self.initializers: dict[str, Array] = {}
        self._known: dict[SSAValue, dict[Layout, str]] = {}
        self._primary: dict[SSAValue, Layout] = {}
        self._constants: dict[SSAValue, Array] = {}
        self._cache: dict[Hashable, str] = {}
        self._used: set[str] = set()
        self._base = "node"

    # --- names and nodes ---------------------------------------------------------------------------------------

    @property
    def used_names(self) -> set[str]:
        """All names taken so far; names that are made elsewhere are added to it."""
        return self._used

    def reserve(self, name: str) -> None:
        """Keep a name for a graph input or output."""
        self._used.add(name)

    def begin(self, op: Operation) -> None:
        """Name the nodes that follow after the source node of `op`."""
        names = location_names(op.location)
        self._base = names[-1] if names else op.name.rpartition(".")[2]

    def unique(self, base: str) -> str:
        """Return an unused name that starts with `base`."""
        name, count = base, 1
        while name in self._used:
            name, count = f"{base}_{count}", count + 1
        self._used.add(name)
        return name

    def node(self, op_type: str, inputs: Sequence[str], **attributes: Any) -> str:
        """Append a node with one output and return the name of the output."""
        name = self.unique(self._base)
        self.nodes.append(helper.make_node(op_type, list(inputs), [name], name=name, **attributes))
        return name

    # --- constants ---------------------------------------------------------------------------------------------

    def read(self, handle: Attribute) -> Array:
        """Return the data of a blob or dense attribute."""
        if isinstance(handle, BlobAttr):
            return read_blob(self.store, handle)
        if isinstance(handle, DenseIntOrFPElementsAttr):
            values = np.array(list(handle.get_values()), dtype=dtype_name(handle.get_element_type()))
            shape = handle.get_shape()
            return values.reshape(shape) if values.size > 1 else np.full(shape, values)
        raise TypeError(f"not constant data: {handle}")

    def initializer(self, array: Array, hint: str, key: Hashable = None) -> str:
        """Add constant data under a name made from `hint`; data with an equal `key` is added once."""
        if key is not None and key in self._cache:
            return self._cache[key]
        name = self.unique(f"{self._base}.{hint}")
        self.initializers[name] = array
        if key is not None:
            self._cache[key] = name
        return name

    def optional(self, op: Operation, name: str) -> list[str]:
        """Return the initializer of a constant property in a list, or an empty list without one."""
        handle = op.properties.get(name)
        return [] if handle is None else [self.initializer(self.read(handle), name, handle)]

    def integers(self, values: Sequence[int], hint: str) -> str:
        """Add a vector of int64, shared by all who need the same."""
        return self.initializer(np.array(values, np.int64), hint, ("i64", tuple(values)))

    def floats(self, values: Sequence[float], hint: str) -> str:
        """Add a vector of float32, shared by all who need the same."""
        return self.initializer(np.array(values, np.float32), hint, ("f32", tuple(values)))

    def scalar(self, value: float, hint: str, like: SSAValue | None = None) -> str:
        """Add a scalar of the element type of `like` (float32 without one), shared by all who need the same."""
        dtype = "float32" if like is None else dtype_of(like)
        return self.initializer(np.array(value, dtype), hint, (dtype, value))

    # --- values ------------------------------------------------------------------------------------------------

    def define(self, value: SSAValue, name: str, layout: Layout) -> None:
        """Say that tensor `name` holds `value` in `layout`."""
        self._known.setdefault(value, {})[_normal(value, layout)] = name
        self._primary.setdefault(value, _normal(value, layout))

    def define_constant(self, value: SSAValue, array: Array) -> None:
        """Say that `value` is constant; it becomes an initializer in each layout that is asked for."""
        self._constants[value] = array

    def constant_data(self, value: SSAValue) -> Array | None:
        """Return the data of a constant value in mblt layout, or None."""
        return self._constants.get(value)

    def primary(self, value: SSAValue) -> Layout:
        """Return the layout in which the value was made (constants and values of rank below 3 are channel-last)."""
        return self._primary.get(value, LAST)

    def known(self, value: SSAValue, layout: Layout) -> str | None:
        """Return the tensor that holds the value in `layout`, if there is one already."""
        return self._known.get(value, {}).get(_normal(value, layout))

    def get(self, value: SSAValue, layout: Layout) -> str:
        """Return the tensor that holds the value in `layout`; transposes once where needed."""
        layout = _normal(value, layout)
        known = self._known.setdefault(value, {})
        if layout in known:
            return known[layout]
        if value in self._constants:
            name = self._constant(self._constants[value], layout)
        else:
            name = self._convert(value, known[self._primary[value]], layout)
        known[layout] = name
        return name

    def last(self, value: SSAValue) -> str:
        """Return the channel-last tensor of the value."""
        return self.get(value, LAST)

    def first(self, value: SSAValue) -> str:
        """Return the channel-first tensor of the value."""
        return self.get(value, FIRST)

    def common_layout(self, values: Sequence[SSAValue]) -> Layout:
        """Return the layout of the largest operand that is not constant; channel-first between equals."""
        moving = [value for value in values if value not in self._constants]
        if not moving:
            return LAST
        return max(
            (abs(int(np.prod(shape_of(value)))), self.primary(value) == FIRST, self.primary(value)) for value in moving
        )[2]

    def finish(self, op: Operation, name: str, layout: Layout) -> None:
        """Apply the fused activation of `op` to tensor `name` and define the result."""
        result = op.results[0]
        if "activation" in op.properties:
            kind = text(op, "activation")
            if kind == "relu":
                name = self.node("Relu", [name])
            else:
                low, high = (
                    (0.0, 6.0) if kind == "relu6" else (number(op, "activation_min"), number(op, "activation_max"))
                )
                name = self.clip(name, low, high, result)
        self.define(result, name, layout)

    def rename(self, renames: Mapping[str, str]) -> None:
        """Rename tensors everywhere."""
        for node in self.nodes:
            for names in (node.input, node.output):
                names[:] = [renames.get(name, name) for name in names]
        for known in self._known.values():
            for layout, name in known.items():
                known[layout] = renames.get(name, name)

    def clip(self, name: str, low: float, high: float, like: SSAValue) -> str:
        """Append `Clip`; an infinite bound is left out."""
        bounds = ["" if np.isinf(bound) else self.scalar(bound, "bound", like) for bound in (low, high)]
        while bounds and not bounds[-1]:
            bounds.pop()
        return self.node("Clip", [name, *bounds])

    def _constant(self, array: Array, layout: Layout) -> str:
        if layout == FIRST:
            array = np.ascontiguousarray(array.transpose(to_first(array.ndim)))
        return self.initializer(array, "value")

    def _convert(self, value: SSAValue, name: str, layout: Layout) -> str:
        shape = shape_of(value)
        rank = len(shape)
        permutation = to_first(rank) if layout == FIRST else to_last(rank)
        if not _moves_data(shape):
            target = [shape[axis] for axis in to_first(rank)] if layout == FIRST else list(shape)
            return self.node("Reshape", [name, self.integers(target, "shape")])
        return self.node("Transpose", [name], perm=list(permutation))


Emitter = Callable[[Operation, GraphBuilder], None]


def dtype_of(value: SSAValue) -> str:
    """Return the numpy dtype name of the elements of a tensor value."""
    return dtype_name(tensor_type(value).element_type)


def onnx_type(dtype: str) -> int:
    """Return the ONNX element type of a numpy dtype name."""
    return int(helper.np_dtype_to_tensor_dtype(np.dtype(dtype)))


def _normal(value: SSAValue, layout: Layout) -> Layout:
    """Return the layout itself where the rank of the value has two, channel-last otherwise."""
    return layout if isinstance(value.type, TensorType) and len(shape_of(value)) >= 3 else LAST


def _moves_data(shape: Sequence[int]) -> bool:
    """Whether channel-last and channel-first differ in memory: not when there is one channel or one position."""
    spatial = shape[1:-1]
    static = all(size >= 0 for size in shape)
    return not static or not (shape[-1] == 1 or all(size == 1 for size in spatial))
