"""Reading operators by their ONNX names, and building them from Python values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar, cast

from xdsl.dialects.builtin import (
    ArrayAttr,
    DenseArrayBase,
    DenseIntOrFPElementsAttr,
    Float16Type,
    Float32Type,
    Float64Type,
    FloatAttr,
    IntegerAttr,
    IntegerType,
    StringAttr,
    TensorType,
    f32,
    i64,
)
from xdsl.ir import Attribute, Operation, OpResult, Region, SSAValue

from qbc.dialects.blob import BlobAttr, dtype_name, element_type, read_blob, write_blob
from qbc.dialects.framework.base import (
    OPERAND_SEGMENTS,
    RESULT_SEGMENTS,
    build_op,
    segments,
    signature_of,
    spread,
)
from qbc.dialects.framework.ops import OPS_BY_NAME, ConstantOp
from qbc.dialects.framework.signature import Parameter
from qbc.dialects.framework.types import RawAttr

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from qbc.store import BlobStore

T = TypeVar("T")
DENSE_LIMIT = 64  # integer constants up to this many values stay in the IR


def operator(op: Operation) -> str:
    """Return the ONNX operator name of an operation, for example `Conv`; an opaque one gives its `op_type`."""
    if op.name == "framework.opaque":
        return cast("StringAttr", op.properties["op_type"]).data
    return op.name.partition(".")[2]


def operands_by_position(op: Operation) -> list[SSAValue | None]:
    """Return the operands in the positions of the formal inputs; absent optional ones are None (trailing: left out)."""
    return _by_position(op, tuple(op.operands), "inputs", OPERAND_SEGMENTS)


def results_by_position(op: Operation) -> list[OpResult | None]:
    """Return the results in the positions of the formal outputs; absent optional ones are None."""
    return _by_position(op, tuple(op.results), "outputs", RESULT_SEGMENTS)


def _by_position(op: Operation, values: tuple[T, ...], side: str, segment_name: str) -> list[T | None]:
    present = op.properties.get(f"{side}_present")
    if isinstance(present, DenseArrayBase):
        rest = iter(values)
        return [next(rest) if flag else None for flag in present.get_values()]
    signature = signature_of(op)
    parameters: tuple[Parameter, ...] = getattr(signature, side) if signature is not None else ()
    return spread(parameters, values, segments(op, segment_name))


def operand(op: Operation, name: str) -> SSAValue | None:
    """Return the operand with an ONNX input name (`"B"` of Conv), or None when it is absent.

    For a variadic input this is its first value. Raises KeyError when the operator has no such input.
    """
    signature = signature_of(op)
    names = [parameter.name for parameter in signature.inputs] if signature is not None else []
    if name not in names:
        raise KeyError(f"{op.name} has no input {name!r}")
    values = operands_by_position(op)
    index = names.index(name)
    return values[index] if index < len(values) else None


def attribute(op: Operation, name: str) -> Any:
    """Return an attribute as a Python value: what the model gives, else the default of the schema, else None.

    INT is int, FLOAT float, STRING str, lists are tuples; a TENSOR is returned as its IR attribute.
    """
    value = op.properties.get(name)
    if value is not None:
        return python_value(value)
    signature = signature_of(op)
    formal = signature.attributes.get(name) if signature is not None else None
    return formal.default if formal is not None else None


def python_value(value: Attribute) -> Any:
    """Return the Python value of an attribute; tensors and raw attributes are returned unchanged."""
    if isinstance(value, IntegerAttr):
        return value.value.data
    if isinstance(value, FloatAttr):
        return value.value.data
    if isinstance(value, StringAttr):
        return value.data
    if isinstance(value, DenseArrayBase):
        return tuple(value.get_values())
    if isinstance(value, ArrayAttr):
        return tuple(python_value(item) for item in value.data)
    if isinstance(value, RawAttr) and value.kind.data == "STRING":
        return value.payload.decode("utf-8", "replace")
    return value


def ir_value(value: Any, kind: str | None = None) -> Attribute:
    """Return the IR attribute of a Python value; `kind` decides where the value cannot (an empty list)."""
    if isinstance(value, Attribute):
        return value
    if isinstance(value, int):
        return FloatAttr(float(value), f32) if kind == "FLOAT" else IntegerAttr(int(value), i64)
    if isinstance(value, float):
        return FloatAttr(value, f32)
    if isinstance(value, str):
        return StringAttr(value)
    values = list(value)
    if kind == "STRINGS" or (values and isinstance(values[0], str)):
        return ArrayAttr([ir_value(item) for item in values])
    if kind == "FLOATS" or (values and isinstance(values[0], float)):
        return DenseArrayBase.from_list(f32, [float(item) for item in values])
    return DenseArrayBase.from_list(i64, [int(item) for item in values])


def constant_of(value: SSAValue | None) -> BlobAttr | DenseIntOrFPElementsAttr | None:
    """Return the data handle of a value made by `framework.Constant`, or None (also for string tensors)."""
    if value is None or not isinstance(value.owner, ConstantOp):
        return None
    handle = value.owner.value
    return handle if isinstance(handle, (BlobAttr, DenseIntOrFPElementsAttr)) else None


def read_constant(store: BlobStore, value: SSAValue | None) -> npt.NDArray[np.generic] | None:
    """Return the data of a constant value as a read-only array, or None when the value is no numeric constant."""
    handle = constant_of(value)
    return read_tensor(store, handle) if handle is not None else None


def read_tensor(store: BlobStore, handle: Attribute) -> npt.NDArray[np.generic] | None:
    """Return the data of a blob or dense attribute; None for elements numpy lacks (int4, float8, bfloat16, strings)."""
    import numpy as np

    if isinstance(handle, DenseIntOrFPElementsAttr):
        dtype = dtype_name(handle.get_element_type())
        return np.asarray(handle.get_values(), dtype=dtype).reshape(handle.get_shape())
    if not isinstance(handle, BlobAttr):
        return None
    element = handle.type.element_type
    if isinstance(element, IntegerType):
        return read_blob(store, handle) if element.width.data in (1, 8, 16, 32, 64) else None
    return read_blob(store, handle) if isinstance(element, (Float16Type, Float32Type, Float64Type)) else None


def tensor_attr(store: BlobStore, array: npt.NDArray[Any]) -> BlobAttr | DenseIntOrFPElementsAttr:
    """Return the attribute that holds an array: dense for at most 64 int64 / int32 values, else a blob in the store."""
    if array.dtype.name in ("int64", "int32") and array.size <= DENSE_LIMIT:
        kind = TensorType(cast("IntegerType", element_type(array.dtype.name)), array.shape)
        return DenseIntOrFPElementsAttr.from_list(kind, array.reshape(-1).tolist())
    return write_blob(store, array)


def build(
    name: str,
    operands: Sequence[SSAValue | None],
    result_types: Sequence[Attribute | None],
    attributes: Mapping[str, Any] | None = None,
    regions: Sequence[Region] = (),
) -> Operation:
    """Create the ONNX operator `name` from values by position (None: absent) and attributes as Python or IR values."""
    cls = OPS_BY_NAME[name]
    formal = cast("Any", signature_of(cls)).attributes
    properties = {key: ir_value(value, formal[key].kind) for key, value in (attributes or {}).items()}
    return build_op(cls, operands, result_types, properties, regions)
