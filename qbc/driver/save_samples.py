"""Calibration samples as the compiler consumes them, written as files: section saveSample of the configuration.

The directory holds one `.npy` for each sample and value, in `inputs`, `float` (results of the float graph) and
`integer` (results of the quantized one), and `samples.json`, a manifest that is calibration data itself.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import SSAValue

from qbc.atomic import atomic_write
from qbc.driver.samples import input_specs, main_function
from qbc.errors import QBCompilerError
from qbc.passes.base import CompileContext, source_names

if TYPE_CHECKING:
    import numpy.typing as npt

    from qbc.config.save_sample import SaveSampleConfig
    from qbc.store import BlobStore

    Array = npt.NDArray[Any]

FLOAT, INTEGER = "float", "integer"


def save_samples(module: ModuleOp, ctx: CompileContext, config: SaveSampleConfig) -> None:
    """Write the first samples and what the float graph and the quantized module make of them.

    `module` is materialized and holds the float graph of `quant-collect`. Stops before `maxBytesMB` would be exceeded,
    with a notice. Raises ARGUMENT_ERROR for a layer that does not exist, OUTPUT_WRITE_ERROR when a file cannot be
    written.
    """
    from qbc.passes.quant.float_graph import float_graph

    function = main_function(module)
    reference = float_graph(function, ctx)
    if reference is None or ctx.samples is None:
        ctx.notice("saveSample writes nothing: the pipeline collects no statistics")
        return
    folder = _Folder(Path(config.save_path), ctx, config)
    graphs: dict[str, _FloatGraph | _IntegerGraph] = {
        FLOAT: _FloatGraph(reference, ctx, config),
        INTEGER: _IntegerGraph(function, ctx, config),
    }
    specs = input_specs(module)
    rows = []
    try:
        for index, sample in enumerate(islice(iter(ctx.samples), config.num_samples)):
            arrays = {("inputs", spec.name): _as_given(sample[spec.name], spec.division_factor) for spec in specs}
            kept = dict(arrays) if config.inputs else {}
            for stage in config.stages:
                kept.update({(stage, name): array for name, array in graphs[stage].run(sample)})
            if not folder.has_room(kept.values()):
                break
            paths = {key: folder.write(index, key, array) for key, array in kept.items()}
            rows.append([paths[key] for key in arrays] if config.inputs else [])
        folder.write_manifest([spec.name for spec in specs], [list(spec.shape) for spec in specs], rows)
    except OSError as error:
        message = f"cannot write samples to {config.save_path!r}: {error.strerror or error}"
        raise QBCompilerError(message, code="OUTPUT_WRITE_ERROR") from None


def _as_given(array: Array, division_factor: float | None) -> Array:
    """Return a sample in the form in which it is calibration data: pixels for uint8 inputs."""
    import numpy as np

    return array if division_factor is None else np.rint(array * division_factor).astype(np.uint8)


class _FloatGraph:
    """The float graph and the values of it that are written."""

    def __init__(self, function: FuncOp, ctx: CompileContext, config: SaveSampleConfig) -> None:
        from qbc.execute.float_ort import FloatSession

        self.wanted = dict(_wanted(function, config))
        self.is_needed = FLOAT in config.stages and bool(self.wanted)
        self.session = FloatSession(function, ctx.store, list(self.wanted.values())) if self.is_needed else None

    def run(self, sample: dict[str, Array]) -> Iterator[tuple[str, Array]]:
        if self.session is None:
            return
        found = self.session.run(sample)
        for name, value in self.wanted.items():
            yield name, found[value]


class _IntegerGraph:
    """The materialized function; its codes are written as the numbers they stand for."""

    def __init__(self, function: FuncOp, ctx: CompileContext, config: SaveSampleConfig) -> None:
        self.wanted = dict(_wanted(function, config))
        self.is_needed = INTEGER in config.stages and bool(self.wanted)
        self.function = function
        self.store = ctx.store
        self.program: Any = None

    def run(self, sample: dict[str, Array]) -> Iterator[tuple[str, Array]]:
        from qbc.execute.integer import IntegerProgram

        if not self.is_needed:
            return
        self.program = self.program or IntegerProgram(self.function, self.store)
        found: dict[SSAValue, Array] = {}

        def observer(value: SSAValue) -> Any:
            return lambda codes: found.__setitem__(value, _decoded(codes, value, self.store))

        self.program.run(sample, {value: observer(value) for value in self.wanted.values()})
        for name, value in self.wanted.items():
            yield name, found[value]


def _decoded(codes: Array, value: SSAValue, store: BlobStore) -> Array:
    """Return the numbers of an array of codes; the array of an observer is only valid during its call."""
    from qbc.dialects.quant import quantized_element
    from qbc.execute.integer import final_encoding
    from qbc.kernels.storage import dequantize

    if quantized_element(value) is None:
        return codes.copy()
    _, scale, zero_point = final_encoding(value, store)
    return dequantize(codes, scale, zero_point)


def _wanted(function: FuncOp, config: SaveSampleConfig) -> Iterator[tuple[str, SSAValue]]:
    """Yield name and value of the outputs and of the layers that the configuration names."""
    from qbc.dialects.common.graph import result_names
    from qbc.passes.layer_names import matching_names

    block = function.body.block
    if config.layers:
        layers: dict[str, SSAValue] = {}
        for op in block.ops:
            if op.results and not op.name.endswith((".constant", ".quantize", ".dequantize")):
                layers.update(dict.fromkeys(source_names(op), op.results[0]))
        chosen = matching_names(config.layers, layers, "saveSample.layers")
        yield from ((name, value) for name, value in layers.items() if name in chosen)
    if config.outputs and block.last_op is not None:
        yield from zip(result_names(function), block.last_op.operands, strict=True)


class _Folder:
    """The directory that is filled, and how much may still go into it."""

    def __init__(self, root: Path, ctx: CompileContext, config: SaveSampleConfig) -> None:
        self.root = root
        self.ctx = ctx
        self.float_type = config.dtype
        self.limit = config.max_bytes_mb
        self.left = int(config.max_bytes_mb * 2**20)

    def has_room(self, arrays: Any) -> bool:
        """Return whether the arrays of one sample still fit, and count them."""
        self.left -= sum(array.nbytes for array in arrays)
        if self.left < 0:
            self.ctx.notice(f"saveSample stops: the samples are larger than maxBytesMB {self.limit:g}")
        return self.left >= 0

    def write(self, index: int, key: tuple[str, str], array: Array) -> str:
        """Write one array; returns its path relative to the directory."""
        import numpy as np

        folder, name = key
        safe = re.sub(r"[^A-Za-z0-9_.-]", "_", name)
        relative = f"{folder}/{index:05}_{safe}.npy"
        path = self.root / relative
        path.parent.mkdir(parents=True, exist_ok=True)
        with atomic_write(path) as handle:
            np.save(handle, array.astype(self.float_type) if array.dtype.kind == "f" else array, allow_pickle=False)
        return relative

    def write_manifest(self, names: list[str], shapes: list[list[int]], rows: list[list[str]]) -> None:
        """Write `samples.json`."""
        self.root.mkdir(parents=True, exist_ok=True)
        content = {"info": {"input names": names, "input shapes": shapes}, "calib paths": [row for row in rows if row]}
        with atomic_write(self.root / "samples.json") as handle:
            handle.write(f"{json.dumps(content, indent=1)}\n".encode())
