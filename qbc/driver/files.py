"""Reading a module from any file we know, and writing IR text with its blobs."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from xdsl.dialects.builtin import ModuleOp

from qbc.atomic import is_device, undone_on_failure, write_file
from qbc.dialects.blob.handles import blob_keys
from qbc.driver.blobs import sidecar, write_blobs
from qbc.driver.context import DriverContext
from qbc.driver.environment import ignored_settings
from qbc.errors import ArgumentError, QBCompilerError
from qbc.passes.base import CompileContext
from qbc.pipelines.text import parse_ir, print_ir
from qbc.pipelines.verify import verify_module

if TYPE_CHECKING:
    from qbc.frontends import Frontend

InputShapes = Mapping[str, tuple[int, ...]]

SNAPSHOT_SUFFIXES = (".mblt", ".mxq")
OTHER_FORMATS = {
    ".pt": "PyTorch",
    ".pth": "PyTorch",
    ".ts": "TorchScript",
    ".torchscript": "TorchScript",
    ".tflite": "TFLite",
    ".pb": "TensorFlow",
    ".h5": "Keras",
    ".keras": "Keras",
}


def read_text(path: Path) -> str:
    """Return the text of a file; unreadable or binary files are ARGUMENT_ERROR."""
    try:
        return path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise ArgumentError(f"cannot read {str(path)!r}: {error.strerror}") from None
    except ValueError:  # bytes that are not UTF-8, or a path that no file can have
        raise ArgumentError(
            f"{str(path)!r} is not text", hint="inputs are .mlir, .onnx, .mblt and .mxq files"
        ) from None


def check_source(path: Path, backend: str | None = None) -> None:
    """Refuse model files of formats that have no frontend, and files that are no source of a compilation."""
    require_file(path)
    suffix = path.suffix.lower()
    if suffix in (".mblt", ".mlir") or source_frontend(path, backend) is not None:
        return
    if suffix in OTHER_FORMATS:
        raise QBCompilerError(
            f"{str(path)!r}: {OTHER_FORMATS[suffix]} models cannot be read in this version",
            code="UNSUPPORTED_FEATURE",
            hint="export the model to ONNX",
        )
    raise ArgumentError(
        f"{str(path)!r} has no suffix of a model",
        hint="models are .onnx, .mblt or .mlir files",
    )


def is_source_model(path: Path) -> bool:
    """Return whether a source of a compilation is a model to import: neither a snapshot nor IR text."""
    return path.suffix.lower() not in (*SNAPSHOT_SUFFIXES, ".mlir")


def is_binary(path: Path) -> bool:
    """Return whether a file is a snapshot or a model that a frontend reads; anything else is IR text."""
    return path.suffix.lower() in SNAPSHOT_SUFFIXES or (bool(path.suffix) and source_frontend(path) is not None)


def source_frontend(path: Path, backend: str | None = None) -> Frontend | None:
    """Return the frontend of a source model, by name or by the suffix of the file; None for snapshots and texts.

    ARGUMENT_ERROR when there is no frontend of the name, or when it reads other files.
    """
    if not is_source_model(path):
        return None
    from qbc.frontends.registry import find_frontend, frontend_for

    if backend is None:
        return frontend_for(path)
    frontend = find_frontend(backend)
    if path.suffix.lower() in frontend.suffixes:
        return frontend
    if path.suffix.lower() in OTHER_FORMATS:
        return None
    raise ArgumentError(
        f"{str(path)!r} has no suffix of a model that backend {backend!r} reads",
        hint=f"it reads {', '.join(frontend.suffixes)} files",
    )


def read_module(
    path: Path,
    ctx: DriverContext,
    *,
    input_shapes: InputShapes | None = None,
    external: dict[str, memoryview] | None = None,
    backend: str | None = None,
) -> ModuleOp:
    """Read a module by the suffix of the file: models are imported, snapshots are opened, anything else is IR text.

    Text is verified, a snapshot has checksums.

    `backend` names the frontend of a model, which follows from the suffix otherwise. `external` is filled with the
    weight files beside a model, by the names that the model gives them. Source nodes that no operation of the module
    stands for begin the report `removed` of `ctx`.
    """
    suffix = path.suffix.lower()
    frontend = source_frontend(path, backend)
    if frontend is not None or suffix in SNAPSHOT_SUFFIXES:
        require_file(path)
    if frontend is not None:
        from qbc.frontends import ImportRequest

        request = ImportRequest(path, ctx.store, dict(input_shapes or {}), {} if external is None else external)
        module = frontend.load(request)
        ctx.report["removed"] = request.removed
        ignored = ignored_settings()
        if ignored is not None:
            ctx.notice(ignored)
        return module
    if suffix == ".mblt":
        from qbc.artifact.mblt import read_mblt

        return read_mblt(path, ctx, ctx.store).module
    if suffix == ".mxq":
        from qbc.driver.program import module_of_mxq

        return module_of_mxq(path, ctx)
    text = read_text(path)
    add_sidecar(path, ctx)
    module = parse_ir(ctx, text, str(path))
    verify_module(module)
    return module


def require_file(path: Path) -> None:
    """Raise ARGUMENT_ERROR unless `path` is an existing file."""
    try:
        exists = path.exists()
    except OSError as error:
        raise ArgumentError(f"cannot read {str(path)!r}: {error.strerror}") from None
    if not exists:
        raise ArgumentError(f"file {str(path)!r} does not exist")
    if not path.is_file():
        raise ArgumentError(f"{str(path)!r} is not a file")


def add_sidecar(path: Path, ctx: DriverContext) -> None:
    """Make the blobs beside an IR text file available, when there are any."""
    if sidecar(path).is_dir():
        ctx.add_blob_directory(sidecar(path))


def write_ir(module: ModuleOp, ctx: CompileContext, path: Path) -> None:
    """Write IR text to `path` and the blobs it names to the directory beside it; a device has nothing beside it.

    The text comes last: where it stands its weights do too, and when it cannot be written nothing is left.
    """
    with undone_on_failure() as made:
        if not is_device(path):
            save_blobs(module, ctx, sidecar(path), made)
        write_file(path, print_ir(module))


def save_blobs(module: ModuleOp, ctx: CompileContext, directory: Path, made: list[Path]) -> None:
    """Write the blobs that a module names to a directory, whether or not anything read them before.

    The store is opened only where it can hold one of them: text without weights stays quick. What did not exist before
    is added to `made`, for `undone_on_failure`.
    """
    if isinstance(ctx, DriverContext) and not ctx.has_blobs:
        return
    if blob_keys(module):
        write_blobs(module, ctx.store, directory, made)
