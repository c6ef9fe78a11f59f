"""What the commands show to people: progress on stderr, the result on stdout."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from qbc.driver.events import Event, EventSink


def progress_printer(*, quiet: bool, verbose: bool = False) -> EventSink:
    """Return an event sink: one line that is written over on a terminal, one line a phase elsewhere; notices always.

    With `verbose` every pass has a line of its own.
    """
    terminal = sys.stderr.isatty() and not verbose

    total = 0  # steps of the run, as the last phase said

    def show(event: Event) -> None:
        nonlocal total
        if event.kind == "notice":
            clear = "\r\033[K" if terminal and not quiet else ""
            sys.stderr.write(f"{clear}notice: {event.name}\n")
        elif quiet:
            return
        elif event.kind == "pass" and terminal:
            sys.stderr.write(f"\r\033[K[{event.done + 1}/{event.total}] {event.name}")
            sys.stderr.flush()
        elif event.kind == "sample" and terminal:
            left = event.data["remaining_seconds"]
            sys.stderr.write(f"\r\033[K{event.name}: sample {event.done}/{event.total}, {left:.0f} s left")
            sys.stderr.flush()
        elif event.kind == "pass" and verbose:
            sys.stderr.write(f"[{event.done + 1}/{event.total}] {event.name}\n")
        elif event.kind == "phase" and not terminal:
            total = event.total
            sys.stderr.write(f"[{event.done}/{event.total}] phase {event.name}\n")
        elif event.kind == "write" and not terminal:
            sys.stderr.write(f"[{total}/{total}] write {event.name}\n")
        elif event.kind == "result" and terminal:
            sys.stderr.write("\r\033[K")

    return show


def human_bytes(size: int) -> str:
    """Return `12.3 KB`, `4.5 MB`, ..."""
    if size < 1000:
        return f"{size} bytes"
    value = float(size)
    for unit in ("KB", "MB", "GB"):
        value /= 1000.0
        if value < 1000.0:
            return f"{value:.1f} {unit}"
    return f"{value / 1000.0:.1f} TB"


def shape_text(shape: Sequence[int | None] | None) -> str:
    """Return a shape as `1x3x224x?`; `?` is an open dimension, or alone a shape that is not known."""
    if shape is None:
        return "?"
    return "x".join("?" if size is None else str(size) for size in shape) or "a number"


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return an aligned text table; columns whose cells are all numbers are right-aligned."""
    widths = [max(len(line[index]) for line in (header, *rows)) for index in range(len(header))]
    numeric = [all(_is_number(row[index]) for row in rows) for index in range(len(header))]
    lines = [_line(header, widths, numeric), "  ".join("-" * width for width in widths)]
    lines.extend(_line(row, widths, numeric) for row in rows)
    return "\n".join(lines)


def _line(cells: Sequence[str], widths: Sequence[int], numeric: Sequence[bool]) -> str:
    parts = [
        cell.rjust(width) if right else cell.ljust(width)
        for cell, width, right in zip(cells, widths, numeric, strict=True)
    ]
    return "  ".join(parts).rstrip()


def _is_number(cell: str) -> bool:
    return not cell or cell.lstrip("+-")[:1].isdigit() or cell in ("-", "inf")
