"""Which types the operands and results of an operator may have, and which of them must be the same."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

from xdsl.dialects.builtin import TensorType, UnrankedTensorType
from xdsl.ir import Attribute, SSAValue
from xdsl.utils.exceptions import VerifyException

from qbc.dialects.framework.onnx_types import UNDEFINED_CODE, code_of_element
from qbc.dialects.framework.types import OptionalType, SequenceType

# Names of the element types in the schemas of ONNX, by data type code.
_ELEMENTS = """
    undefined float uint8 int8 uint16 int16 int32 int64 string bool float16 double uint32 uint64 complex64 complex128
    bfloat16 float8e4m3fn float8e4m3fnuz float8e5m2 float8e5m2fnuz uint4 int4 float4e2m1 float8e8m0 uint2 int2
"""
ELEMENT_NAMES = _ELEMENTS.split()
MIXED = "~"  # marks a variadic parameter whose values may differ in type


@dataclass(frozen=True)
class TypeRule:
    """The type variable of each formal input and output, and the types that each variable may stand for.

    The variable of a parameter whose values may differ in type ends with `~`.
    """

    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    allowed: dict[str, frozenset[str]]


@cache
def type_rules() -> dict[str, TypeRule]:
    """Return the rules of all operators by name."""
    from qbc.dialects.framework.type_table import SETS, TYPES

    sets = [frozenset(line.split()) for line in SETS.strip().splitlines()]
    rules = {}
    for line in TYPES.strip().splitlines():
        name, inputs, outputs, variables = (part.strip() for part in line.split("|"))
        allowed = {key: sets[int(number)] for key, number in (item.split("=") for item in variables.split())}
        rules[name] = TypeRule(tuple(inputs.split()), tuple(outputs.split()), allowed)
    return rules


@cache
def type_name(kind: Attribute) -> str | None:
    """Return an IR type as the schemas of ONNX write it (`seq(tensor(float))`), None where it is not known."""
    if isinstance(kind, TensorType | UnrankedTensorType):
        code = code_of_element(kind.element_type)
        return f"tensor({ELEMENT_NAMES[code]})" if code != UNDEFINED_CODE else None
    if isinstance(kind, SequenceType | OptionalType):
        inner = type_name(kind.element)
        word = "seq" if isinstance(kind, SequenceType) else "optional"
        return f"{word}({inner})" if inner is not None else None
    return None


def check_types(
    rule: TypeRule,
    operands: Sequence[SSAValue | None],
    results: Sequence[SSAValue | None],
    names: tuple[Sequence[str], Sequence[str]],
) -> None:
    """Check values, given by position, against a rule; `names` are those of the formal inputs and outputs.

    Raises VerifyException for a type that the operator does not take, or that differs from another one which must be
    the same.
    """
    bound: dict[str, tuple[str, str]] = {}
    for word, values, variables, formal in (
        ("operand", operands, rule.inputs, names[0]),
        ("result", results, rule.outputs, names[1]),
    ):
        for index, value in enumerate(values):
            kind = type_name(value.type) if value is not None and variables else None
            if kind is None:
                continue
            place = min(index, len(variables) - 1)  # the last parameter may be variadic
            variable = variables[place]
            where = f"{word} '{formal[place]}'"
            if kind not in rule.allowed[variable.removesuffix(MIXED)]:
                raise VerifyException(f"{where} has type {kind}, which the operator does not take")
            if variable.endswith(MIXED):
                continue
            first, known = bound.setdefault(variable, (where, kind))
            if known != kind:
                raise VerifyException(f"{where} has type {kind}, {first} has type {known}: they must be the same")
