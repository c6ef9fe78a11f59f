"""Runs materialized quant functions on the integer kernels: the same bits as the simulator."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from xdsl.dialects.builtin import (
    DenseArrayBase,
    DenseIntOrFPElementsAttr,
    Float32Type,
    IntegerAttr,
    IntegerType,
    StringAttr,
    TensorType,
)
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Operation, SSAValue

from qbc.dialects import quant
from qbc.dialects.blob import BlobAttr, read_blob
from qbc.dialects.common.graph import argument_names, result_names
from qbc.dialects.quant import QType, quantized_element
from qbc.errors import QBCompilerError
from qbc.execute.program import Program, compile_block
from qbc.kernels import KernelCall, TensorSpec, prepare
from qbc.kernels.spec import AttributeValue
from qbc.kernels.storage import dequantize, load_codes, quantize_to_codes, store_codes

if TYPE_CHECKING:
    from qbc.store import BlobStore

Array = npt.NDArray[Any]
Observer = Callable[[Array], None]


def tensor_spec(value: SSAValue | Attribute) -> TensorSpec:
    """Return shape and storage type of a materialized value: `i8`, `i16`, `i32` or `f32`."""
    kind = value.type if isinstance(value, SSAValue) else value
    assert isinstance(kind, TensorType)
    return TensorSpec(tuple(kind.get_shape()), _dtype(kind.element_type))


def _dtype(element: Attribute) -> str:
    if isinstance(element, QType):
        if element.bits is None:
            raise QBCompilerError(
                f"a value still names row {element.row_name!r} of the parameter table",
                code="VERIFY_ERROR",
                hint="Run quant-materialize first.",
            )
        return element.bits
    if isinstance(element, Float32Type):
        return "f32"
    if isinstance(element, IntegerType) and element.width.data == 32:
        return "i32"
    if element == IntegerType(1):
        return "i8"  # masks are codes 0 and 1
    raise QBCompilerError(f"values of type {element} have no integer form", code="VERIFY_ERROR")


def kernel_call(op: Operation, store: BlobStore) -> KernelCall:
    """Return the integer operation of a materialized quant op: its properties are attributes and constants."""
    attributes: dict[str, AttributeValue] = {}
    constants: dict[str, Array] = {}
    for name, value in op.properties.items():
        if isinstance(value, BlobAttr):
            constants[name] = read_blob(store, value)
        else:
            attributes[name] = _plain(op, name, value)
    kind = op.name.partition(".")[2]
    inputs = tuple(tensor_spec(value) for value in op.operands)
    return KernelCall(kind, inputs, tensor_spec(op.results[0]), attributes, constants)


def check_operation(op: Operation, store: BlobStore) -> None:
    """Raise QBCompilerError unless the integer kernels accept a materialized op, overflow proofs included."""
    if isinstance(op, quant.QuantizeOp):
        _encoding(op.results[0])
        return
    if isinstance(op, quant.DequantizeOp):
        final_encoding(op.operands[0], store)
        return
    if not isinstance(op, quant.ConstantOp):
        prepare(kernel_call(op, store))
        return
    value, wanted = op.properties["value"], tensor_spec(op.results[0]).dtype
    assert isinstance(value, (BlobAttr, DenseIntOrFPElementsAttr))
    held = value.type.element_type
    if held != IntegerType({"i8": 8, "i16": 16}.get(wanted, 32)):
        raise QBCompilerError(f"a constant of {held} cannot hold {wanted} codes", code="VERIFY_ERROR")


def _plain(op: Operation, name: str, value: Attribute) -> AttributeValue:
    if isinstance(value, IntegerAttr):
        return abs(value.value.data) if value.type == IntegerType(1) else value.value.data
    if isinstance(value, StringAttr):
        return value.data
    if isinstance(value, DenseArrayBase) and isinstance(value.elt_type, IntegerType):
        return tuple(int(number) for number in value.get_values())
    raise QBCompilerError(
        f"'{op.name}' op has the property {name} = {value}, which is no integer",
        code="VERIFY_ERROR",
        hint="Run quant-materialize first.",
    )


class IntegerProgram:
    """A materialized function compiled once and run many times."""

    def __init__(self, function: FuncOp, store: BlobStore) -> None:
        self.function = function
        self._program: Program = compile_block(function.body.block, lambda op: _step(op, store))
        self._arguments = argument_names(function)
        self._results = result_names(function)

    def run(self, inputs: Mapping[str, Array], observe: Mapping[SSAValue, Observer] | None = None) -> dict[str, Array]:
        """Run on arrays by argument name (in the layout of the function) and return arrays by result name.

        `observe` maps a value to a function that gets its codes (int8, int16, int32) or floats; the array is only
        valid during the call. Raises INVALID_INPUT when inputs do not fit.
        """
        arrays = [
            _checked_input(name, argument, inputs)
            for name, argument in zip(self._arguments, self.function.body.block.args, strict=True)
        ]
        observers = {value: _on_codes(observer) for value, observer in (observe or {}).items()}
        return dict(zip(self._results, self._program.run(arrays, observers), strict=True))


def run(
    function: FuncOp,
    store: BlobStore,
    inputs: Mapping[str, Array],
    observe: Mapping[SSAValue, Observer] | None = None,
) -> dict[str, Array]:
    """Compile and run a materialized function once; see `IntegerProgram.run`."""
    return IntegerProgram(function, store).run(inputs, observe)


def _on_codes(observer: Observer) -> Observer:
    return lambda stored: observer(load_codes(stored))


def _checked_input(name: str, argument: SSAValue, inputs: Mapping[str, Array]) -> Array:
    if name not in inputs:
        raise QBCompilerError(f"input {name!r} is missing; given: {', '.join(inputs)}", code="INVALID_INPUT")
    spec = tensor_spec(argument)
    array = np.asarray(inputs[name])
    if array.shape != spec.shape:
        raise QBCompilerError(
            f"input {name!r} has shape {list(array.shape)}, expected {list(spec.shape)}", code="INVALID_INPUT"
        )
    if spec.dtype == "f32":
        return np.asarray(array, dtype=np.float32, order="C")
    if array.dtype.kind not in "iu" or (array.size and (array.min() < -(2**31) or array.max() >= 2**31)):
        raise QBCompilerError(f"input {name!r} holds values that are no 32-bit integers", code="INVALID_INPUT")
    return np.asarray(array, dtype=np.int32, order="C")


def _step(op: Operation, store: BlobStore) -> Callable[..., Array]:
    if isinstance(op, quant.ConstantOp):
        return _constant(op, store)
    if isinstance(op, quant.QuantizeOp):
        storage, scale, zero_point = _encoding(op.results[0])
        return lambda x: store_codes(quantize_to_codes(x, scale, zero_point, storage), storage)
    if isinstance(op, quant.DequantizeOp):
        _, scales, zero = final_encoding(op.operands[0], store)
        return lambda stored: dequantize(load_codes(stored), scales, zero)
    if not isinstance(op, quant.QuantOp):
        raise QBCompilerError(f"'{op.name}' op cannot run on integers", code="VERIFY_ERROR")
    call = kernel_call(op, store)
    kernel = prepare(call)
    shape, dtype = call.output.shape, np.dtype(call.output.numpy_dtype)

    def function(*arrays: Array) -> Array:
        output = np.empty(shape, dtype)
        kernel(*arrays, output)
        return output

    return function


def _constant(op: Operation, store: BlobStore) -> Callable[[], Array]:
    value = op.properties["value"]
    spec = tensor_spec(op.results[0])
    if isinstance(value, BlobAttr):
        data = read_blob(store, value)
    else:
        assert isinstance(value, DenseIntOrFPElementsAttr)
        data = np.array(value.get_values()).reshape(spec.shape)
    stored = store_codes(np.asarray(data, order="C"), spec.dtype)
    return lambda: stored


def final_encoding(value: SSAValue, store: BlobStore) -> tuple[str, float | Array, int]:
    """Return (storage, scale, zero point) of a materialized value.

    The scale is a number, or a float32 array with one for each channel of the last axis. Raises VERIFY_ERROR for a
    value whose encoding is not final.
    """
    row = quant.channel_row(value)
    if row is None or row.channel_scales is None or row.bits is None:
        return _encoding(value)
    return row.bits, read_blob(store, row.channel_scales), row.channel_zero_point


def _encoding(value: SSAValue) -> tuple[str, float, int]:
    element = quantized_element(value)
    encoding = element.encoding if element is not None else None
    if encoding is None:
        raise QBCompilerError("a value has no encoding", code="VERIFY_ERROR", hint="Run quant-materialize first.")
    return encoding
