"""`mblt-add-outputs`: results of layers that become graph outputs too."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects.builtin import AnyFloat, ArrayAttr, DictionaryAttr, FunctionType, StringAttr, TensorType
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Operation

from qbc.dialects.common.graph import result_names
from qbc.dialects.common.tensor_text import tensor_text
from qbc.errors import OptionError
from qbc.passes.base import CompileContext, FunctionPass, source_names
from qbc.passes.layer_names import matching_names


@dataclass(frozen=True)
class AddOutputsPass(FunctionPass):
    """Return the results of `layers` (source nodes, by name or glob) after the outputs that the graph has.

    The new outputs are called like their nodes and keep the channel-last layout. Of a node that became several
    operations the last one counts; where several nodes are one operation they share its result, under the name of the
    last. A result that the graph returns already is not returned again, with a notice.

    Raises ARGUMENT_ERROR for an entry that matches no layer, and for layers whose results are not floats.

    ```mlir
    %0 = mblt.relu %x : tensor<1x4xf32> loc("a")
    %1 = mblt.exp %0 : tensor<1x4xf32> loc("b")
    func.return %1 : tensor<1x4xf32>
    ```
    becomes, with `layers=a`,
    ```mlir
    func.return %1, %0 : tensor<1x4xf32>, tensor<1x4xf32>
    ```
    """

    name = "mblt-add-outputs"
    needs = ("mblt",)
    changes_interface = True
    layers: tuple[str, ...] = ()

    def run(self, op: FuncOp, ctx: CompileContext) -> None:
        end = op.body.block.last_op
        if not self.layers or not isinstance(end, ReturnOp):
            return
        known = _layers(op)
        wanted = matching_names(self.layers, known, "layers")
        chosen: dict[Operation, str] = {layer: name for name, layer in known.items() if name in wanted}
        for layer in [layer for layer in op.body.block.ops if layer in chosen]:
            if layer.results[0] in end.operands:
                ctx.notice(f"layer {chosen[layer]!r} is an output of the graph already")
                continue
            _add_output(op, end, layer, chosen[layer])
            ctx.count("outputs")


def _layers(op: FuncOp) -> dict[str, Operation]:
    """Return for each source node the last operation that stands for it."""
    return {name: layer for layer in op.body.block.ops if layer.results for name in source_names(layer)}


def _add_output(func: FuncOp, end: ReturnOp, layer: Operation, name: str) -> None:
    value = layer.results[0]
    if not isinstance(value.type, TensorType) or not isinstance(value.type.element_type, AnyFloat):
        raise OptionError("layers", f"the result of {name!r} has {tensor_text(value.type)}, outputs must be floats")
    names = result_names(func)
    count = len(names)
    entries = list(func.res_attrs) if func.res_attrs is not None else [DictionaryAttr({}) for _ in range(count)]
    free = name
    while free in names:
        free += "_layer"
    func.res_attrs = ArrayAttr([*entries, DictionaryAttr({"mblt.name": StringAttr(free)})])
    end.operands = [*end.operands, value]
    kinds = func.function_type
    func.function_type = FunctionType.from_lists(list(kinds.inputs), [*kinds.outputs, value.type])
