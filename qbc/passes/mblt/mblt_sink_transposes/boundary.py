"""Transposes at graph arguments and results become the layout of those: `mblt.source_layout`."""

from __future__ import annotations

from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, FunctionType, StringAttr
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, Operation, SSAValue, Use
from xdsl.rewriter import Rewriter

from qbc.dialects.mblt import MatmulOp, ResizeOp, TransposeOp, shape_of
from qbc.dialects.mblt.convolution import ConvolutionOp
from qbc.dialects.mblt.pooling import PoolOp
from qbc.passes.mblt.mblt_sink_transposes.permutations import to_first, to_last

LAYOUTS = {3: "ncw", 4: "nchw", 5: "ncdhw"}
_IMAGE_OPS = (ConvolutionOp, PoolOp, ResizeOp)


def absorb(function: FuncOp) -> None:
    """Make arguments channel-last whose uses transpose them so, and results that are transposed back last.

    Where only some uses do, the argument is an image when one of them leads to a convolution, pooling or resize; its
    other uses then transpose it back, which moves no more than before.
    """
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
        if rank not in LAYOUTS or "mblt.source_layout" in attributes[index].data:
            continue
        transposes = [use.operation for use in argument.uses if _makes_last(use.operation, rank)]
        others = [use for use in argument.uses if use.operation not in transposes]
        if not transposes or (others and not any(_leads_to_image_op(op) for op in transposes)):
            continue
        replaced = Rewriter.replace_value_with_new_type(argument, transposes[0].results[0].type)
        _transpose_back(block, replaced, others, rank)
        for op in transposes:
            op.results[0].replace_all_uses_with(replaced)
            block.erase_op(op)
        attributes[index] = _with_layout(attributes[index], rank)
    function.properties["arg_attrs"] = ArrayAttr(attributes)


def _makes_last(op: Operation, rank: int) -> bool:
    return isinstance(op, TransposeOp) and op.ints("permutation") == to_last(rank)


def _leads_to_image_op(op: Operation) -> bool:
    """Return whether a transposed argument reaches an op on images (not the matmul of a transposed key)."""
    seen: set[Operation] = set()
    waiting = [op]
    while waiting:
        for user in [use.operation for result in waiting.pop().results for use in result.uses]:
            if isinstance(user, _IMAGE_OPS):
                return True
            if user not in seen and not isinstance(user, TransposeOp | MatmulOp):
                seen.add(user)
                waiting.append(user)
    return False


def _transpose_back(block: Block, argument: SSAValue, uses: list[Use], rank: int) -> None:
    """Give uses of an argument that has become channel-last the value in the layout that they read."""
    first = block.first_op
    if not uses or first is None:
        return
    location = next((use.operation.location for use in uses if not isinstance(use.operation, ReturnOp)), None)
    back = TransposeOp.of(argument, permutation=list(to_first(rank)), location=location)
    block.insert_op_before(back, first)
    for use in uses:
        use.operation.operands[use.index] = back.results[0]


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
