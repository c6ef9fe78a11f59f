"""The conversion pass."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import FunctionType, ModuleOp, StringAttr, TensorType, f32
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, Block, BlockArgument, Operation, SSAValue

from qbc.dialects import mblt, quant
from qbc.dialects.common.tensor_text import dims_text
from qbc.dialects.framework import operator
from qbc.errors import QBCompilerError
from qbc.passes.base import CompileContext, ModulePass, check_choice, located, source_names
from qbc.passes.quant.convert_mblt_to_quant import direct, rewrites
from qbc.passes.quant.convert_mblt_to_quant.builder import Builder, Handler, is_float, quant_type, shape_of
from qbc.passes.quant.convert_mblt_to_quant.rows import assign_rows

HANDLERS: dict[type[Operation], Handler] = {**direct.HANDLERS, **rewrites.HANDLERS}
_HANDLED: tuple[type[Operation], ...] = (*HANDLERS, mblt.ConstantOp)


@dataclass(frozen=True)
class ConvertMbltToQuant(ModulePass):
    """Turn mblt functions into quant functions whose types name rows of the parameter table; weights stay float.

    Every float value gets a row; values that must share an encoding share it (calibration method `method`). The graph
    boundary keeps float. Unary functions become `quant.lut`, relu and clip the clamp of their producer or a requantize.
    Raises UNSUPPORTED_OP with the list of all operations that have no integer form.

    ```mlir
    %0 = mblt.linear %x {weight = #w} : tensor<1x8xf32> -> tensor<1x4xf32>
    %1 = mblt.tanh %0 : tensor<1x4xf32> -> tensor<1x4xf32>
    ```
    becomes
    ```mlir
    quant.params "r0"
    quant.params "r1"
    quant.params "r2"
    %0 = quant.quantize %x : tensor<1x8xf32> -> tensor<1x8x!quant.q<"r0">>
    %1 = quant.linear %0 {weight = #w} : tensor<1x8x!quant.q<"r0">> -> tensor<1x4x!quant.q<"r1">>
    %2 = quant.lut %1 {function = "tanh"} : tensor<1x4x!quant.q<"r1">> -> tensor<1x4x!quant.q<"r2">>
    %3 = quant.dequantize %2 : tensor<1x4x!quant.q<"r2">> -> tensor<1x4xf32>
    ```
    """

    name = "convert-mblt-to-quant"
    needs = ("mblt",)
    produces = ("quant.created",)

    method: int = 3

    def __post_init__(self) -> None:
        check_choice("method", self.method, range(4))

    def run(self, op: ModuleOp, ctx: CompileContext) -> None:
        functions = npu_functions(op)
        check_convertible(functions, ctx.report.get("conversion", ()))
        for function in functions:
            _convert_function(function, ctx)
        assign_rows(op, self.method)


def _on_host(function: FuncOp) -> bool:
    return function.attributes.get("mblt.device") == StringAttr("cpu")


def check_convertible(functions: Sequence[FuncOp], report: Sequence[Mapping[str, str]] = ()) -> None:
    """Raise one error that lists every operation without an integer form, and refuse dynamic shapes.

    `report` is the conversion report: why an operator stayed in the source dialect.
    """
    operators = unconvertible(functions, report)
    if operators:
        lines = "".join(f"\n  {line}" for line, _ in operators)
        error = QBCompilerError(
            f"{len(operators)} operation{'s' if len(operators) > 1 else ''} cannot run on the NPU:{lines}",
            code="UNSUPPORTED_OP",
            hint="Change these parts of the model; running them on the host (cpu_offload) is not available yet.",
        )
        raise located(error, operators[0][1])
    for function in functions:
        _check_static(function)
        _check_boundary(function)


def unconvertible(functions: Sequence[FuncOp], report: Sequence[Mapping[str, str]] = ()) -> list[tuple[str, Operation]]:
    """Return the operations without an integer form, each with a line that names it and says why."""
    reasons = {(entry["node"], entry["operator"]): entry["reason"] for entry in report}
    refused = [entry for function in functions for entry in _refused(function, reasons)]
    operators = [entry for entry in refused if entry[1] != "Constant"] or refused  # constants stay for their readers
    return [(f"{node or '(unnamed)'}: {operator}: {reason}", op) for node, operator, reason, op in operators]


def npu_functions(module: ModuleOp) -> list[FuncOp]:
    """Return the functions of a module that are not marked for the host."""
    return [inner for inner in module.body.block.ops if isinstance(inner, FuncOp) and not _on_host(inner)]


def _refused(function: FuncOp, reasons: Mapping[tuple[str, str], str]) -> Iterator[tuple[str, str, str, Operation]]:
    """Yield node, operator and reason of each operation without an integer form, and the operation."""
    for op in function.body.block.ops:
        reason = None if isinstance(op, ReturnOp) else rewrites.refusal(op, _HANDLED)
        if reason is None:
            continue
        names = source_names(op)
        shown = operator(op) if op.name.startswith("framework.") else op.name.partition(".")[2]
        yield ", ".join(names), shown, reasons.get((names[0] if names else "", shown), reason), op


def _check_static(function: FuncOp) -> None:
    for value in (*function.body.block.args, *(r for op in function.body.block.ops for r in op.results)):
        if isinstance(value.type, TensorType) and any(size < 0 for size in value.type.get_shape()):
            owner = value.owner
            error = QBCompilerError(
                f"the shape {dims_text(value.type.get_shape())} is not fixed",
                code="SHAPE_ERROR",
                node=None if isinstance(owner, Operation) else f"input {value.index}",
                hint="Bind dimensions with --input-shape NAME=1x3x224x224.",
            )
            raise located(error, owner)


def _check_boundary(function: FuncOp) -> None:
    end = function.body.block.last_op
    values = (*function.body.block.args, *(end.operands if end is not None else ()))
    if any(rewrites.is_mask(value) for value in values):
        error = QBCompilerError(
            "a graph input or output holds booleans, which have no form at the boundary of the NPU",
            code="UNSUPPORTED_OP",
            hint="Use float or integer inputs and outputs.",
        )
        raise located(error, end)


def _convert_function(function: FuncOp, ctx: CompileContext) -> None:
    old = function.body.block
    block = Block(arg_types=[_boundary_type(argument) for argument in old.args])
    builder = Builder(block, ctx.store)
    for before, after in zip(old.args, block.args, strict=True):
        builder.bind(before, _enter(builder, before, after))
    for op in old.ops:
        if isinstance(op, ReturnOp):
            results = [_leave(builder, value) for value in op.operands]
            end = ReturnOp(*results)
            end.location = op.location
            block.add_op(end)
        elif not isinstance(op, mblt.ConstantOp):
            builder.bind(op.results[0], HANDLERS[type(op)](builder, op))
            ctx.count("converted")
    _replace_body(function, block)


def _boundary_type(argument: SSAValue) -> Attribute:
    if is_float(argument):
        return TensorType(f32, shape_of(argument))
    return quant_type(argument.type)


def _enter(builder: Builder, before: BlockArgument, after: SSAValue) -> SSAValue:
    if not is_float(before):
        return after
    return builder.emit(quant.QuantizeOp, [after], shape_of(before), before.location)


def _leave(builder: Builder, value: SSAValue) -> SSAValue:
    new = builder.value(value)
    if not is_float(value):
        return new
    location = value.location if isinstance(value, BlockArgument) else getattr(value.owner, "location", None)
    return builder.add(quant.DequantizeOp.make([new], TensorType(f32, shape_of(value)), {}, location))


def _replace_body(function: FuncOp, block: Block) -> None:
    region = function.body
    old = region.block
    for before, after in zip(old.args, block.args, strict=True):
        after.location = before.location
        after.name_hint = before.name_hint or None
    region.detach_block(old)
    region.add_block(block)
    old.erase(safe_erase=False)
    results = [value.type for value in block.last_op.operands] if block.last_op else []
    function.properties["function_type"] = FunctionType.from_lists([a.type for a in block.args], results)


__all__ = ["ConvertMbltToQuant", "check_convertible", "npu_functions", "unconvertible"]
