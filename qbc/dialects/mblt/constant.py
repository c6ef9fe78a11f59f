"""Constants."""

from __future__ import annotations

from typing import Self, cast

from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, LocationAttr, TensorType
from xdsl.ir import Attribute
from xdsl.irdl import irdl_op_definition, prop_def
from xdsl.utils.exceptions import VerifyException

from qbc.dialects.blob import BlobAttr
from qbc.dialects.mblt.base import MbltOp, require

DENSE_LIMIT = 64


@irdl_op_definition
class ConstantOp(MbltOp):
    """`y = value`. Data is a blob, or dense for up to 64 integers."""

    name = "mblt.constant"
    value = prop_def(Attribute)

    @classmethod
    def of_value(cls, value: Attribute, location: LocationAttr | None = None) -> Self:
        """Build a constant from a blob handle or a dense attribute."""
        return cls.create_op([], [_type_of(value)], {"value": value}, location)

    def check(self) -> None:
        value = self.properties["value"]
        if isinstance(value, DenseIntOrFPElementsAttr):
            require(len(value) <= DENSE_LIMIT, f"a dense constant holds at most {DENSE_LIMIT} values; use a blob")

    def infer_result_type(self) -> Attribute:
        return _type_of(self.properties["value"])


def _type_of(value: Attribute) -> TensorType[Attribute]:
    if isinstance(value, BlobAttr | DenseIntOrFPElementsAttr):
        return cast("TensorType[Attribute]", value.type)
    raise VerifyException(f"expected a blob or a dense attribute as value, got {value}")
