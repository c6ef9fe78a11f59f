"""Float execution of mblt functions in onnxruntime: the calibration engine.

The exported graph runs channel-first inside; values come back as views in mblt layout. Weights are handed to the
session by reference, not through the model file.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
import onnxruntime
from xdsl.dialects.func import FuncOp
from xdsl.ir import SSAValue

from qbc.dialects.common.access import shape_of
from qbc.dialects.common.graph import argument_names, result_names
from qbc.execute.inputs import ordered_inputs
from qbc.execute.memory import memory_error, require_memory
from qbc.export.onnx_mblt import INLINE_BYTES, ExportedValue, MbltExport, export_mblt, external_tensor, tensor
from qbc.store import BlobStore

Array = npt.NDArray[Any]


class FloatSession:
    """A function compiled for onnxruntime that also hands out chosen values.

    `run` returns the chosen values, `run_outputs` the results by name; both take inputs in mblt layout by source name.
    """

    def __init__(self, func: FuncOp, store: BlobStore, values: Sequence[SSAValue] = (), *, threads: int = 1) -> None:
        require_memory(func)
        self.inputs = argument_names(func)
        self.outputs = result_names(func)
        self._shapes = [shape_of(argument) for argument in func.body.block.args]
        exported = export_mblt(func, store, extra_outputs=values)
        self._where: Mapping[SSAValue, ExportedValue] = exported.values
        self._constants = {
            place.name: exported.initializers[place.name]
            for place in self._where.values()
            if place.name in exported.initializers
        }
        self._session, self._keep_alive = make_session(exported, threads=threads)
        self._dtypes = [_numpy_type(entry.type) for entry in self._session.get_inputs()]
        fetched = {place.name for place in self._where.values()} - set(self.inputs) - self._constants.keys()
        self._fetched = sorted(fetched)

    def run(self, inputs: Mapping[str, Array]) -> dict[SSAValue, Array]:
        """Return the chosen values, in mblt layout (views where the graph held them channel-first)."""
        feed = self._feed(inputs)
        found = dict(zip(self._fetched, self._run(self._fetched, feed), strict=True))
        found.update(feed)
        found.update(self._constants)
        return {value: place.to_mblt(found[place.name]) for value, place in self._where.items()}

    def run_outputs(self, inputs: Mapping[str, Array]) -> dict[str, Array]:
        """Return the results of the function by source name."""
        return dict(zip(self.outputs, self._run(self.outputs, self._feed(inputs)), strict=True))

    def _run(self, names: list[str], feed: dict[str, Array]) -> list[Array]:
        # an empty list would mean all outputs
        return _guarded(lambda: self._session.run(names, feed)) if names else []

    def _feed(self, inputs: Mapping[str, Array]) -> dict[str, Array]:
        arrays = ordered_inputs(self.inputs, self._shapes, inputs)
        return {
            name: np.asarray(array, dtype=dtype, order="C")
            for name, array, dtype in zip(self.inputs, arrays, self._dtypes, strict=True)
        }


def make_session(exported: MbltExport, *, threads: int = 1) -> tuple[onnxruntime.InferenceSession, list[Any]]:
    """Return a session and the objects that must live as long as it does (the weights it refers to)."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.log_severity_level = 3
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    model = onnx.ModelProto()
    model.CopyFrom(exported.model)
    names: list[str] = []
    values: list[Any] = []
    keep_alive: list[Any] = []
    for name, array in exported.initializers.items():
        if array.nbytes <= INLINE_BYTES:
            model.graph.initializer.append(tensor(name, array))
            continue
        data = np.ascontiguousarray(array)
        model.graph.initializer.append(external_tensor(name, data, "memory", 0))
        names.append(name)
        values.append(onnxruntime.OrtValue.ortvalue_from_numpy(data))
        keep_alive += [data, values[-1]]
    options.add_external_initializers(names, values)
    content = model.SerializeToString()
    make = partial(onnxruntime.InferenceSession, content, options, providers=["CPUExecutionProvider"])
    return _guarded(make), keep_alive


def _guarded(function: Callable[[], Any]) -> Any:
    """Call onnxruntime; running out of memory there is RESOURCE_ERROR."""
    try:
        return function()
    except Exception as error:  # its exception types have no common public base
        if "allocate memory" not in str(error) and "bad_alloc" not in str(error):
            raise
        raise memory_error("a value of the graph needs more memory than there is") from error


def _numpy_type(onnx_type: str) -> str:
    name = onnx_type.removeprefix("tensor(").removesuffix(")")
    return {"float": "float32", "double": "float64"}.get(name, name)
