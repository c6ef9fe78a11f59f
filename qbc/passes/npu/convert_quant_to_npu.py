"""`convert-quant-to-npu`: materialized quant functions become npu programs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from xdsl.dialects.builtin import (
    DenseIntOrFPElementsAttr,
    IntegerAttr,
    IntegerType,
    ModuleOp,
    StringAttr,
    i64,
)
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.rewriter import Rewriter

from qbc.dialects.blob import read_blob, write_blob
from qbc.dialects.common.access import tensor_type
from qbc.dialects.common.graph import argument_names, division_factor, result_names, source_layouts
from qbc.dialects.common.properties import int_list
from qbc.dialects.npu import (
    KERNEL_OPS,
    ConstantOp,
    HostTensorAttr,
    KernelOp,
    NpuTensorType,
    ProgramOp,
    ReturnOp,
    value_type,
)
from qbc.dialects.npu.shape import ConcatOp
from qbc.dialects.npu.syntax import call_values
from qbc.dialects.quant import channel_row, quantized_element
from qbc.passes.base import CompileContext, ModulePass, pass_error
from qbc.passes.npu.programs import target_of

if TYPE_CHECKING:
    from qbc.kernels import KernelCall

_I32_LIMIT = 1 << 31


@dataclass(frozen=True)
class ConvertQuantToNpu(ModulePass):
    """Turn each materialized `func.func` of quant ops into an `npu.program` without quant types and without float.

    Graph inputs and outputs become codes whose encodings stand in host descriptors; every other op becomes the npu op
    of its kernel call, with the same attributes and constants. A concat of more inputs than one command takes becomes
    several.

    Before:
    ```mlir
    func.func @main(%x: tensor<1x4xf32> {mblt.name = "x"}) -> (tensor<1x4xf32> {mblt.name = "y"}) {
      %0 = quant.quantize %x : tensor<1x4xf32> -> tensor<1x4x!quant.q<i8, 0.5 : 0>>
      %1 = quant.lut %0 {table = ...} : tensor<1x4x!quant.q<i8, 0.5 : 0>> -> tensor<1x4x!quant.q<i8, 0.25 : 0>>
      %2 = quant.dequantize %1 : tensor<1x4x!quant.q<i8, 0.25 : 0>> -> tensor<1x4xf32>
      func.return %2 : tensor<1x4xf32>
    }
    ```
    After:
    ```mlir
    npu.program @main(%x: !npu.t<1x4xi8>) target("aries-rb") mode("single") variant(0)
        inputs(#npu.host<"x", f32, 0.5 : 0>) outputs(#npu.host<"y", f32, 0.25 : 0>) {
      %1 = npu.lut %x {table = ...} : !npu.t<1x4xi8> -> !npu.t<1x4xi8>
      npu.return %1 : !npu.t<1x4xi8>
    }
    ```
    """

    name = "convert-quant-to-npu"
    needs = ("quant.materialized",)
    produces = ("npu",)

    def run(self, op: ModuleOp, ctx: CompileContext) -> None:
        target = target_of(ctx).name
        functions = [inner for inner in op.body.block.ops if isinstance(inner, FuncOp) and not inner.is_declaration]
        programs = [_Conversion(func, ctx).convert(target) for func in functions]
        for inner in list(op.body.block.ops):
            if isinstance(inner, FuncOp) or inner.name.startswith("quant."):
                Rewriter.erase_op(inner, safe_erase=False)
        for program in programs:
            op.body.block.add_op(program)


class _Conversion:
    """One function; maps its values to npu values."""

    def __init__(self, func: FuncOp, ctx: CompileContext) -> None:
        self.func = func
        self.ctx = ctx
        self.block = Block()
        self.values: dict[SSAValue, SSAValue] = {}
        self.outputs: dict[SSAValue, HostTensorAttr] = {}

    def convert(self, target: str) -> ProgramOp:
        inputs = self._convert_arguments()
        for op in self.func.body.block.ops:
            self._convert_op(op)
        outputs = self._convert_return()
        name = self.func.sym_name.data
        program = ProgramOp.make(name, target, host_inputs=inputs, host_outputs=outputs, body=self.block)
        program.location = self.func.location
        return program

    # --- boundary ---

    def _convert_arguments(self) -> list[HostTensorAttr]:
        arguments = self.func.body.block.args
        names = argument_names(self.func)
        layouts = source_layouts(self.func.arg_attrs, len(arguments))
        hosts = []
        for argument, label, layout in zip(arguments, names, layouts, strict=True):
            tensor, host = self._host_input(argument, label, layout or "")
            if division_factor(self.func, argument.index) is not None:
                host = HostTensorAttr.of(label, "u8", host.scales[0], host.zero_point.value.data, layout or "")
            value = self.block.insert_arg(tensor, len(self.block.args))
            value.name_hint = argument.name_hint or None
            self.values[argument] = value
            for use in argument.uses:
                if use.operation.name == "quant.quantize":
                    self.values[use.operation.results[0]] = value
            hosts.append(host)
        return hosts

    def _host_input(self, argument: SSAValue, label: str, layout: str) -> tuple[NpuTensorType, HostTensorAttr]:
        shape = _shape(argument)
        if isinstance(_element(argument), IntegerType):
            return NpuTensorType.of(shape, "i32"), HostTensorAttr.of(label, "i32", 1.0, 0, layout)
        users = [use.operation for use in argument.uses]
        encodings = {_encoding(user.results[0]) for user in users if user.name == "quant.quantize"}
        others = [user for user in users if user.name != "quant.quantize"]
        if others:
            raise pass_error(others[0], f"reads the float graph input {label!r}: run quant-materialize first")
        if len(encodings) > 1:
            raise pass_error(users[0], f"graph input {label!r} has {len(encodings)} encodings, it must have one")
        storage, scale, zero_point = encodings.pop() if encodings else ("i8", 1.0, 0)
        return NpuTensorType.of(shape, storage), HostTensorAttr.of(label, "f32", scale, zero_point, layout)

    def _convert_return(self) -> list[HostTensorAttr]:
        terminator = self.func.body.block.last_op
        returned = list(terminator.operands) if terminator is not None else []
        layouts = source_layouts(self.func.res_attrs, len(returned))
        hosts, values = [], []
        for value, label, layout in zip(returned, result_names(self.func), layouts, strict=True):
            hosts.append(self._host_output(value, label, layout or ""))
            values.append(self.values[value])
        self.block.add_op(ReturnOp.build(operands=[values]))
        return hosts

    def _host_output(self, value: SSAValue, label: str, layout: str) -> HostTensorAttr:
        import numpy as np

        from qbc.execute.integer import final_encoding

        owner = value.owner
        if isinstance(owner, Operation) and owner.name == "quant.dequantize":
            source = owner.operands[0]
            if channel_row(source) is None:
                return HostTensorAttr.of(label, "f32", *_encoding(source)[1:], layout)
            _, scales, zero_point = final_encoding(source, self.ctx.store)
            return HostTensorAttr.of(label, "f32", np.asarray(scales).tolist(), zero_point, layout)
        if isinstance(_element(value), IntegerType):
            return HostTensorAttr.of(label, "i32", 1.0, 0, layout)
        return HostTensorAttr.of(label, "f32", *_encoding(value)[1:], layout)

    # --- body ---

    def _convert_op(self, op: Operation) -> None:
        if op.name in ("func.return", "quant.quantize"):
            return
        if op.name == "quant.dequantize":
            self.values[op.results[0]] = self.values[op.operands[0]]
            return
        new = self._constant(op) if op.name == "quant.constant" else self._kernel_op(op)
        new.location = op.location
        self.block.add_op(new)
        new.results[0].name_hint = op.results[0].name_hint or None
        self.values[op.results[0]] = new.results[0]

    def _constant(self, op: Operation) -> ConstantOp:
        import numpy as np

        value = op.properties["value"]
        if isinstance(value, DenseIntOrFPElementsAttr):
            array = np.array(value.get_values()).reshape(value.get_shape())
        else:
            array = read_blob(self.ctx.store, value)
        encoding = quantized_element(op.results[0])
        plain = "i8" if _element(op.results[0]) == IntegerType(1) else "i32"  # masks are codes 0 and 1
        element = str(encoding.storage) if encoding is not None else plain
        if array.dtype.kind == "f":
            raise pass_error(op, "still holds float data: run quant-materialize first")
        if element == "i32" and array.size and (array.min() < -_I32_LIMIT or array.max() >= _I32_LIMIT):
            raise pass_error(op, "holds integers beyond 32 bits", code="UNSUPPORTED_OP")
        blob = write_blob(self.ctx.store, array.astype(f"int{element[1:]}").reshape(_shape(op.results[0])))
        result = NpuTensorType.of(_shape(op.results[0]), element)
        return ConstantOp.build(properties={"value": blob}, result_types=[result])

    def _kernel_op(self, op: Operation) -> KernelOp:
        from qbc.execute.integer import kernel_call

        call = kernel_call(op, self.ctx.store)
        cls = KERNEL_OPS.get(f"npu.{_op_kind(call)}")
        if cls is None:
            raise pass_error(op, f"has no npu form (kernel {call.kind!r})", code="UNSUPPORTED_OP")
        properties = self._properties(op, cls, call)
        result = NpuTensorType.of(call.output.shape, call.output.dtype)
        inputs = [self.values[value] for value in op.operands]
        if cls is ConcatOp:
            inputs = self._joined_groups(op, inputs, properties)
        return cls.build_value(inputs, result, properties)

    def _joined_groups(self, op: Operation, inputs: list[SSAValue], properties: dict[str, Attribute]) -> list[SSAValue]:
        """Join groups of inputs of a concat in commands of their own, until one command takes what is left."""
        most = ConcatOp.INPUTS[1]
        while len(inputs) > most:
            groups = [inputs[first : first + most] for first in range(0, len(inputs), most)]
            inputs = [group[0] if len(group) == 1 else self._joined(op, group, properties) for group in groups]
        return inputs

    def _joined(self, op: Operation, inputs: list[SSAValue], properties: dict[str, Attribute]) -> SSAValue:
        types = [value_type(value) for value in inputs]
        axis = call_values(properties)["axis"]
        shape = [
            sum(part.shape[number] for part in types) if number == axis else extent
            for number, extent in enumerate(types[0].shape)
        ]
        part = ConcatOp.build_value(inputs, NpuTensorType.of(shape, types[0].element), properties)
        part.location = op.location
        self.block.add_op(part)
        return part.results[0]

    def _properties(self, op: Operation, cls: type[KernelOp], call: KernelCall) -> dict[str, Attribute]:
        known = cls.property_names()
        given: dict[str, Any] = {**call.attributes, **call.constants}
        unknown = sorted(set(given) - set(known))
        if unknown:
            raise pass_error(op, f"has properties unknown to {cls.name}: {', '.join(unknown)}", code="INTERNAL_ERROR")
        properties = {name: _attribute(value) for name, value in call.attributes.items()}
        properties |= {name: write_blob(self.ctx.store, array) for name, array in call.constants.items()}
        return {name: properties[name] for name in known if name in properties}


def _op_kind(call: KernelCall) -> str:
    channels = call.inputs[0].shape[-1] if call.kind == "conv2d" else 1
    if channels > 1 and call.attributes.get("groups") == channels:
        return "depthwise_conv2d"
    return "add" if call.kind == "sub" else call.kind


def _attribute(value: Any) -> Attribute:
    if isinstance(value, str):
        return StringAttr(value)
    if isinstance(value, tuple | list):
        return int_list([int(item) for item in value])
    number: int = int(value)
    return IntegerAttr(number, i64)


def _shape(value: SSAValue) -> tuple[int, ...]:
    return tensor_type(value).get_shape()


def _element(value: SSAValue) -> Attribute:
    return tensor_type(value).element_type


def _encoding(value: SSAValue) -> tuple[str, float, int]:
    element = quantized_element(value)
    encoding = element.encoding if element is not None else None
    if encoding is None:
        owner = value.owner
        assert isinstance(owner, Operation)
        raise pass_error(owner, f"has no inline encoding, its type is {value.type}: run quant-materialize first")
    return encoding
