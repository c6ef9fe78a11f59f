"""Transposes at graph arguments and results become the layout of those: `mblt.source_layout`."""

from __future__ import annotations

from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, FunctionType, StringAttr
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.rewriter import Rewriter

from qbc.dialects.mblt import TransposeOp, shape_of
from qbc.passes.mblt.mblt_sink_transposes.permutations import to_first, to_last

LAYOUTS = {3: "ncw", 4: "nchw", 5: "ncdhw"}


def absorb(function: FuncOp) -> None:
    """Make arguments channel-last whose uses all transpose them so, and results that are transposed back last."""
    _absorb_arguments(function)
    _absorb_results(function)
    block = function.body.block
    terminator = block.last_op
    outputs = [value.type for value in terminator.operands] if isinstance(terminator, ReturnOp) else []
    function.properties["function_type"] = FunctionType.from_lists([arg.type for arg in block.args], outputs)


def _absorb_arguments(function: FuncOp) -> None:
    block = function.body.block
    attributes = _entries(function, "arg_attrs", len(block.args))
    for index in range(len(block.args)):
        argument = block.args[index]
        rank = len(shape_of(argument)) if hasattr(argument.type, "get_shape") else 0
        users = [use.operation for use in argument.uses]
        if rank not in LAYOUTS or not users or "mblt.source_layout" in attributes[index].data:
            continue
        transposes = [user for user in users if isinstance(user, TransposeOp)]
        if len(transposes) != len(users) or any(op.ints("permutation") != to_last(rank) for op in transposes):
            continue
        new_type = transposes[0].results[0].type
        replaced = Rewriter.replace_value_with_new_type(argument, new_type)
        for op in transposes:
            op.results[0].replace_all_uses_with(replaced)
            block.erase_op(op)
        attributes[index] = _with_layout(attributes[index], rank)
    function.properties["arg_attrs"] = ArrayAttr(attributes)


def _absorb_results(function: FuncOp) -> None:
    block = function.body.block
    terminator = block.last_op
    if not isinstance(terminator, ReturnOp):
        return
    attributes = _entries(function, "res_attrs", len(terminator.operands))
    for index, value in enumerate(list(terminator.operands)):
        owner = value.owner
        if not isinstance(owner, TransposeOp) or "mblt.source_layout" in attributes[index].data:
            continue
        rank = len(owner.ints("permutation"))
        if rank not in LAYOUTS or owner.ints("permutation") != to_first(rank):
            continue
        terminator.operands[index] = owner.operands[0]
        if not owner.results[0].uses:
            block.erase_op(owner)
        attributes[index] = _with_layout(attributes[index], rank)
    function.properties["res_attrs"] = ArrayAttr(attributes)


def _entries(function: FuncOp, name: str, count: int) -> list[DictionaryAttr]:
    listed = function.properties.get(name)
    if not isinstance(listed, ArrayAttr):
        return [DictionaryAttr({})] * count
    return [entry if isinstance(entry, DictionaryAttr) else DictionaryAttr({}) for entry in listed.data]


def _with_layout(entry: DictionaryAttr, rank: int) -> DictionaryAttr:
    """Return attributes with the layout; dimension names follow the axes."""
    changed = {**entry.data, "mblt.source_layout": StringAttr(LAYOUTS[rank])}
    names = entry.data.get("mblt.dims")
    if isinstance(names, ArrayAttr) and len(names.data) == rank:
        changed["mblt.dims"] = ArrayAttr([names.data[axis] for axis in to_last(rank)])
    return DictionaryAttr(changed)
