"""The npu dialect: text of every op in both forms, effects, and rules that verifiers find."""

from __future__ import annotations

import dataclasses
from io import StringIO

import pytest
from xdsl.dialects.builtin import ModuleOp
from xdsl.irdl import OptionalDef
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import MemoryEffectKind, get_effects
from xdsl.utils.exceptions import VerifyException

from qbc.dialects.npu import KERNEL_OPS
from qbc.driver.context import make_context
from qbc.passes.npu.npu_assign_buffers import NpuAssignBuffers
from qbc.passes.npu.programs import commands
from qbc.program.opcodes import OPCODE_OF_KIND
from qbc.store import BlobStore
from tests.support.npu_ops import CASES, Case, program_of

SHARED = ("core", "order", "operandSegmentSizes")
IDS = [f"{index}-{case.op}" for index, case in enumerate(CASES)]


def case_of(op: str, **changes: object) -> Case:
    case = next(case for case in CASES if case.op == op)
    properties = dict(case.properties) | changes.pop("properties", {})  # type: ignore[arg-type, operator]
    return dataclasses.replace(case, properties=properties, **changes)  # type: ignore[arg-type]


def text(module: ModuleOp, *, generic: bool = False) -> str:
    stream = StringIO()
    Printer(stream, print_generic_format=generic, print_debuginfo=True).print_op(module)
    return stream.getvalue()


def check_round_trip(module: ModuleOp) -> None:
    module.verify()
    for generic in (False, True):
        again = Parser(make_context(), text(module, generic=generic)).parse_module()
        again.verify()
        assert text(again) == text(module)


@pytest.mark.parametrize("case", CASES, ids=IDS)
def test_text_of_both_forms(case: Case) -> None:
    program = program_of(case, BlobStore())
    module = ModuleOp([program])
    check_round_trip(module)
    NpuAssignBuffers().run(program, make_context(store=BlobStore()))
    check_round_trip(module)


def test_there_is_a_case_for_every_op() -> None:
    assert {f"npu.{case.op}" for case in CASES} == set(KERNEL_OPS)


@pytest.mark.parametrize("name", sorted(KERNEL_OPS))
def test_properties_are_those_of_the_packed_form(name: str) -> None:
    cls = KERNEL_OPS[name]
    opcode = OPCODE_OF_KIND[cls.KIND]
    fields = {field.name: field.optional for field in opcode.fields}
    definitions = cls.get_irdl_definition().properties
    own = {name: isinstance(definition, OptionalDef) for name, definition in definitions.items() if name not in SHARED}
    assert own == fields
    assert (opcode.least_inputs, opcode.most_inputs) == cls.INPUTS


def test_effects_of_both_forms() -> None:
    program = program_of(case_of("add"), BlobStore())
    assert not get_effects(commands(program)[0])
    NpuAssignBuffers().run(program, make_context(store=BlobStore()))
    command = commands(program)[0]
    effects = get_effects(command)
    assert effects is not None
    assert {e.value for e in effects if e.kind is MemoryEffectKind.READ} == set(command.inputs)
    assert {e.value for e in effects if e.kind is MemoryEffectKind.WRITE} == set(command.outs)


WRONG = [
    (case_of("conv2d", output=((1, 6, 8, 6), "i8")), "result shape"),
    (case_of("conv2d", properties={"groups": 3}), "does not divide"),
    (case_of("conv2d", properties={"strides": (1,)}), "2 entries"),
    (case_of("conv2d", properties={"lo": 5, "hi": 4}), "clamp range is empty"),
    (case_of("conv2d", properties={"plane": "mid"}), "plane must be"),
    (case_of("conv2d", properties={"add_ma": 1}), "needs all of"),
    (case_of("conv2d", properties={"plane": "lo"}), "expects 2 inputs"),
    (case_of("depthwise_conv2d", properties={"groups": 2}), "weight must be"),
    (case_of("transpose_conv2d", output=((1, 14, 16, 3), "i8")), "result size"),
    (case_of("linear", output=((2, 6), "i8")), "result shape"),
    (case_of("matmul", output=((3, 2, 5), "i8")), "result shape"),
    (case_of("matmul", properties={"transpose_b": 1}), "inner sizes"),
    (case_of("add", inputs=[((1, 6, 8, 4), "i8"), ((3,), "i8")]), "do not broadcast"),
    (case_of("add", inputs=[((1, 6, 8, 4), "i32"), ((4,), "i8")]), "must hold"),
    (case_of("maximum", inputs=[((1, 6, 8, 4), "i16"), ((4,), "i8")]), "element types differ"),
    (case_of("lut", inputs=[((1, 6, 8, 4), "i16")]), "must hold i8"),
    (case_of("lut16", inputs=[((1, 6, 8, 4), "i8")]), "must hold i16"),
    (case_of("max_pool2d", output=((1, 8, 8, 4), "i8")), "result size"),
    (case_of("max_pool2d", properties={"kernel": (0, 2)}), "must be positive"),
    (case_of("reduce_sum", properties={"axes": (1, 1)}), "not distinct"),
    (case_of("reduce_sum", output=((1, 2, 1, 4), "i8")), "result shape"),
    (case_of("layer_norm", properties={"n": 3}), "not a product"),
    (case_of("reshape", output=((5, 32), "i8")), "different sizes"),
    (case_of("transpose", properties={"permutation": (0, 1, 1, 2)}), "not a permutation"),
    (case_of("slice", properties={"steps": (1, 3, 2, 1)}), "leave the axis"),
    (case_of("concat", properties={"axis": 4}), "do not fit"),
    (case_of("expand", output=((3, 2, 5), "i8")), "does not broadcast"),
    (case_of("gather", inputs=[((9, 4), "i8"), ((2, 3), "i8")]), "must hold i32"),
    (case_of("pad", properties={"before": (0, -1, 0, 0)}), "must not be negative"),
    (case_of("tile", properties={"repeats": (2, 2)}), "result shape"),
    (case_of("resize_nearest", output=((1, 3, 3, 4), "i8")), "index_h must be"),
    (case_of("arg_max", properties={"axis": 5}), "not an axis"),
    (case_of("where", inputs=[((1,), "i16"), ((1, 6, 8, 4), "i8"), ((1,), "i8")]), "must hold i8"),
]


@pytest.mark.parametrize(("case", "message"), WRONG, ids=[f"{i}-{case.op}" for i, (case, _) in enumerate(WRONG)])
def test_verifier_finds(case: Case, message: str) -> None:
    with pytest.raises(VerifyException, match=message):
        program_of(case, BlobStore()).verify()
