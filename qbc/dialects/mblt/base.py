"""Base classes of mblt ops: one result, pure, result type checked against the inferred type."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import ClassVar, Self, cast

from xdsl.dialects.builtin import AnyFloat, LocationAttr, TensorType
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import base, operand_def, result_def, traits_def
from xdsl.rewriter import Rewriter
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from qbc.dialects.blob import BlobAttr
from qbc.dialects.common.plain_form import PlainFormOp
from qbc.dialects.common.shapes import DYNAMIC, compatible

TENSOR = base(TensorType)
ACTIVATIONS = ("relu", "relu6", "clip")

Shape = tuple[int, ...]


def shape_of(value: SSAValue) -> Shape:
    """Return the shape of a tensor value (`DYNAMIC` where unknown)."""
    return cast("TensorType[Attribute]", value.type).get_shape()


def element_of(value: SSAValue) -> Attribute:
    """Return the element type of a tensor value."""
    return cast("TensorType[Attribute]", value.type).element_type


def require(condition: bool, rule: str, *found: object) -> None:
    """Raise VerifyException with the broken rule; `found` fills its `{}`, formatted only then (types take long)."""
    if not condition:
        raise VerifyException(rule.format(*found) if found else rule)


class MbltOp(PlainFormOp, ABC):
    """A pure tensor op with one result whose type follows from operands and properties."""

    result = result_def(TENSOR)
    traits = traits_def(Pure())

    @classmethod
    def of(
        cls,
        *operands: SSAValue | Operation,
        result_type: Attribute | None = None,
        location: LocationAttr | None = None,
        **properties: object,
    ) -> Self:
        """Build the op from Python property values and infer the result type.

        `properties` take ints, floats, bools, strings, lists and attributes; None leaves one out; missing ones get
        the defaults of the class. `result_type` is needed by ops whose result type is a choice (reshape, cast).
        Raises VerifyException when no result type can be inferred.
        """
        placeholder = result_type or SSAValue.get(operands[0]).type
        op = cls.create_op(operands, [placeholder], dict(properties), location)
        try:
            inferred = op.infer_result_type()
        except Exception:  # whatever it was: the op stands nowhere, but would stay a user of its operands
            op.erase()
            raise
        if inferred != placeholder and result_type is None:
            Rewriter.replace_value_with_new_type(op.results[0], inferred)
        return op

    @abstractmethod
    def infer_result_type(self) -> Attribute:
        """Return the result type that operands and properties give; raises VerifyException when they do not fit."""

    def check(self) -> None:
        """Check rules that type inference does not cover; families override it."""

    def verify_(self) -> None:
        self.check()
        inferred = self.infer_result_type()
        actual = self.results[0].type
        if inferred == actual:
            return
        if not _agrees(inferred, actual):
            raise VerifyException(f"expected the result type {inferred}, got {actual}")

    def with_shape(self, shape: Sequence[int], element: Attribute | None = None) -> TensorType[Attribute]:
        """Return a tensor type of `shape`; the element type defaults to that of the first operand."""
        return TensorType(element or element_of(self.operands[0]), list(shape))


class UnaryOp(MbltOp):
    """`y[i] = f(x[i])`: shape and element type are kept; a function of floats unless the class takes integers too."""

    TAKES_INTEGERS: ClassVar[bool] = False
    x = operand_def(TENSOR)

    def infer_result_type(self) -> Attribute:
        if not self.TAKES_INTEGERS:
            check_floats(self)
        return self.operands[0].type


def check_floats(op: Operation) -> None:
    """Check that the first operand holds floating-point elements."""
    element = element_of(op.operands[0])
    require(isinstance(element, AnyFloat), "expected floating-point elements, got {}", element)


def _agrees(inferred: Attribute, actual: Attribute) -> bool:
    if not isinstance(inferred, TensorType) or not isinstance(actual, TensorType):
        return False
    if inferred.element_type != actual.element_type:
        return False
    return compatible(inferred.get_shape(), actual.get_shape())


def check_blob(blob: BlobAttr, shape: Sequence[int], what: str) -> None:
    """Check the shape of a weight; `what` names it in the message."""
    sizes = ", ".join("?" if size == DYNAMIC else str(size) for size in shape)
    require(blob.shape == tuple(shape), f"expected {what} of shape [{sizes}], got {list(blob.shape)}")


def check_activation(op: PlainFormOp) -> None:
    """Check a fused activation: relu, relu6 or clip with both bounds."""
    kind = op.value_of("activation")
    low, high = op.value_of("activation_min"), op.value_of("activation_max")
    if kind is None or kind in ("relu", "relu6"):
        require(low is None and high is None, 'activation bounds belong to activation = "clip"')
        return
    require(kind in ACTIVATIONS, f"activation must be one of {', '.join(ACTIVATIONS)}, got {kind!r}")
    require(low is not None and high is not None, 'activation "clip" needs activation_min and activation_max')
    require(cast("float", low) <= cast("float", high), f"activation_min {low} is above activation_max {high}")
