"""`view`: a file of ours in a graph viewer."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

from qbcompiler.channel import channel, speaks_json

HOW_TO_OPEN = "open it in Netron: pip install 'qbcompiler[view]' and run this again, or drop it on https://netron.app"


def view(options: argparse.Namespace) -> int:
    """Write an ONNX view of a file; on a terminal, and where the package netron is installed, open it until Ctrl-C."""
    from qbc.driver.view import write_view

    written = write_view(Path(options.file), options.output, options.core_mode)
    if written.other_modes:
        others = ", ".join(written.other_modes)
        channel().notice(f"the file holds programs of other core modes: {others} (--core-mode shows one of them)")
    viewer = _viewer() if _may_open(options) else None
    data: dict[str, Any] = {
        "output": str(written.output),
        "nodes": written.nodes,
        "other_core_modes": list(written.other_modes),
        "opened": viewer is not None,
    }
    text = f"wrote {written.output} ({written.nodes} nodes)"
    channel().result("view", data, text if viewer is not None or options.no_open else f"{text}\n{HOW_TO_OPEN}")
    if viewer is not None:
        viewer.start(str(written.output))
        viewer.wait()
    return 0


def _may_open(options: argparse.Namespace) -> bool:
    """Return whether somebody is there to look: programs get the file only."""
    return not options.no_open and not speaks_json() and sys.stdout.isatty()


def _viewer() -> ModuleType | None:
    try:
        import netron
    except ImportError:
        return None
    found: ModuleType = netron
    return found
