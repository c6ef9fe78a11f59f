"""Builds a quant function from an mblt function, one operation at a time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from xdsl.dialects.builtin import AnyFloat, DenseIntOrFPElementsAttr, IntegerType, TensorType, bf16, f32, i1, i32, i64
from xdsl.ir import Attribute, Block, Operation, SSAValue

from qbc.dialects import quant
from qbc.dialects.blob import BlobAttr, read_blob, write_blob
from qbc.dialects.quant import QType
from qbc.dialects.quant.base import QuantOp, shape_of
from qbc.errors import QBCompilerError

if TYPE_CHECKING:
    from qbc.store import BlobStore

PENDING = QType.of_row("pending")  # every float value, until its row is known
Handler = Callable[["Builder", Operation], SSAValue]


def tensor_of(value: SSAValue) -> TensorType[Attribute]:
    """Return the tensor type of a value."""
    assert isinstance(value.type, TensorType)
    return value.type


def is_float(value: SSAValue) -> bool:
    """Return whether a value holds float elements (and so gets an encoding)."""
    return isinstance(value.type, TensorType) and isinstance(value.type.element_type, AnyFloat)


def quant_type(old: Attribute) -> Attribute:
    """Return the type of a converted value: float becomes a pending quantized type, i64 becomes i32."""
    assert isinstance(old, TensorType)
    if isinstance(old.element_type, AnyFloat):
        return TensorType(PENDING, old.get_shape())
    if old.element_type == i64:
        return TensorType(i32, old.get_shape())
    return old


class Builder:
    """The function under construction: old value -> new value, and the block that grows."""

    def __init__(self, block: Block, store: BlobStore) -> None:
        self.block = block
        self.store = store
        self._values: dict[SSAValue, SSAValue] = {}
        self._count: Counter[SSAValue] = Counter()  # of old values that a new one stands for

    def bind(self, old: SSAValue, new: SSAValue) -> None:
        """Let `new` stand for `old`; an operation that changes nothing gives its operand a second old value."""
        self._values[old] = new
        self._count[new] += 1

    def value(self, old: SSAValue) -> SSAValue:
        """Return the converted value; constants are converted at their first use."""
        new = self._values.get(old)
        if new is None:
            new = self._constant_of(old.owner)
            self.bind(old, new)
        return new

    def is_shared(self, new: SSAValue) -> bool:
        """Return whether a new value stands for several old ones, whose users must all see the same."""
        return self._count[new] > 1

    def emit(
        self,
        kind: type[QuantOp],
        operands: Sequence[SSAValue],
        shape: Sequence[int],
        location: Any,
        properties: Mapping[str, Attribute | None] | None = None,
    ) -> SSAValue:
        """Add an operation whose result is quantized (or has the element type of an integer first operand)."""
        element: Attribute = PENDING
        if operands and kind not in (quant.QuantizeOp,):
            first = tensor_of(operands[0]).element_type
            element = first if isinstance(first, IntegerType) else PENDING
        return self.add(kind.make(operands, TensorType(element, shape), properties or {}, location))

    def add(self, op: Operation) -> SSAValue:
        """Add an operation and return its result."""
        self.block.add_op(op)
        return op.results[0]

    def constant(self, data: Any, location: Any) -> SSAValue:
        """Add a float constant that becomes codes."""
        import numpy as np

        value = write_blob(self.store, np.asarray(data, dtype=np.float32, order="C"))
        return self.add(quant.ConstantOp.make([], TensorType(PENDING, value.shape), {"value": value}, location))

    def as_float32(self, properties: Mapping[str, Attribute]) -> dict[str, Attribute]:
        """Return properties with float16, bfloat16 and float64 blobs turned into float32 ones."""
        return {name: self._float32_blob(value) for name, value in properties.items()}

    def _float32_blob(self, value: Attribute) -> Attribute:
        if not isinstance(value, BlobAttr) or value.type.element_type == f32:
            return value
        if not isinstance(value.type.element_type, AnyFloat):
            return value
        return write_blob(self.store, constant_array(self.store, value).astype("float32"))

    def constant_data(self, old: SSAValue) -> Any:
        """Return the data of an mblt constant as an array, or None when the value is no constant."""
        owner = old.owner
        if not isinstance(owner, Operation) or owner.name != "mblt.constant":
            return None
        return constant_array(self.store, owner.properties["value"])

    def _constant_of(self, owner: Operation | Block) -> SSAValue:
        if not isinstance(owner, Operation) or owner.name != "mblt.constant":
            raise QBCompilerError(f"a value is used before it is defined: {owner}", code="VERIFY_ERROR")
        old = owner.results[0]
        if not is_float(old):
            return self.add(_index_constant(self.store, owner))
        if tensor_of(old).element_type != f32:
            return self.constant(constant_array(self.store, owner.properties["value"]), owner.location)
        properties = {"value": owner.properties["value"]}
        return self.add(quant.ConstantOp.make([], quant_type(old.type), properties, owner.location))


def constant_array(store: BlobStore, value: Attribute) -> Any:
    """Return the data of a constant attribute: a blob or dense numbers; bfloat16 as float32."""
    import numpy as np

    if isinstance(value, BlobAttr):
        data = read_blob(store, value)
        if value.type.element_type == bf16:
            return (data.astype(np.uint32) << 16).view(np.float32)
        return data
    assert isinstance(value, DenseIntOrFPElementsAttr)
    return np.array(value.get_values()).reshape(value.get_shape())


def _index_constant(store: BlobStore, owner: Operation) -> Operation:
    """Return an integer constant as i32, a mask as it is; values beyond i32 saturate (they mean "to the end")."""
    import numpy as np

    data = constant_array(store, owner.properties["value"])
    if tensor_of(owner.results[0]).element_type == i1:
        mask = write_blob(store, data.astype(np.bool_))
        return quant.ConstantOp.make([], TensorType(i1, data.shape), {"value": mask}, owner.location)
    narrow = np.clip(data.astype(np.int64), -(2**31), 2**31 - 1).astype(np.int32)
    value = write_blob(store, narrow)
    return quant.ConstantOp.make([], TensorType(i32, narrow.shape), {"value": value}, owner.location)


__all__ = ["PENDING", "Builder", "Handler", "constant_array", "is_float", "quant_type", "shape_of", "tensor_of"]
