"""A program as an ONNX graph for looking at: one node for each command, the host boundary as standard operators."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from xdsl.ir import SSAValue

from qbc.dialects.npu import BufferOp, ConstantOp, HostTensorAttr, KernelOp, ProgramOp
from qbc.dialects.npu.base import value_type
from qbc.dialects.npu.program import buffer_root
from qbc.dialects.npu.types import BufferType
from qbc.errors import QBCompilerError
from qbc.export.onnx_mblt import MbltExport
from qbc.export.onnx_mblt_builder import to_first, to_last
from qbc.export.onnx_view_graph import DOMAIN, Metadata, ViewGraph, base_name
from qbc.store import BlobStore

_DTYPES = {"i8": "int8", "i16": "int16", "i32": "int32"}
BLOCK = "channels"  # property of commands that compute a block of the channels of their output
_HOST_DTYPES = {"f32": "float32", "i32": "int32", "u8": "uint8"}


def program_view(
    program: ProgramOp, store: BlobStore, metadata: Metadata, estimates: Sequence[Mapping[str, Any]] = ()
) -> MbltExport:
    """Return the graph of a program, in either form, from host inputs to host outputs.

    `estimates` are the rows of the latency report; where there is one for each command, nodes tell their time.
    """
    return _ProgramView(program, store, estimates).build(metadata)


def _computed_shape(op: KernelOp) -> tuple[int, ...]:
    """Return the shape of what a command computes: of the whole output, or of its block of channels."""
    shape = op.output_type.shape
    if BLOCK not in op.properties:
        return shape
    begin, end = op.integers(BLOCK)
    return (*shape[:-1], end - begin)


class _ProgramView:
    def __init__(self, program: ProgramOp, store: BlobStore, estimates: Sequence[Mapping[str, Any]]) -> None:
        self._program = program
        self._graph = ViewGraph(store)
        commands = [op for op in program.body.block.ops if isinstance(op, KernelOp)]
        fits = len(commands) == len(estimates)
        self._estimates = dict(zip(commands, estimates, strict=True)) if fits else {}
        self._values: dict[SSAValue, str] = {}  # value form, and constants
        self._written: dict[SSAValue, list[tuple[str, SSAValue]]] = {}  # root buffer -> tensors that its writers made
        self._joined: dict[tuple[SSAValue, int], str] = {}

    def build(self, metadata: Metadata) -> MbltExport:
        inputs = self._hosts(self._program.input_values, self._program.host_inputs.data)
        outputs = self._hosts(list(self._program.return_op.values), self._program.host_outputs.data)
        self._graph.reserve(name for name, _, _ in (*inputs, *outputs))
        for name, value, host in inputs:
            self._enter(name, value, host)
        for op in self._program.body.block.ops:
            if isinstance(op, ConstantOp):
                self._values[op.result] = self._graph.blob(op.value, base_name(op))
            elif isinstance(op, KernelOp):
                self._command(op)
        for name, value, host in outputs:
            self._leave(name, value, host)
        return self._graph.finish(self._program.sym_name.data, metadata)

    @staticmethod
    def _hosts(
        values: Sequence[SSAValue], hosts: Sequence[HostTensorAttr]
    ) -> list[tuple[str, SSAValue, HostTensorAttr]]:
        """Return name, value and descriptor of each boundary value; those of further images have a number."""
        found = []
        for number, value in enumerate(values):
            image, host = number // len(hosts), hosts[number % len(hosts)]
            found.append((host.label.data + (f" of image {image}" if image else ""), value, host))
        return found

    # --- commands ------------------------------------------------------------------------------------------------

    def _command(self, op: KernelOp) -> None:
        inputs = [self._read(value) for value in op.inputs]
        kind = op.output_type
        estimate = self._estimates.get(op, {})
        place = self._place(op.outs[0]) if op.outs else {}
        shape = _computed_shape(op)
        name = self._graph.unique(base_name(op))
        self._graph.tensor(name, _DTYPES[kind.element], shape, place)
        facts = {"bits": kind.element, "estimated us": estimate.get("us"), "bound by": estimate.get("bound"), **place}
        self._graph.operation(op, inputs, name, shape, facts)
        if op.results:
            self._values[op.results[0]] = name
            return
        target = op.outs[0]
        written = self._written.setdefault(buffer_root(target)[0].results[0], [])
        if BLOCK not in op.properties:
            written.clear()
        written.append((name, target))

    @staticmethod
    def _place(value: SSAValue) -> dict[str, object]:
        """Return where a buffer lies, once it has an address."""
        root, offset = buffer_root(value)
        if not isinstance(root, BufferOp) or root.space is None or root.address is None:
            return {}
        return {
            "space": root.space.data,
            "address": root.address.value.data + offset,
            "bytes": value_type(value).nbytes,
        }

    def _read(self, value: SSAValue) -> str:
        """Return the tensor of an operand; a buffer with several writers, or under another shape, gets a node."""
        if value in self._values:
            return self._values[value]
        root = buffer_root(value)[0].results[0]
        parts = [(self._values[root], root)] if root in self._values else self._written.get(root)
        if not parts:
            raise QBCompilerError("the program reads a buffer that no command wrote", code="VERIFY_ERROR")
        if len(parts) == 1 and parts[0][1] is value:
            return parts[0][0]
        key = (value, len(parts))
        if key not in self._joined:
            self._joined[key] = self._join(value, parts)
        return self._joined[key]

    def _join(self, value: SSAValue, parts: Sequence[tuple[str, SSAValue]]) -> str:
        """Add what makes an operand of what was written: blocks of channels side by side, then another shape."""
        kind = value_type(value)
        dtype, (name, target) = _DTYPES[kind.element], parts[0]
        if len(parts) > 1:
            shape = value_type(target).shape
            whole = self._graph.tensor(self._graph.unique(f"{name}.whole"), dtype, shape, self._place(target))
            self._graph.node("Concat", [part for part, _ in parts], whole, attributes={"axis": len(shape) - 1})
            name = whole
        if value is target:
            return name
        view = self._graph.tensor(self._graph.unique(f"{name}.view"), dtype, kind.shape, self._place(value))
        facts = {"operation": "npu.view"}
        if value_type(target).nbytes == kind.nbytes:
            shape_name = self._graph.constant(np.array(kind.shape, np.int64), f"{view}.shape")
            self._graph.node("Reshape", [name, shape_name], view, metadata=facts)
        else:
            offset = {"offset": buffer_root(value)[1]}
            self._graph.node("View", [name], view, domain=DOMAIN, attributes=offset, metadata=facts)
        return view

    # --- host boundary -------------------------------------------------------------------------------------------

    def _enter(self, name: str, value: SSAValue, host: HostTensorAttr) -> None:
        kind = value_type(value)
        dtype, shape = _HOST_DTYPES[host.dtype.data], kind.shape
        moves = bool(host.source_layout.data)
        source = tuple(shape[axis] for axis in to_first(len(shape))) if moves else shape
        self._graph.input(name, dtype, source)
        current = name
        if moves:
            current = self._graph.tensor(self._graph.unique(f"{name}.channel_last"), dtype, shape)
            self._graph.node("Transpose", [name], current, attributes={"perm": list(to_last(len(shape)))})
        if host.dtype.data != "i32":
            codes = self._graph.tensor(self._graph.unique(f"{name}.codes"), _DTYPES[kind.element], shape)
            self._encode(host, current, codes, kind.element)
            current = codes
        self._values[value] = current
        if isinstance(value.type, BufferType):
            self._written[value] = [(current, value)]
            del self._values[value]

    def _encode(self, host: HostTensorAttr, source: str, codes: str, element: str) -> None:
        facts = {"operation": "host", "bits": element, "scale": f"{host.scales[0]:g}"}
        if host.dtype.data == "u8":  # the byte is the code plus 128
            self._graph.node("BytesToCodes", [source], codes, domain=DOMAIN, metadata=facts)
            return
        self._graph.node("QuantizeLinear", [source, *self._scale(host, codes, element)], codes, metadata=facts)

    def _leave(self, name: str, value: SSAValue, host: HostTensorAttr) -> None:
        kind = value_type(value)
        dtype, shape = _HOST_DTYPES[host.dtype.data], kind.shape
        moves = bool(host.source_layout.data)
        current = self._read(value)
        if host.dtype.data != "i32":
            last = self._graph.unique(f"{name}.channel_last") if moves else name
            scale = self._scale(host, last, kind.element)
            attributes = {"axis": len(shape) - 1} if host.is_per_channel else {}
            facts = {"operation": "host", "bits": kind.element}
            self._graph.node("DequantizeLinear", [current, *scale], last, attributes=attributes, metadata=facts)
            if moves:
                self._graph.tensor(last, dtype, shape)
            current = last
        if moves:
            self._graph.node("Transpose", [current], name, attributes={"perm": list(to_first(len(shape)))})
        elif current != name:
            self._graph.node("Identity", [current], name)
        target = tuple(shape[axis] for axis in to_first(len(shape))) if moves else shape
        self._graph.output(name, dtype, target)

    def _scale(self, host: HostTensorAttr, base: str, element: str) -> list[str]:
        """Return the initializers of scale and zero point."""
        scales = np.array(host.scales if host.is_per_channel else host.scales[0], np.float32)
        zeros = np.full(scales.shape, host.zero_point.value.data, _DTYPES[element])
        return [self._graph.constant(scales, f"{base}.scale"), self._graph.constant(zeros, f"{base}.zero_point")]
