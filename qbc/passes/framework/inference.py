"""Type inference on a framework function: shapes found after folding are written back into the IR."""

from __future__ import annotations

from typing import TYPE_CHECKING

from xdsl.dialects.builtin import FunctionType, TensorType
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, BlockArgument
from xdsl.rewriter import Rewriter

from qbc.dialects.common.graph import dimension_names
from qbc.dialects.common.shapes import compatible
from qbc.dialects.framework.onnx_types import type_of
from qbc.dialects.framework.types import UnknownType

if TYPE_CHECKING:
    from qbc.store import BlobStore


def is_static(kind: Attribute) -> bool:
    """Return whether a type is a tensor with known dimensions."""
    return isinstance(kind, TensorType) and all(size >= 0 for size in kind.get_shape())


def all_static(function: FuncOp) -> bool:
    """Return whether every value of a function has a static tensor type."""
    return all(is_static(result.type) for op in function.walk() for result in op.results)


def infer_types(function: FuncOp, store: BlobStore) -> int:
    """Infer the types of all values from the arguments and constants; return how many became more exact.

    A type is replaced only by one that says more, or that contradicts what the source model stated about an output;
    the function type follows its results.
    """
    from qbc.export.onnx_framework import graphs_of, infer_shapes, skeleton_to_onnx

    model, values = skeleton_to_onnx(function, store)
    changed = 0
    for graph in graphs_of(infer_shapes(model).graph):
        for found in [*graph.value_info, *graph.output]:
            value = values.get(found.name)
            kind = type_of(found.type)
            if value is None or isinstance(value, BlockArgument):
                continue
            if not says_more(kind, value.type) and not _contradicts(kind, value.type):
                continue
            Rewriter.replace_value_with_new_type(value, kind)
            changed += 1
    update_signature(function)
    return changed


def says_more(new: Attribute, old: Attribute) -> bool:
    """Return whether `new` is a more exact type for a value of type `old`."""
    if new == old or isinstance(new, UnknownType):
        return False
    if not isinstance(new, TensorType):
        return isinstance(old, UnknownType)
    if not isinstance(old, TensorType):
        return bool(new.element_type == getattr(old, "element_type", new.element_type))
    if new.element_type != old.element_type or new.get_num_dims() != old.get_num_dims():
        return False
    return sum(size >= 0 for size in new.get_shape()) > sum(size >= 0 for size in old.get_shape())


def _contradicts(new: Attribute, old: Attribute) -> bool:
    """Return whether two tensor types of one element type cannot describe the same value."""
    if not isinstance(new, TensorType) or not isinstance(old, TensorType) or new.element_type != old.element_type:
        return False
    return not compatible(new.get_shape(), old.get_shape())


def take_stated_sizes(function: FuncOp) -> int:
    """Give results the sizes that the source model states (numbers in `framework.dims`) where none was found.

    Returns how many types became more exact.
    """
    last = function.body.block.last_op
    names = dimension_names(function.res_attrs, len(last.operands)) if last is not None else []
    changed = 0
    for value, dims in zip(list(last.operands) if last is not None else (), names, strict=True):
        kind = value.type
        if not isinstance(kind, TensorType) or dims is None or len(dims) != kind.get_num_dims():
            continue
        shape = [
            int(text) if size < 0 and text.isdigit() else size
            for size, text in zip(kind.get_shape(), dims, strict=True)
        ]
        stated = TensorType(kind.element_type, shape)
        if stated == kind or isinstance(value, BlockArgument):
            continue
        Rewriter.replace_value_with_new_type(value, stated)
        changed += 1
    return changed


def update_signature(function: FuncOp) -> None:
    """Make the result types of a function those of the values it returns."""
    last = function.body.block.last_op
    if last is None:
        return
    outputs = [value.type for value in last.operands]
    function.properties["function_type"] = FunctionType.from_lists(list(function.function_type.inputs), outputs)
