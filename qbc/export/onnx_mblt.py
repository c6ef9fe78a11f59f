"""An mblt function as an ONNX model: for float execution in onnxruntime, for viewing, and for comparison."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
from onnx import TensorProto, helper, numpy_helper
from xdsl.dialects.builtin import ModuleOp, TensorType
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Operation, SSAValue

from qbc.atomic import atomic_write
from qbc.dialects.common.access import shape_of
from qbc.dialects.common.graph import argument_names, dimension_names, location_names, result_names, source_layouts
from qbc.errors import QBCompilerError
from qbc.export import (
    onnx_mblt_convolution,
    onnx_mblt_elementwise,
    onnx_mblt_framework,
    onnx_mblt_matmul,
    onnx_mblt_normalization,
    onnx_mblt_pooling,
    onnx_mblt_reduction,
    onnx_mblt_shape,
)
from qbc.export.onnx_framework import type_proto, write_header
from qbc.export.onnx_mblt_builder import FIRST, LAST, Emitter, GraphBuilder, Layout, onnx_type, to_first
from qbc.export.onnx_writer import model_pieces
from qbc.store import BlobStore

Array = npt.NDArray[Any]

OPSET = 20  # has every operator used here; a function with framework operators is written at theirs
IR_VERSION = 10
INLINE_BYTES = 1024  # smaller constants may be shapes or axes, which shape inference must see in the model
EXTERNAL_DATA_BYTES = 1_500_000_000  # a protobuf message ends at 2 GiB

EMITTERS: dict[str, Emitter] = {
    **onnx_mblt_convolution.EMITTERS,
    **onnx_mblt_elementwise.EMITTERS,
    **onnx_mblt_matmul.EMITTERS,
    **onnx_mblt_normalization.EMITTERS,
    **onnx_mblt_pooling.EMITTERS,
    **onnx_mblt_reduction.EMITTERS,
    **onnx_mblt_shape.EMITTERS,
}


@dataclass(frozen=True)
class ExportedValue:
    """Where a value is found in the exported graph: tensor name, and whether it is held channel-first."""

    name: str
    channel_first: bool

    def to_mblt(self, array: Array) -> Array:
        """Return the array in mblt layout: a view."""
        return np.moveaxis(array, 1, -1) if self.channel_first else array


@dataclass(frozen=True)
class MbltExport:
    """An exported graph whose constants lie beside it: `model` names them, `initializers` holds their data.

    `origins` has for each node of the graph the operation it was made for, None for copies at the end.
    """

    model: onnx.ModelProto
    initializers: Mapping[str, Array]
    values: Mapping[SSAValue, ExportedValue]
    origins: Sequence[Operation | None] = ()

    @property
    def weight_bytes(self) -> int:
        """Bytes of all constants."""
        return sum(array.nbytes for array in self.initializers.values())

    def to_model(self) -> onnx.ModelProto:
        """Return one self-contained model; raises RESOURCE_ERROR when its constants do not fit a protobuf message."""
        if self.weight_bytes > EXTERNAL_DATA_BYTES:
            raise QBCompilerError(
                f"{self.weight_bytes} bytes of weights do not fit one ONNX message",
                code="RESOURCE_ERROR",
                hint="save it with external data (save_mblt_onnx)",
            )
        model = onnx.ModelProto()
        model.CopyFrom(self.model)
        model.graph.initializer.extend(tensor(name, array) for name, array in self.initializers.items())
        return model


def export_mblt(
    func: FuncOp,
    store: BlobStore,
    *,
    extra_outputs: Sequence[SSAValue] = (),
    source_layout: bool = False,
    builder: GraphBuilder | None = None,
    opset: int = OPSET,
    header: Mapping[str, Attribute] | None = None,
) -> MbltExport:
    """Export a function; every value in `extra_outputs` becomes a graph output too (after the results).

    Graph inputs and outputs keep their source names and order. They have the mblt layout (channel-last), or with
    `source_layout` the layout of the source model. `builder` may be one that adds nodes of its own, for which `opset`
    is the operator set. `header` are the attributes of the module, for a function outside of it: they tell names and
    metadata of the source. Raises UNSUPPORTED_OP for an operation without an ONNX form.
    """
    exporter = _Exporter(func, builder or GraphBuilder(store), source_layout, opset)
    model = exporter.export(extra_outputs)
    write_header(model.model, header or _module_attributes(func))
    return model


def _module_attributes(func: FuncOp) -> Mapping[str, Attribute]:
    module = func.parent_op()
    return module.attributes if isinstance(module, ModuleOp) else {}


def mblt_to_onnx(
    func: FuncOp, store: BlobStore, *, extra_outputs: Sequence[SSAValue] = (), source_layout: bool = False
) -> onnx.ModelProto:
    """Return the function as one self-contained ONNX model (see `export_mblt`)."""
    return export_mblt(func, store, extra_outputs=extra_outputs, source_layout=source_layout).to_model()


def save_mblt_onnx(func: FuncOp, store: BlobStore, path: str | Path, *, source_layout: bool = True) -> None:
    """Write the function as an ONNX file (see `write_export`)."""
    write_export(export_mblt(func, store, source_layout=source_layout), path)


def write_export(exported: MbltExport, path: str | Path) -> None:
    """Write an exported graph as an ONNX file; weights above 1.5 GB go to `<file>.data` beside it."""
    target = Path(path)
    if exported.weight_bytes <= EXTERNAL_DATA_BYTES:
        _write(target, model_pieces(exported.model, exported.initializers))
        return
    model, chunks = _with_external_data(exported, f"{target.name}.data")
    _write(target.with_name(f"{target.name}.data"), chunks)
    _write(target, [model.SerializeToString()])


def tensor(name: str, array: Array) -> TensorProto:
    """Return array data as an ONNX tensor."""
    return numpy_helper.from_array(np.ascontiguousarray(array).reshape(array.shape), name)


def external_tensor(name: str, array: Array, location: str, offset: int) -> TensorProto:
    """Return an ONNX tensor whose data lie in another file."""
    proto = TensorProto(name=name, data_type=onnx_type(array.dtype.name), dims=array.shape)
    proto.data_location = TensorProto.EXTERNAL
    for key, value in (("location", location), ("offset", str(offset)), ("length", str(array.nbytes))):
        proto.external_data.add(key=key, value=value)
    return proto


def _with_external_data(exported: MbltExport, location: str) -> tuple[onnx.ModelProto, list[Any]]:
    model = onnx.ModelProto()
    model.CopyFrom(exported.model)
    chunks: list[Any] = []
    offset = 0
    for name, array in exported.initializers.items():
        if array.nbytes <= INLINE_BYTES:
            model.graph.initializer.append(tensor(name, array))
            continue
        data = np.ascontiguousarray(array)
        model.graph.initializer.append(external_tensor(name, data, location, offset))
        chunks.append(data.reshape(-1).view(np.uint8).data)
        offset += data.nbytes
    return model, chunks


def _write(path: Path, chunks: Iterable[Any]) -> None:
    with atomic_write(path) as file:
        for chunk in chunks:
            file.write(chunk)


class _Exporter:
    """One export: arguments, operations in order, results."""

    def __init__(self, func: FuncOp, builder: GraphBuilder, source_layout: bool, opset: int) -> None:
        self._block = func.body.block
        self._builder = builder
        self._opset = opset
        self._inputs = argument_names(func)
        self._outputs = result_names(func)
        self._name = func.sym_name.data
        self._dims = dict(zip(self._inputs, dimension_names(func.arg_attrs, len(self._inputs)), strict=True))
        self._result_dims = dict(zip(self._outputs, dimension_names(func.res_attrs, len(self._outputs)), strict=True))
        self._layouts = self._boundary(func.arg_attrs, len(self._inputs), source_layout)
        self._result_layouts = self._boundary(func.res_attrs, len(self._outputs), source_layout)

    @staticmethod
    def _boundary(attributes: Any, count: int, source_layout: bool) -> list[Layout]:
        changed = source_layouts(attributes, count)
        return [FIRST if source_layout and layout is not None else LAST for layout in changed]

    def export(self, extra_outputs: Sequence[SSAValue]) -> MbltExport:
        """Emit the whole function."""
        builder = self._builder
        for name in (*self._inputs, *self._outputs):
            builder.reserve(name)
        inputs = []
        for argument, name, layout in zip(self._block.args, self._inputs, self._layouts, strict=True):
            builder.define(argument, name, layout)
            inputs.append(_value_info(name, argument, layout, self._dims.get(name)))
        opset = self._opset
        origins: list[Operation | None] = [None] * len(builder.nodes)
        for op in self._block.ops:
            if op is self._block.last_op:
                break
            builder.begin(op)
            emitter = EMITTERS.get(op.name)
            if emitter is None and op.name.startswith("framework."):
                opset = onnx_mblt_framework.OPSET
                emitter = onnx_mblt_framework.emit
            if emitter is None:
                node = ", ".join(location_names(op.location)) or None
                raise QBCompilerError(f"'{op.name}' has no ONNX form", code="UNSUPPORTED_OP", node=node)
            emitter(op, builder)
            origins += [op] * (len(builder.nodes) - len(origins))
        outputs = self._finish_results()
        extra, values = self._extra(extra_outputs)
        origins += [None] * (len(builder.nodes) - len(origins))
        graph = helper.make_graph(builder.nodes, self._name, inputs, [*outputs, *extra])
        model = helper.make_model(
            graph,
            opset_imports=onnx_mblt_framework.opset_imports(builder.nodes, opset),
            ir_version=IR_VERSION,
            producer_name="qbcompiler",
        )
        return MbltExport(model, builder.initializers, values, origins)

    def _finish_results(self) -> list[onnx.ValueInfoProto]:
        """Give every result its source name, by renaming its tensor where nothing else has a claim on it."""
        terminator = self._block.last_op
        values = list(terminator.operands) if terminator is not None else []
        produced = {name for node in self._builder.nodes for name in node.output}
        renames: dict[str, str] = {}
        infos = []
        for value, name, layout in zip(values, self._outputs, self._result_layouts, strict=True):
            current = self._builder.get(value, layout)
            produced.update(self._builder.nodes[-1].output if self._builder.nodes else ())
            if current in produced and current not in renames:
                renames[current] = name
            elif current != name:  # an input that is handed out under its own name needs no node
                self._builder.nodes.append(helper.make_node("Identity", [current], [name], name=f"{name}/copy"))
            infos.append(_value_info(name, value, layout, self._result_dims.get(name)))
        self._builder.rename(renames)
        return infos

    def _extra(self, values: Sequence[SSAValue]) -> tuple[list[onnx.ValueInfoProto], dict[SSAValue, ExportedValue]]:
        """Return the extra graph outputs, each in the layout in which it is made, and where every value is found."""
        builder = self._builder
        taken = set(self._outputs)
        infos = []
        where: dict[SSAValue, ExportedValue] = {}
        for value in dict.fromkeys(values):
            layout = builder.primary(value)
            name = builder.get(value, layout)
            where[value] = ExportedValue(name, layout == FIRST)
            if name in taken or name in self._inputs or name in builder.initializers:
                continue
            taken.add(name)
            infos.append(_value_info(name, value, layout))
        return infos, where


def _value_info(name: str, value: SSAValue, layout: Layout, dims: Sequence[str] | None = None) -> onnx.ValueInfoProto:
    """Describe a tensor of the graph; `dims` are the names of its dimensions in mblt layout, `?` where it has none."""
    if not isinstance(value.type, TensorType):  # framework operators make sequences, too, and tensors of any rank
        return onnx.ValueInfoProto(name=name, type=type_proto(value.type))
    shape = shape_of(value)
    order = to_first(len(shape)) if layout == FIRST and len(shape) >= 3 else range(len(shape))
    kind = TensorType(value.type.element_type, [shape[axis] for axis in order])
    known = dims if dims is not None and len(dims) == len(shape) else ["?"] * len(shape)
    names = [f"{name}_{axis}" if known[axis] == "?" else known[axis] for axis in order]
    return onnx.ValueInfoProto(name=name, type=type_proto(kind, names))
