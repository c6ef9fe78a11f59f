"""Operation classes: one for each ONNX operator (made from the table), and Constant, opaque and yield.

`from qbc.dialects.framework.ops import ConvOp` gives the class of an operator. Operands, results and attributes are
read with the helpers of `qbc.dialects.framework.access`, by their ONNX names.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, cast

from xdsl.dialects.builtin import DictionaryAttr, StringAttr
from xdsl.ir import Attribute, Dialect, Operation, SSAValue
from xdsl.irdl import (
    AnyAttr,
    AttrSizedOperandSegments,
    AttrSizedResultSegments,
    IRDLOperation,
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    opt_prop_def,
    opt_result_def,
    prop_def,
    region_def,
    result_def,
    traits_def,
    var_operand_def,
    var_region_def,
    var_result_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import IsTerminator, Pure, RecursiveMemoryEffect
from xdsl.utils.exceptions import VerifyException

from qbc.dialects.framework.base import PREFIX, FrameworkOp
from qbc.dialects.framework.signature import Parameter, Signature, signatures
from qbc.dialects.framework.types import RawAttr

RANDOM_OPERATORS = frozenset(
    {"Bernoulli", "Multinomial", "RandomNormal", "RandomNormalLike", "RandomUniform", "RandomUniformLike"}
)


@irdl_op_definition
class ConstantOp(IRDLOperation):
    """A constant of the model: `framework.Constant #blob.ref<"..." : tensor<...>>`.

    The value is a blob handle, a dense attribute of at most 64 integers, or `#framework.raw` (string and
    sparse tensors).
    """

    name = "framework.Constant"
    value = prop_def(Attribute)
    output = result_def(AnyAttr())
    traits = traits_def(Pure())

    @classmethod
    def of(cls, value: Attribute, result_type: Attribute | None = None) -> ConstantOp:
        """Create a constant; `result_type` is needed for raw values only."""
        if result_type is None:
            result_type = cast("Any", value).type
        return cls.create(result_types=[result_type], properties={"value": value})

    def verify_(self) -> None:
        declared = getattr(self.value, "type", None)
        if declared is None and not isinstance(self.value, RawAttr):
            raise VerifyException("value must be a blob, a dense or a raw attribute")
        if declared is not None and declared != self.output.type:
            raise VerifyException(f"value has type {declared}, the result has type {self.output.type}")

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_attribute(self.value)
        printer.print_op_attributes(self.attributes, print_keyword=True)
        if isinstance(self.value, RawAttr):
            printer.print_string(" : ")
            printer.print_attribute(self.output.type)

    @classmethod
    def parse(cls, parser: Parser) -> ConstantOp:
        value = parser.parse_attribute()
        attributes = parser.parse_optional_attr_dict_with_keyword()
        result_type: Attribute | None = None
        if parser.parse_optional_punctuation(":") is not None:
            result_type = parser.parse_type()
        elif not hasattr(value, "type"):
            parser.raise_error("expected a blob or a dense attribute")
        op = cls.of(value, result_type)
        if attributes is not None:
            op.attributes.update(attributes.data)
        return op


@irdl_op_definition
class OpaqueOp(IRDLOperation):
    """An operator outside the table (custom domains): kept with name, domain and attributes, nothing is known about it.

    `inputs_present` / `outputs_present` list 0 and 1 by position where an optional one is absent.
    """

    name = "framework.opaque"
    op_type = prop_def(StringAttr)
    domain = prop_def(StringAttr)
    domain_version = opt_prop_def(Attribute)
    onnx_attributes = opt_prop_def(DictionaryAttr)
    inputs_present = opt_prop_def(Attribute)
    outputs_present = opt_prop_def(Attribute)
    inputs = var_operand_def(AnyAttr())
    outputs = var_result_def(AnyAttr())
    bodies = var_region_def()


@irdl_op_definition
class YieldOp(IRDLOperation):
    """The end of a body of If, Loop, Scan or SequenceMap: its values are the outputs of the ONNX graph."""

    name = "framework.yield"
    values = var_operand_def(AnyAttr())
    traits = traits_def(IsTerminator(), Pure())
    assembly_format = "attr-dict ($values^ `:` type($values))?"

    @classmethod
    def of(cls, values: list[SSAValue]) -> YieldOp:
        """Create the terminator of a body."""
        return cls.create(operands=values)


def _operand(parameter: Parameter) -> Any:
    if parameter.variadic:
        return var_operand_def(AnyAttr())
    return opt_operand_def(AnyAttr()) if parameter.optional else operand_def(AnyAttr())


def _result(parameter: Parameter) -> Any:
    if parameter.variadic:
        return var_result_def(AnyAttr())
    return opt_result_def(AnyAttr()) if parameter.optional else result_def(AnyAttr())


def _make_class(signature: Signature) -> type[Operation]:
    """Build the class of one operator; field names carry a prefix, because ONNX names clash with Operation members."""
    fields: dict[str, Any] = {"name": PREFIX + signature.name, "__module__": __name__}
    for parameter in signature.inputs:
        fields[f"in_{parameter.name}"] = _operand(parameter)
    for parameter in signature.outputs:
        fields[f"out_{parameter.name}"] = _result(parameter)
    for name, attribute in signature.attributes.items():
        is_graph = attribute.kind == "GRAPH"
        fields[f"attr_{name}"] = region_def() if is_graph else opt_prop_def(Attribute, prop_name=name)
    options: list[Any] = []
    if signature.needs_segments(signature.inputs):
        options.append(AttrSizedOperandSegments(as_property=True))
    if signature.needs_segments(signature.outputs):
        options.append(AttrSizedResultSegments(as_property=True))
    if options:
        fields["irdl_options"] = tuple(options)
    if signature.name not in RANDOM_OPERATORS:
        fields["traits"] = traits_def(RecursiveMemoryEffect() if signature.graph_attributes else Pure())
    return irdl_op_definition(type(f"{signature.name}Op", (FrameworkOp,), fields))


class _Classes(Mapping[str, type[Operation]]):
    """Operator name -> class; a class is made when it is first asked for (all 213 take as long as importing numpy)."""

    def __init__(self) -> None:
        self._made: dict[str, type[Operation]] = {"Constant": ConstantOp}

    def __getitem__(self, name: str) -> type[Operation]:
        made = self._made.get(name)
        if made is None:
            made = self._made[name] = _make_class(signatures()[name])
        return made

    def __iter__(self) -> Iterator[str]:
        return iter(signatures())

    def __len__(self) -> int:
        return len(signatures())


OPS_BY_NAME: Mapping[str, type[Operation]] = _Classes()


class FrameworkDialect(Dialect):
    """The dialect; its operator classes are made when a context loads it."""

    @property
    def operations(self) -> Iterator[type[Operation]]:
        yield from self._operations
        yield from OPS_BY_NAME.values()


def __getattr__(name: str) -> Any:
    """Return the class of an operator (`ConvOp`)."""
    if name.endswith("Op") and name[:-2] in signatures():
        return OPS_BY_NAME[name[:-2]]
    raise AttributeError(f"module {__name__!r} has no operator class {name!r}")
