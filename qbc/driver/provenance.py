"""The record of what a build was made from, so that it can be made again: digests and settings.

No paths and no times: equal inputs give equal records, wherever the files lie and whichever route is taken. The keys
are described in docs/formats.md.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from xdsl.dialects.builtin import ModuleOp, TensorType
from xdsl.dialects.func import FuncOp

from qbc.dialects.common.graph import argument_names, source_layouts
from qbc.dialects.common.tensor_text import source_dims
from qbc.driver.samples import BoundSamples
from qbc.errors import ArgumentError
from qbc.passes.base import CompileContext

RECORD_VERSION = 1


def file_record(data: bytes | memoryview) -> dict[str, Any]:
    """Return SHA-256 and size of the content of a file."""
    return {"sha256": hashlib.sha256(data).hexdigest(), "bytes": len(data)}


def source_record(path: Path, external: Mapping[str, memoryview]) -> dict[str, Any]:
    """Return the record of a source model; `external` are the weight files beside it, in order of their names."""
    from qbc.store import map_file

    files = [file_record(external[name]) for name in sorted(external)]
    return {"format": path.suffix.lower().lstrip("."), **file_record(map_file(path)), "external_data": files}


def graph_record(module: ModuleOp) -> dict[str, Any]:
    """Return the record of a parsed graph: a digest of its content, and its inputs as the source model has them.

    The digest covers the weights, because operations name them by keys that follow from their bytes. The shapes of the
    inputs are those that were bound at import.
    """
    from qbc.artifact.ir_table import write_ir_table

    digest = hashlib.sha256(write_ir_table(module)).hexdigest()
    return {"sha256": digest, "inputs": [entry for func in _main_functions(module) for entry in _inputs(func)]}


def _main_functions(module: ModuleOp) -> list[FuncOp]:
    return [op for op in module.ops if isinstance(op, FuncOp) and op.sym_name.data == "main"]


def _inputs(func: FuncOp) -> Iterator[dict[str, Any]]:
    kinds = func.function_type.inputs.data
    layouts = source_layouts(func.arg_attrs, len(kinds))
    for name, kind, layout in zip(argument_names(func), kinds, layouts, strict=True):
        if isinstance(kind, TensorType):
            shape = [None if dim < 0 else int(dim) for dim in source_dims(kind, layout)]
            yield {"name": name, "shape": shape, "type": str(kind.element_type)}
        else:
            yield {"name": name, "shape": None, "type": str(kind)}


def calibration_record(ctx: CompileContext) -> dict[str, Any]:
    """Return the digests of the samples that passes saw, in order, or the digest of statistics that were loaded."""
    record: dict[str, Any] = {}
    load_path = None if ctx.kept_statistics is None else ctx.kept_statistics.load_path
    if load_path is not None:
        from qbc.store import map_file

        record["statistics"] = file_record(map_file(load_path))
    if isinstance(ctx.samples, BoundSamples):
        record["random"] = ctx.samples.is_random
        record["count"] = len(ctx.samples.digests)
        record["samples"] = list(ctx.samples.digests)
    return record


def check_source(record: Mapping[str, Any], model: Path) -> None:
    """Compare a source model with the record of a snapshot; raises ARGUMENT_ERROR that says what differs."""
    from qbc.driver.context import make_context
    from qbc.driver.files import check_source as check_model_file
    from qbc.driver.files import read_module

    known = record.get("source")
    if known is None:
        raise ArgumentError(
            "the file does not record its source model",
            hint="it was made with QBCOMPILER_PROVENANCE=0",
        )
    check_model_file(model)
    external: dict[str, memoryview] = {}
    if known.get("external_data"):
        read_module(model, make_context(), external=external)
    found = source_record(model, external)
    different = [key for key in ("format", "sha256", "external_data") if found[key] != known.get(key)]
    if different:
        raise ArgumentError(
            f"{str(model)!r} is not the recorded source model: {' and '.join(different)} differ",
            hint="compare with the record that `qbcompiler info` shows",
        )
