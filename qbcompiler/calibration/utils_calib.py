"""Reading calibration manifests."""

from __future__ import annotations

from pathlib import Path


def list_calib_files_in_json(path: str | Path) -> list[list[str]]:
    """Return the rows of a JSON manifest: for each sample the files of its inputs.

    Paths are resolved as the compiler does it: beside the manifest first, then from the working directory.
    """
    from qbc.argument_types import path_of
    from qbc.calibration.manifests import read_manifest

    return [[str(file) for file in row] for row in read_manifest(path_of("path", path)).rows]
