"""Compile an mblt function for torch and run it on numpy arrays."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation, SSAValue

from qbc.dialects.common.graph import argument_names, location_names, result_names
from qbc.errors import QBCompilerError
from qbc.execute.float_torch import (
    activation,
    constant,
    convolution,
    elementwise,
    matmul,
    normalization,
    pooling,
    reduction,
    resize,
    shape,
)
from qbc.execute.float_torch.scope import Kernel, KernelFactory, Scope, shape_of
from qbc.execute.inputs import ordered_inputs
from qbc.execute.program import Program, compile_block
from qbc.store import BlobStore

Array = npt.NDArray[Any]
ArrayObserver = Callable[[Array], None]

KERNELS: dict[str, KernelFactory] = {
    name: factory
    for family in (
        activation,
        constant,
        convolution,
        elementwise,
        matmul,
        normalization,
        pooling,
        reduction,
        resize,
        shape,
    )
    for name, factory in family.KERNELS.items()
}


class FloatProgram:
    """An mblt function compiled for torch; `float_type` float64 serves as a reference."""

    def __init__(self, func: FuncOp, store: BlobStore, float_type: str = "float32") -> None:
        self.inputs = argument_names(func)
        self.outputs = result_names(func)
        self._scope = Scope(store, torch.float64 if float_type == "float64" else torch.float32)
        self._shapes = [shape_of(argument) for argument in func.body.block.args]
        self._argument_types = [self._scope.type_of(argument) for argument in func.body.block.args]
        self._program: Program = compile_block(func.body.block, self._kernel)

    def run(
        self, inputs: Mapping[str, Array], observers: Mapping[SSAValue, ArrayObserver] | None = None
    ) -> dict[str, Array]:
        """Run on named inputs in the layout of the arguments; observers see their value as an array."""
        arrays = ordered_inputs(self.inputs, self._shapes, inputs)
        arguments = [
            torch.from_numpy(np.array(array)).to(dtype)
            for array, dtype in zip(arrays, self._argument_types, strict=True)
        ]
        watch = {value: _as_array(observer) for value, observer in (observers or {}).items()}
        with torch.inference_mode():
            results = self._program.run(arguments, watch)
        return {name: _to_numpy(result) for name, result in zip(self.outputs, results, strict=True)}

    def _kernel(self, op: Operation) -> Kernel:
        if op.name.startswith("framework."):
            from qbc.execute.float_torch.framework import framework_kernel  # loads onnxruntime

            return framework_kernel(op, self._scope)
        factory = KERNELS.get(op.name)
        if factory is None:
            raise QBCompilerError(f"'{op.name}' cannot be executed here", code="UNSUPPORTED_OP", node=_node_name(op))
        return factory(op, self._scope)


def run(
    func: FuncOp, store: BlobStore, inputs: Mapping[str, Array], *, float_type: str = "float32"
) -> dict[str, Array]:
    """Compile and run an mblt function once: input name -> array (mblt layout) to output name -> array."""
    return FloatProgram(func, store, float_type).run(inputs)


def evaluate(op: Operation, operands: Sequence[Array], store: BlobStore, *, float_type: str = "float32") -> Array:
    """Return the result of one operation on given operand values."""
    scope = Scope(store, torch.float64 if float_type == "float64" else torch.float32)
    tensors = [
        torch.from_numpy(np.array(data)).to(scope.type_of(value))
        for data, value in zip(operands, op.operands, strict=True)
    ]
    with torch.inference_mode():
        return _to_numpy(KERNELS[op.name](op, scope)(*tensors))


def _to_numpy(tensor: torch.Tensor) -> Array:
    return tensor.contiguous().numpy()


def _as_array(observer: ArrayObserver) -> Callable[[torch.Tensor], None]:
    return lambda tensor: observer(_to_numpy(tensor))


def _node_name(op: Operation) -> str | None:
    return ", ".join(location_names(op.location)) or None
