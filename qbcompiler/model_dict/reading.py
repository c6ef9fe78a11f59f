"""From the IR of a `.mblt` to the objects of `qbcompiler.model_dict.common`."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from qbcompiler.model_dict.common import (
    Activation,
    LayerType,
    ModelDict,
    Operator,
    OperatorOptions,
    Subgraph,
    WeightDict,
)

if TYPE_CHECKING:
    from xdsl.dialects.func import FuncOp
    from xdsl.ir import Operation, SSAValue

    from qbc.driver.inspect import Opened


def read_mblt_graph_info(path: str | Path) -> tuple[dict[str, Any], list[Subgraph]]:
    """Return the manifest of a `.mblt` and its graphs; activations are numbered in the order of their making.

    The layers of a graph begin with its inputs (type Input) and end with its outputs (type Output).
    """
    from dataclasses import asdict

    from qbc.argument_types import path_of
    from qbc.driver.inspect import open_mblt

    opened = open_mblt(path_of("path", path))
    return asdict(opened.manifest), model_dict_of(opened)[0].subgraphs


def model_dict_of(opened: Opened) -> tuple[ModelDict, WeightDict]:
    """Return the graph and the weights of an opened `.mblt`."""
    from qbc.driver.samples import main_function

    reader = _Reader(opened)
    graph = reader.graph(main_function(opened.module))
    inputs, outputs = reader.boundary
    return ModelDict([graph], inputs, outputs, opened), WeightDict(reader.weights)


class _Reader:
    def __init__(self, opened: Opened) -> None:
        self.weights: dict[str, Callable[[], Any]] = {}
        self.boundary: tuple[tuple[str, ...], tuple[str, ...]] = ((), ())
        self._opened = opened
        self._numbers: dict[SSAValue, int] = {}
        self._activations: list[Activation] = []

    def graph(self, func: FuncOp) -> Subgraph:
        from qbc.dialects.common.graph import argument_names, result_names
        from qbc.driver.inspect import graph_operations

        names, results = argument_names(func), result_names(func)
        self.boundary = tuple(names), tuple(results)
        operators = [self._input(name, value) for name, value in zip(names, func.args, strict=True)]
        inputs = tuple(range(len(operators)))
        operators += [self._operator(op) for op in graph_operations(self._opened.module)]
        returned = func.body.block.last_op
        values = () if returned is None else tuple(returned.operands)
        ends = [self._output(name, value) for name, value in zip(results, values, strict=True)]
        outputs = tuple(end.outputs[0] for end in ends)
        return Subgraph("main", [*operators, *ends], inputs, outputs, tuple(self._activations))

    def _input(self, name: str, value: SSAValue) -> Operator:
        self._numbers[value] = self._number(name, value)
        return Operator(name, LayerType.Input, OperatorOptions((), (self._numbers[value],)))

    def _output(self, name: str, value: SSAValue) -> Operator:
        options = OperatorOptions((self._numbers[value],), (self._number(name, value),))
        return Operator(name, LayerType.Output, options)

    def _operator(self, op: Operation) -> Operator:
        from qbc.driver.inspect import layer_name, layer_type

        name = layer_name(op)
        for result in op.results:
            self._numbers[result] = self._number(name, result)
        options = OperatorOptions(
            tuple(self._numbers[value] for value in op.operands), tuple(self._numbers[value] for value in op.results)
        )
        return Operator(name, LayerType(layer_type(op)), options, self._constants(name, op))

    def _number(self, name: str, value: SSAValue) -> int:
        kind: Any = value.type
        shape = tuple(None if dim < 0 else int(dim) for dim in kind.get_shape()) if hasattr(kind, "get_shape") else ()
        self._activations.append(Activation(name, shape, str(getattr(kind, "element_type", kind))))
        return len(self._activations) - 1

    def _constants(self, name: str, op: Operation) -> dict[str, str]:
        """Enter the constants of a layer under keys of their own."""
        from qbc.dialects.blob import BlobAttr
        from qbc.passes.base import array_of

        keys = {}
        for property_name, attribute in op.properties.items():
            if not isinstance(attribute, BlobAttr):
                continue
            base = key = f"{name}.{property_name}"
            count = 1
            while key in self.weights:  # several layers may come from one source node
                key, count = f"{base}_{count}", count + 1
            self.weights[key] = partial(array_of, self._opened.ctx, attribute)
            keys[property_name] = key
        return keys
