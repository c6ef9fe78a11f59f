"""The text form reads back as it was written, in both forms, and wrong operations are refused."""

from __future__ import annotations

from io import StringIO

import pytest
from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.utils.exceptions import ParseError, VerifyException

from qbc.driver.context import make_context
from qbc.passes.base import source_names
from qbc.pipelines.text import parse_ir, print_ir

BODY = """
builtin.module attributes {framework.opset = 25 : i64, framework.metadata = {"a key" = "x\\ny"}} {
  func.func @main(%x: tensor<1x3x?x4xf32> {framework.name = "in/put"}, %c: tensor<i1>) -> (tensor<1x3x?x4xf32>) {
LINES
    func.return %x : tensor<1x3x?x4xf32>
  }
}
"""
LINES = [
    '%w = framework.Constant #blob.inline<"00000000" : tensor<1x1x1x1xf32>>',
    "%w = framework.Constant dense<[1, 2]> : tensor<2xi64>",
    "%w = framework.Constant dense<> : tensor<0xi64>",
    '%w = framework.Constant #framework.raw<TENSOR, "0a0b"> : tensor<2x!framework.string>',
    "%0 = framework.MaxPool(%x) {kernel_shape = [3, 3], pads = [0, 0, -1, 1]} : (tensor<1x3x?x4xf32>) -> tensor<*xf32>",
    '%0 = framework.Conv(%x, %x) {auto_pad = "SAME_UPPER", group = 1 : i64} '
    ": (tensor<1x3x?x4xf32>, tensor<1x3x?x4xf32>) -> tensor<1x1x?x4xf32>",
    "%0 = framework.LeakyRelu(%x) {alpha = 0.00999999977 : f32} : (tensor<1x3x?x4xf32>) -> tensor<1x3x?x4xf32>",
    "%0 = framework.Resize(%x, none, %x) : (tensor<1x3x?x4xf32>, tensor<1x3x?x4xf32>) -> tensor<1x3x?x4xf32>",
    "%h, %k = framework.LSTM(%x, %x, %x, none, none, %x) {hidden_size = 3 : i64} : (tensor<1x3x?x4xf32>, "
    "tensor<1x3x?x4xf32>, tensor<1x3x?x4xf32>, tensor<1x3x?x4xf32>) -> (none, tensor<1xf32>, tensor<1xf32>)",
    "%a, %b = framework.Split(%x) {axis = 1 : i64, num_outputs = 2 : i64} : (tensor<1x3x?x4xf32>) "
    "-> (tensor<1x2x?x4xf32>, tensor<1x1x?x4xf32>)",
    "%0 = framework.If(%c) ({\n framework.yield %x : tensor<1x3x?x4xf32>\n}, "
    "{\n framework.yield %x : tensor<1x3x?x4xf32>\n}) : (tensor<i1>) -> tensor<1x3x?x4xf32>",
    "%0 = framework.SequenceEmpty() {dtype = 8 : i64} : () -> !framework.sequence<tensor<3x!framework.string>>",
    '%0 = framework.Optional(%x) attributes {note = "kept"} '
    ": (tensor<1x3x?x4xf32>) -> !framework.optional<tensor<1x3x?x4xf32>>",
    '%0 = "framework.opaque"(%x) <{op_type = "F", domain = "d", onnx_attributes = {a = 1 : i64}}> '
    ": (tensor<1x3x?x4xf32>) -> !framework.unknown",
]


def parse(line: str) -> ModuleOp:
    return Parser(make_context(), BODY.replace("LINES", line)).parse_module()


@pytest.mark.parametrize("line", LINES)
@pytest.mark.parametrize("generic", [False, True])
def test_round_trip(line: str, generic: bool) -> None:
    module = parse(line)
    module.verify()
    stream = StringIO()
    Printer(stream=stream, print_generic_format=generic, print_debuginfo=True).print_op(module)
    again = Parser(make_context(), stream.getvalue()).parse_module()
    again.verify()
    assert again.is_structurally_equivalent(module)
    assert str(again) == str(module)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("%0 = framework.Relu(%x) {alpha = 1 : i64} : (tensor<1x3x?x4xf32>) -> tensor<1xf32>", "alpha"),
        ("%0 = framework.LeakyRelu(%x) {alpha = 1 : i64} : (tensor<1x3x?x4xf32>) -> tensor<1xf32>", "kind FLOAT"),
        ("%0 = framework.Cast(%x) : (tensor<1x3x?x4xf32>) -> tensor<1xf32>", "requires attribute 'to'"),
        ("%0 = framework.Add(%x) : (tensor<1x3x?x4xf32>) -> tensor<1xf32>", "operand"),
        ('%0 = "framework.Constant"() <{value = 3 : i64}> : () -> tensor<2xi64>', "type"),
    ],
)
def test_verifier(line: str, message: str) -> None:
    with pytest.raises(VerifyException, match=message):
        parse(line).verify()


@pytest.mark.parametrize(
    "line",
    [
        "%0 = framework.NoSuchOperator(%x) : (tensor<1x3x?x4xf32>) -> tensor<1xf32>",
        "%0 = framework.Relu(%x) : (tensor<1x3x?x4xf32>, tensor<1xf32>) -> tensor<1xf32>",
        '%0 = framework.Constant "text"',
    ],
)
def test_parser_refuses(line: str) -> None:
    with pytest.raises(ParseError):
        parse(line)


def test_names_in_any_language() -> None:
    attributes = '{note = "疗\\0A\\"é\\""}'
    line = f'%0 = framework.Relu(%x) attributes {attributes} : (tensor<1x3x?x4xf32>) -> tensor<1xf32> loc("/层/Relu")'
    module = parse_ir(make_context(), BODY.replace("LINES", line), "text")
    relu = next(op for op in module.walk() if op.name == "framework.Relu")
    assert relu.attributes["note"] == StringAttr('疗\n"é"')
    assert source_names(relu) == ("/层/Relu",)
    again = parse_ir(make_context(), print_ir(module), "text")
    assert again.is_structurally_equivalent(module)
    assert print_ir(again) == print_ir(module)
