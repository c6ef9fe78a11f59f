"""The model and the output where no argument names them: the one path that the configuration names."""

from __future__ import annotations

from qbc.driver.plan import CompileOptions, resolve_options
from qbc.errors import ArgumentError


def configured_model(options: CompileOptions) -> str:
    """Return the path in `modelPaths`; ARGUMENT_ERROR where there is none, or where there are several."""
    return _only(
        resolve_options(options, features=False).config.model_paths,
        "modelPaths",
        "no model is given",
        "pass model (--model), or modelPaths with one path in the configuration",
    )


def configured_output(options: CompileOptions) -> str:
    """Return the path in `savePaths`, whose default is one path; ARGUMENT_ERROR for an empty list or several."""
    return _only(
        resolve_options(options, features=False).config.save_paths,
        "savePaths",
        "no output is given",
        "pass save_path (--output), or savePaths with one path in the configuration",
    )


def _only(paths: list[str], key: str, absent: str, hint: str) -> str:
    if len(paths) > 1:
        raise ArgumentError(
            f"{key} of the configuration names {len(paths)} files, one is compiled at a time", hint=hint
        )
    if not paths or not paths[0]:
        raise ArgumentError(absent, hint=hint)
    return paths[0]
