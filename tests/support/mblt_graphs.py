"""Build small mblt functions in tests."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, ModuleOp, StringAttr, TensorType
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, Operation, Region, SSAValue

from qbc.dialects.blob import BlobRefAttr, element_type, write_blob
from qbc.dialects.mblt import ConstantOp, MbltOp
from qbc.passes.base import CompileContext, name_loc
from qbc.store import BlobStore

Array = npt.NDArray[Any]


class MbltGraph:
    """A function in the making: inputs, ops, then `finish`."""

    def __init__(self, seed: int = 0) -> None:
        self.store = BlobStore()
        self.random = np.random.default_rng(seed)
        self._block = Block()
        self._inputs: list[tuple[str, tuple[int, ...], str]] = []
        self._layouts: list[str | None] = []
        self.context = CompileContext()
        self.context.store = self.store

    def input(self, shape: Sequence[int], dtype: str = "float32", layout: str | None = None) -> SSAValue:
        """Add an argument named x0, x1, ..."""
        self._inputs.append((f"x{len(self._inputs)}", tuple(shape), dtype))
        self._layouts.append(layout)
        return self._block.insert_arg(TensorType(element_type(dtype), list(shape)), len(self._block.args))

    def blob(self, array: Array) -> BlobRefAttr:
        """Put an array into the store."""
        return write_blob(self.store, array)

    def weight(self, *shape: int, scale: float = 1.0) -> BlobRefAttr:
        """Put normal random weights into the store."""
        return self.blob((self.random.standard_normal(shape) * scale).astype(np.float32))

    def constant(self, array: Any, dtype: str = "float32") -> SSAValue:
        """Add an `mblt.constant`."""
        return self.add(ConstantOp.of_value(self.blob(np.asarray(array, dtype))))

    def add(self, op: Operation, name: str | None = None) -> SSAValue:
        """Append an op and return its result; its location is `name`, or the op's own name and position."""
        op.location = name_loc(name or f"{op.name.rpartition('.')[2]}_{len(list(self._block.ops))}")
        self._block.add_op(op)
        return op.results[0]

    def op(self, cls: type[MbltOp], *operands: SSAValue, **properties: Any) -> SSAValue:
        """Append `cls.of(...)`."""
        return self.add(cls.of(*operands, **properties))

    def finish(self, *results: SSAValue, layouts: Sequence[str | None] = ()) -> FuncOp:
        """Return the function; results are named y0, y1, ... The function lies in `self.module`."""
        self._block.add_op(ReturnOp(*results))
        inputs = [argument.type for argument in self._block.args]
        func = FuncOp(
            "main",
            (inputs, [value.type for value in results]),
            Region([self._block]),
            arg_attrs=_attributes([name for name, _, _ in self._inputs], self._layouts),
            res_attrs=_attributes([f"y{i}" for i in range(len(results))], layouts or [None] * len(results)),
        )
        self.module = ModuleOp([func])
        self.module.verify()
        return func

    def samples(self, scale: float = 1.0) -> dict[str, Array]:
        """Return random inputs: normal floats, small non-negative integers, random booleans."""
        feed: dict[str, Array] = {}
        for name, shape, dtype in self._inputs:
            concrete = [size if size >= 0 else 2 for size in shape]
            if dtype == "bool":
                feed[name] = self.random.random(concrete) < 0.5
            elif dtype.startswith("int"):
                feed[name] = self.random.integers(0, 3, concrete).astype(dtype)
            else:
                feed[name] = (self.random.standard_normal(concrete) * scale).astype(dtype)
        return feed


def _attributes(names: Sequence[str], layouts: Sequence[str | None]) -> ArrayAttr[DictionaryAttr]:
    entries = []
    for name, layout in zip(names, layouts, strict=True):
        data = {"mblt.name": StringAttr(name)}
        if layout is not None:
            data["mblt.source_layout"] = StringAttr(layout)
        entries.append(DictionaryAttr(data))
    return ArrayAttr(entries)


def op_names(func: FuncOp) -> list[str]:
    """Return the short names of the ops of a function, without constants and the return."""
    names = [op.name.partition(".")[2] for op in func.body.block.ops]
    return [name for name in names if name not in ("constant", "return")]
