"""`npu-fuse`: a table or an addition behind a weighted sum becomes part of its command; no bit changes."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects.builtin import StringAttr
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.rewriter import Rewriter

from qbc.dialects.npu import KernelOp, ProgramOp, value_type
from qbc.dialects.npu.activation import LutOp
from qbc.dialects.npu.convolution import AccumulateOp
from qbc.dialects.npu.elementwise import AddOp
from qbc.passes.base import CompileContext, fuse_locations, single_user
from qbc.passes.npu.programs import ProgramPass, commands


@dataclass(frozen=True)
class NpuFuse(ProgramPass):
    """Fuse `lut` and `add` into the convolution or linear layer that feeds them, where nothing else reads its result.

    A table applies to the requantized code; an addition takes that code as its first operand. Both are defined as if
    the intermediate code had been written, so the results are the same bytes.

    Before:
    ```mlir
    %1 = npu.conv2d %0 {...} : !npu.t<1x4x4x8xi8> -> !npu.t<1x4x4x8xi8>
    %2 = npu.add %1, %r {za = 3, ...} : !npu.t<1x4x4x8xi8>, !npu.t<1x4x4x8xi8> -> !npu.t<1x4x4x8xi8>
    ```
    After:
    ```mlir
    %2 = npu.conv2d %0, %r {..., add_za = 3, ...} : !npu.t<1x4x4x8xi8>, !npu.t<1x4x4x8xi8> -> !npu.t<1x4x4x8xi8>
    ```
    """

    name = "npu-fuse"
    needs = ("npu.values",)
    add: bool = True
    table: bool = True

    def run(self, op: ProgramOp, ctx: CompileContext) -> None:
        order: dict[Operation, int] = {command: index for index, command in enumerate(commands(op))}
        for command in commands(op):
            if self.table and isinstance(command, LutOp) and _fuse_table(command):
                ctx.count("tables")
        for command in commands(op):
            if self.add and isinstance(command, AddOp) and _fuse_add(command, order):
                ctx.count("additions")


def _open_producer(value: SSAValue) -> AccumulateOp | None:
    """Return the weighted sum that makes `value`, if nothing else reads it and nothing is fused into it yet."""
    owner = value.owner
    if not isinstance(owner, AccumulateOp) or owner.plane_name != "full":
        return None
    if "table" in owner.properties or owner.has_fused_add or single_user(value) is None:
        return None
    return owner


def _fuse_table(lut: LutOp) -> bool:
    producer = _open_producer(lut.inputs[0])
    if producer is None:
        return False
    properties = {**producer.call_properties(), "table": lut.properties["table"]}
    fused = type(producer).build_value(list(producer.inputs), lut.output_type, properties)
    _replace(lut, producer, fused)
    return True


def _fuse_add(add: AddOp, order: dict[Operation, int]) -> bool:
    shape = add.output_type.shape
    if any(value_type(value).shape != shape for value in add.inputs) or add.inputs[0] is add.inputs[1]:
        return False
    candidates = [(position, _open_producer(value)) for position, value in enumerate(add.inputs)]
    found = [(order.get(producer, -1), position, producer) for position, producer in candidates if producer is not None]
    if not found:
        return False
    _, position, producer = max(found, key=lambda entry: entry[:2])
    residual = add.inputs[1 - position]
    properties = {**producer.call_properties(), **_add_properties(add, swapped=position == 1)}
    middle = producer.output_type.element
    if middle != add.output_type.element:
        properties["add_dtype"] = StringAttr(middle)
    fused = type(producer).build_value([*producer.inputs, residual], add.output_type, properties)
    order[fused] = order[producer]
    _replace(add, producer, fused)
    return True


def _add_properties(add: AddOp, *, swapped: bool) -> dict[str, Attribute]:
    """Return the `add_*` properties with the fused code as operand a."""
    names = {"ma": "mb", "mb": "ma", "za": "zb", "zb": "za"} if swapped else {}
    kept = ("ma", "mb", "s", "za", "zb", "z", "lo", "hi")
    return {f"add_{name}": add.properties[names.get(name, name)] for name in kept}


def _replace(consumer: KernelOp, producer: AccumulateOp, fused: KernelOp) -> None:
    """Put `fused` in the place of `consumer` and erase both fused ops."""
    fused.location = fuse_locations([producer, consumer])
    Rewriter.replace_op(consumer, fused, [fused.results[0]])
    Rewriter.erase_op(producer)
