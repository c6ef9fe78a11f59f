"""Any module as an ONNX model that viewers open."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import onnx
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation

from qbc.dialects.mblt.layer_types import LAYER_TYPES, layer_type
from qbc.dialects.npu import ProgramOp
from qbc.errors import ArgumentError, QBCompilerError
from qbc.export.onnx_framework import framework_to_onnx
from qbc.export.onnx_mblt import INLINE_BYTES, MbltExport, export_mblt, external_tensor, tensor
from qbc.export.onnx_view_graph import Metadata, operation_metadata, set_metadata
from qbc.export.onnx_view_npu import program_view
from qbc.export.onnx_view_quant import quant_view
from qbc.store import BlobStore


def module_view(
    module: ModuleOp,
    store: BlobStore,
    metadata: Metadata,
    *,
    core_mode: str | None = None,
    estimates: Mapping[str, Sequence[Mapping[str, Any]]] | None = None,
) -> MbltExport:
    """Return what a viewer shows of a module: a program, else the function `@main`.

    - A program: one node for each command, host inputs and outputs in float and in the layout of the source model.
      `core_mode` chooses among several (the first by default), `estimates` has the rows of the latency report by mode.
    - Quantized functions: one node for each operation, with its bits, scale and zero point.
    - mblt functions: standard operators that compute the same, in the layout of the source model.
    - framework functions: the ONNX model itself.

    Metadata of a node name its operation and the layers of the source model. Raises ArgumentError for a core mode that
    is not there, VERIFY_ERROR for a module without a program or `@main`.
    """
    programs = [op for op in module.ops if isinstance(op, ProgramOp)]
    if programs:
        program = _chosen(programs, core_mode)
        facts = {**metadata, "target": program.target.data, "core mode": program.mode.data}
        return program_view(program, store, facts, (estimates or {}).get(program.mode.data, ()))
    if core_mode is not None:
        raise ArgumentError(f"there is no program of core mode {core_mode!r}", hint="core modes are those of an .mxq")
    func = next((op for op in module.ops if isinstance(op, FuncOp) and op.sym_name.data == "main"), None)
    if func is None or func.is_declaration:
        raise QBCompilerError("the module has neither a program nor a function @main", code="VERIFY_ERROR")
    dialects = {op.name.partition(".")[0] for op in func.walk()}
    if "quant" in dialects:
        return quant_view(module, func, store, metadata)
    if dialects <= {"func", "framework"} and not _has_mblt_names(func):
        return _framework_view(module, store, metadata)
    return _mblt_view(func, store, metadata)


def _chosen(programs: Sequence[ProgramOp], core_mode: str | None) -> ProgramOp:
    modes = [program.mode.data for program in programs]
    if core_mode is None:
        return programs[0]
    if core_mode not in modes:
        known = ", ".join(dict.fromkeys(modes))
        raise ArgumentError(f"there is no program of core mode {core_mode!r}", hint=f"core modes here: {known}")
    return programs[modes.index(core_mode)]


def _has_mblt_names(func: FuncOp) -> bool:
    return func.arg_attrs is not None and any("mblt.name" in entry.data for entry in func.arg_attrs)


def _framework_view(module: ModuleOp, store: BlobStore, metadata: Metadata) -> MbltExport:
    model = framework_to_onnx(module, store)
    set_metadata(model, metadata)
    return MbltExport(model, {}, {})


def _mblt_view(func: FuncOp, store: BlobStore, metadata: Metadata) -> MbltExport:
    exported = export_mblt(func, store, source_layout=True)
    model = exported.model
    for node, origin in zip(model.graph.node, exported.origins, strict=True):
        set_metadata(node, {} if origin is None else {**operation_metadata(origin), "type": _type(origin)})
    set_metadata(model, metadata)
    model.graph.value_info.extend(_inferred(exported))
    return exported


def _type(op: Operation) -> str | None:
    return layer_type(op) if op.name in LAYER_TYPES else None


def _inferred(exported: MbltExport) -> Sequence[onnx.ValueInfoProto]:
    """Return types and shapes of the tensors inside; inference sees of large constants their shape only."""
    skeleton = onnx.ModelProto()
    skeleton.CopyFrom(exported.model)
    for name, array in exported.initializers.items():
        small = array.nbytes <= INLINE_BYTES
        skeleton.graph.initializer.append(tensor(name, array) if small else external_tensor(name, array, "none", 0))
    infos: Sequence[onnx.ValueInfoProto] = onnx.shape_inference.infer_shapes(skeleton).graph.value_info
    return infos
