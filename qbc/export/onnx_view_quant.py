"""A quantized function as an ONNX graph for looking at: one node for each operation, encodings as metadata."""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation, SSAValue

from qbc.dialects.blob import BlobAttr, dtype_name
from qbc.dialects.common.access import shape_of, tensor_type
from qbc.dialects.common.graph import argument_names, result_names, source_layouts
from qbc.dialects.quant import ParamTable
from qbc.dialects.quant.types import quantized_element, shortest_f32
from qbc.export.onnx_mblt import MbltExport
from qbc.export.onnx_view_graph import Metadata, ViewGraph, base_name
from qbc.store import BlobStore

_DTYPES = {"i8": "int8", "i16": "int16", None: "float32"}


def quant_view(module: ModuleOp, func: FuncOp, store: BlobStore, metadata: Metadata) -> MbltExport:
    """Return the graph of a function of `quant` operations, at any level.

    Values whose bits are not decided yet are shown as floats. Tensors are channel-last; a graph input or output that
    has another layout in the source model says so in its metadata.
    """
    return _QuantView(module, func, store).build(metadata)


class _QuantView:
    def __init__(self, module: ModuleOp, func: FuncOp, store: BlobStore) -> None:
        self._table = ParamTable(module)
        self._func = func
        self._graph = ViewGraph(store)
        self._names: dict[SSAValue, str] = {}

    def build(self, metadata: Metadata) -> MbltExport:
        inputs, outputs = argument_names(self._func), result_names(self._func)
        self._graph.reserve([*inputs, *outputs])
        layouts = source_layouts(self._func.arg_attrs, len(inputs))
        for name, argument, layout in zip(inputs, self._func.args, layouts, strict=True):
            self._names[argument] = name
            self._graph.input(name, self._dtype(argument), shape_of(argument), {"source layout": layout})
        block = self._func.body.block
        returned = list(block.last_op.operands) if block.last_op is not None else []
        self._name_results(returned, outputs)
        for op in block.ops:
            if op is not block.last_op:
                self._operation(op)
        layouts = source_layouts(self._func.res_attrs, len(outputs))
        for name, value, layout in zip(outputs, returned, layouts, strict=True):
            if self._names[value] != name:
                self._graph.node("Identity", [self._names[value]], name)
            self._graph.output(name, self._dtype(value), shape_of(value), {"source layout": layout})
        return self._graph.finish(self._func.sym_name.data, metadata)

    def _name_results(self, values: list[SSAValue], names: list[str]) -> None:
        """Give results of operations the names of the outputs; others get an Identity."""
        for value, name in zip(values, names, strict=True):
            if isinstance(value.owner, Operation) and not self._is_constant(value):
                self._names.setdefault(value, name)

    @staticmethod
    def _is_constant(value: SSAValue) -> bool:
        return isinstance(value.owner, Operation) and value.owner.name == "quant.constant"

    def _operation(self, op: Operation) -> None:
        result = op.results[0]
        if self._is_constant(result) and isinstance(op.properties["value"], BlobAttr):
            self._names[result] = self._graph.blob(op.properties["value"], base_name(op))
            return
        inputs = [self._names[value] for value in op.operands]
        name = self._names.get(result)
        if name is None:
            name = self._graph.unique(base_name(op))
            self._graph.tensor(name, self._dtype(result), shape_of(result), self._encoding(result))
        self._names[result] = name
        self._graph.operation(op, inputs, name, shape_of(result), self._encoding(result))

    def _dtype(self, value: SSAValue) -> str:
        element = quantized_element(value)
        if element is None:
            return dtype_name(tensor_type(value).element_type)
        row = self._table.row_of(value)
        return _DTYPES[element.bits or (row.bits if row is not None else None)]

    def _encoding(self, value: SSAValue) -> dict[str, object]:
        """Return bits, scale and zero point of a value, as far as they are known, and its row."""
        element, row = quantized_element(value), self._table.row_of(value)
        if element is None:
            return {}
        encoding = self._table.encoding(value)
        found: dict[str, object] = {"row": element.row_name}
        if encoding is not None:
            storage, scale, zero_point = encoding
            return {**found, "bits": storage, "scale": shortest_f32(scale), "zero point": zero_point}
        bits = element.bits or (row.bits if row is not None else None)
        scales = "one for each channel" if row is not None and row.channel_scales is not None else None
        return {**found, "bits": bits, "scale": scales}
