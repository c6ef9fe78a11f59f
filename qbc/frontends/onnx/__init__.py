"""The ONNX frontend: a model file becomes a module of the framework dialect."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from xdsl.dialects.builtin import ModuleOp

from qbc.store import BlobStore


def import_onnx(
    path: str | Path,
    store: BlobStore,
    *,
    input_shapes: Mapping[str, tuple[int, ...]] | None = None,
    external: dict[str, memoryview] | None = None,
    removed: dict[str, str] | None = None,
) -> ModuleOp:
    """Import an ONNX file: its operators at opset 25, with names, dimension names, metadata and inferred types.

    Weights become views of the memory-mapped file in `store`. `input_shapes` binds graph inputs before inference.
    `external` is filled with the external weight files by the names that the model gives them,
    `removed` by the source nodes that no operator of the module stands for, with the reason.
    Raises QBCompilerError: INVALID_MODEL, UNSUPPORTED_OPSET, MISSING_EXTERNAL_DATA, ARGUMENT_ERROR, SHAPE_ERROR.
    """
    from qbc.frontends.onnx.build import build_module
    from qbc.frontends.onnx.prepare import prepare

    prepared = prepare(Path(path), input_shapes)
    if external is not None:
        external.update(prepared.external)
    if removed is not None:
        removed.update(prepared.removed)
    return build_module(prepared, store)


__all__ = ["import_onnx"]
