"""An ONNX graph for looking at: nodes of standard operators where there are some, of a domain of our own elsewhere."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
from onnx import helper
from xdsl.ir import Attribute, Operation

from qbc.dialects.blob import BlobAttr, read_blob
from qbc.dialects.common.access import integer, integers
from qbc.dialects.common.properties import as_python
from qbc.export.onnx_mblt import IR_VERSION, MbltExport
from qbc.export.onnx_mblt_builder import onnx_type
from qbc.store import BlobStore

Array = npt.NDArray[Any]
Metadata = Mapping[str, object]

DOMAIN = "qbcompiler"
OPSET = 21  # QuantizeLinear and DequantizeLinear of int16


class ViewGraph:
    """A graph under construction; tensor names are unique, constants with one key are added once."""

    def __init__(self, store: BlobStore) -> None:
        self._store = store
        self._nodes: list[onnx.NodeProto] = []
        self._inputs: list[onnx.ValueInfoProto] = []
        self._outputs: list[onnx.ValueInfoProto] = []
        self._infos: list[onnx.ValueInfoProto] = []
        self._initializers: dict[str, Array] = {}
        self._constants: dict[Hashable, str] = {}
        self._used: set[str] = set()

    def reserve(self, names: Iterable[str]) -> None:
        """Keep names for graph inputs and outputs."""
        self._used.update(names)

    def unique(self, base: str) -> str:
        """Return an unused name that starts with `base`."""
        name, count = base, 1
        while name in self._used:
            name, count = f"{base}_{count}", count + 1
        self._used.add(name)
        return name

    def input(self, name: str, dtype: str, shape: Sequence[int], metadata: Metadata | None = None) -> None:
        """Add a graph input."""
        self._inputs.append(_value_info(name, dtype, shape, metadata))

    def output(self, name: str, dtype: str, shape: Sequence[int], metadata: Metadata | None = None) -> None:
        """Add a graph output; a node must make it."""
        self._outputs.append(_value_info(name, dtype, shape, metadata))

    def tensor(self, name: str, dtype: str, shape: Sequence[int], metadata: Metadata | None = None) -> str:
        """Say type and shape of a tensor inside the graph; returns its name."""
        self._infos.append(_value_info(name, dtype, shape, metadata))
        return name

    def constant(self, array: Array, base: str, key: Hashable = None) -> str:
        """Add an initializer and return its name."""
        if key is not None and key in self._constants:
            return self._constants[key]
        name = self.unique(base)
        self._initializers[name] = array
        if key is not None:
            self._constants[key] = name
        return name

    def blob(self, handle: BlobAttr, base: str) -> str:
        """Add the data of a handle as an initializer and return its name."""
        return self.constant(read_blob(self._store, handle), base, handle)

    def node(
        self,
        op_type: str,
        inputs: Sequence[str],
        output: str,
        *,
        domain: str = "",
        attributes: Mapping[str, Any] | None = None,
        metadata: Metadata | None = None,
    ) -> None:
        """Add a node with one output; it has the name of the output."""
        node = helper.make_node(op_type, list(inputs), [output], name=output, domain=domain, **(attributes or {}))
        set_metadata(node, metadata or {})
        self._nodes.append(node)

    def operation(
        self, op: Operation, inputs: Sequence[str], output: str, output_shape: Sequence[int], facts: Metadata
    ) -> None:
        """Add the node of an operation on codes: standard where ONNX has it, else one of the domain `qbcompiler`.

        `facts` are told beside operation and layer.
        A node of the domain has the properties as attributes and the constants as inputs after the operands, whose
        names the attribute `constants` lists.
        """
        kind = op.name.partition(".")[2]
        metadata = {**operation_metadata(op), **facts}
        standard = _STANDARD.get(kind)
        if standard is not None:
            op_type, vectors, attributes = standard(op, output_shape)
            extra = [self.constant(np.array(vector, np.int64), f"{output}.{name}") for name, vector in vectors.items()]
            self.node(op_type, [*inputs, *extra], output, attributes=attributes, metadata=metadata)
            return
        constants, attributes = {}, {}
        for name, attribute in op.properties.items():
            if isinstance(attribute, BlobAttr):
                constants[name] = self.blob(attribute, f"{output}.{name}")
            elif name != "operandSegmentSizes":
                attributes[name] = _plain(attribute)
        if constants:
            attributes["constants"] = list(constants)
        op_type = "".join(part.capitalize() for part in kind.split("_"))
        self.node(
            op_type, [*inputs, *constants.values()], output, domain=DOMAIN, attributes=attributes, metadata=metadata
        )

    def finish(self, name: str, metadata: Metadata) -> MbltExport:
        """Return the graph."""
        graph = helper.make_graph(self._nodes, name, self._inputs, self._outputs, value_info=self._infos)
        sets = [helper.make_opsetid("", OPSET), helper.make_opsetid(DOMAIN, 1)]
        model = helper.make_model(graph, opset_imports=sets, ir_version=IR_VERSION, producer_name="qbcompiler")
        set_metadata(model, {**metadata, "use": "for viewing, not for running"})
        return MbltExport(model, self._initializers, {})


def set_metadata(target: Any, metadata: Metadata) -> None:
    """Write entries as texts; those that are None or empty are left out."""
    for key, value in metadata.items():
        if value is not None and value != "":
            target.metadata_props.add(key=key, value=str(value))


def operation_metadata(op: Operation) -> dict[str, object]:
    """Return what every node tells of the operation it stands for."""
    from qbc.dialects.common.graph import location_names

    return {"operation": op.name, "layer": " + ".join(location_names(op.location))}


def base_name(op: Operation) -> str:
    """Return the name from which those of the node and its tensors are made: the last source node."""
    from qbc.dialects.common.graph import location_names

    names = location_names(op.location)
    return names[-1] if names else op.name.partition(".")[2]


def _plain(attribute: Attribute) -> object:
    """Return a property as ONNX attributes take it; what has no such form is its IR text."""
    value = as_python(attribute)
    if isinstance(value, bool):
        return int(value)
    if isinstance(value, tuple):
        return list(value) if value else "[]"  # an empty list has no type in ONNX
    return value if isinstance(value, int | float | str) else str(attribute)


def _value_info(name: str, dtype: str, shape: Sequence[int], metadata: Metadata | None) -> onnx.ValueInfoProto:
    sizes = [size if size >= 0 else f"{name}_{axis}" for axis, size in enumerate(shape)]
    info = helper.make_tensor_value_info(name, onnx_type(dtype), sizes)
    set_metadata(info, metadata or {})
    return info


# --- operations that move codes as the standard operators do -----------------------------------------------------

Standard = tuple[str, dict[str, Sequence[int]], dict[str, object]]  # operator, integer inputs, attributes


def _slice(op: Operation, shape: Sequence[int]) -> Standard:
    starts, steps = integers(op, "starts"), integers(op, "steps")
    ends = [start + (size - 1) * step + 1 for start, step, size in zip(starts, steps, shape, strict=True)]
    axes = range(len(shape))
    return "Slice", {"starts": starts, "ends": ends, "axes": list(axes), "steps": steps}, {}


_STANDARD: dict[str, Callable[[Operation, Sequence[int]], Standard]] = {
    "reshape": lambda op, shape: ("Reshape", {"shape": shape}, {}),
    "transpose": lambda op, shape: ("Transpose", {}, {"perm": list(integers(op, "permutation"))}),
    "concat": lambda op, shape: ("Concat", {}, {"axis": integer(op, "axis")}),
    "expand": lambda op, shape: ("Expand", {"shape": shape}, {}),
    "gather": lambda op, shape: ("Gather", {}, {"axis": integer(op, "axis")}),
    "tile": lambda op, shape: ("Tile", {"repeats": integers(op, "repeats")}, {}),
    "slice": _slice,
}
