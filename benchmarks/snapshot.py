"""Reading a snapshot of 5,000 operations against parsing the same module as text with xDSL, both in this process.

    python -m benchmarks.snapshot [--quick]

The file is a whole `.mblt` (container, checksums, manifest, IR); the text is what `qbc-opt` prints for it.
"""

from __future__ import annotations

import gc
import tempfile
from collections.abc import Iterator
from pathlib import Path

from benchmarks.measure import Row, arguments, in_turns, show, single_thread

OPERATIONS, REQUIRED = 5_000, 0.4
_MAP = "tensor<1x56x56x16xf32>"


def block_text(number: int, source: str, weight: str) -> str:
    """Return four operations: a convolution, a gate of two, and an addition."""
    window = "kernel = [3, 3], strides = [1, 1], padding = [1, 1, 1, 1], dilations = [1, 1], groups = 1"
    return f"""
    %a{number} = mblt.conv2d {source} {{weight = #blob.ref<"{weight}" : tensor<16x3x3x16xf32>>, {window}}}
      : {_MAP} -> {_MAP} loc("conv{number}")
    %b{number} = mblt.sigmoid %a{number} : {_MAP} -> {_MAP} loc("gate{number}")
    %c{number} = mblt.mul %a{number}, %b{number} : ({_MAP}, {_MAP}) -> {_MAP} loc("product{number}")
    %d{number} = mblt.add %c{number}, {source} : ({_MAP}, {_MAP}) -> {_MAP} loc("sum{number}")"""


def module_text(weights: list[str]) -> str:
    """Return a function with four operations for each weight."""
    sources = ["%x", *(f"%d{number}" for number in range(len(weights)))]
    body = "".join(block_text(number, sources[number], key) for number, key in enumerate(weights))
    return f"func.func @main(%x: {_MAP}) -> {_MAP} {{{body}\n    func.return {sources[-1]} : {_MAP}\n}}"


def rows(quick: bool) -> Iterator[Row]:
    """Yield one row."""
    single_thread()
    import numpy as np
    from xdsl.parser import Parser

    from qbc.artifact.manifest import Manifest
    from qbc.artifact.mblt import read_mblt, write_mblt
    from qbc.driver.context import make_context
    from qbc.store import BlobStore

    context = make_context(store=BlobStore())
    rng = np.random.default_rng(0)
    weights = [context.store.put(rng.random((16, 3, 3, 16), np.float32)) for _ in range(OPERATIONS // 4)]
    text = module_text(weights)
    module = Parser(context, text).parse_module()
    module.verify()
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "model.mblt"
        write_mblt(path, module, context.store, Manifest(producer="benchmark"))
        opened = read_mblt(path, make_context(store=BlobStore())).module
        assert opened.is_structurally_equivalent(module)
        gc.collect()
        read_s, parse_s, ratio = in_turns(
            lambda: read_mblt(path, make_context(store=BlobStore())),
            lambda: Parser(context, text).parse_module(),
            3 if quick else 9,
        )
    yield Row(
        f"reading a snapshot of {OPERATIONS} operations / parsing its text",
        f"{ratio:.2f} ({read_s:.2f} s : {parse_s:.2f} s)",
        f"<= {REQUIRED}",
        ratio <= REQUIRED,
    )


if __name__ == "__main__":
    raise SystemExit(show(rows(arguments(__doc__).quick)))
