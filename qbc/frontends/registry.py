"""Frontends by name and by suffix: ONNX, and those of other packages (entry points `qbcompiler.frontends`)."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from qbc.errors import ArgumentError
from qbc.extensions import Extension, extension_names, extensions, find_extension
from qbc.frontends.base import Frontend, ImportRequest

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp


def _import_onnx(request: ImportRequest) -> ModuleOp:
    from qbc.frontends.onnx import import_onnx

    return import_onnx(
        request.path,
        request.store,
        input_shapes=request.input_shapes,
        external=request.external,
        removed=request.removed,
    )


OWN_FRONTENDS = {"onnx": Frontend((".onnx",), _import_onnx)}


def frontend_names() -> tuple[str, ...]:
    """Return the names of all frontends: those of this package, then those of others."""
    return (*OWN_FRONTENDS, *(name for name in extension_names("frontend") if name not in OWN_FRONTENDS))


def has_frontend(name: str) -> bool:
    """Return whether there is a frontend of that name; nothing is imported."""
    return name in OWN_FRONTENDS or name in extension_names("frontend")


def find_frontend(name: str) -> Frontend:
    """Return the frontend of a name; ARGUMENT_ERROR when there is none."""
    if name in OWN_FRONTENDS:
        return OWN_FRONTENDS[name]
    extension = find_extension("frontend", name)
    if extension is None:
        raise ArgumentError(f"unknown backend {name!r}", hint=f"choose one of {', '.join(frontend_names())}")
    return load_frontend(extension)


def frontend_for(path: Path) -> Frontend | None:
    """Return the frontend that reads files of the suffix of `path`; own ones first, None where there is none."""
    suffix = path.suffix.lower()
    for frontend in OWN_FRONTENDS.values():
        if suffix in frontend.suffixes:
            return frontend
    foreign = (load_frontend(extension) for extension in extensions("frontend"))
    return next((frontend for frontend in foreign if suffix in frontend.suffixes), None)


def load_frontend(extension: Extension) -> Frontend:
    """Return the frontend of another package, made to fail as EXTENSION_ERROR; it is one where it is no frontend."""
    frontend = extension.load()
    if not isinstance(frontend, Frontend):
        raise extension.error("is not a qbc.frontends.Frontend")

    def load(request: ImportRequest) -> ModuleOp:
        from xdsl.dialects.builtin import ModuleOp

        with extension.guarded():
            module = frontend.load(request)
        if not isinstance(module, ModuleOp):
            raise extension.error(f"returned {type(module).__name__}, not a module")
        return module

    return Frontend(tuple(frontend.suffixes), load)
