"""The float graph behind a quantized function, kept beside it from `quant-collect` on.

Later passes change weights and encodings, `quant-materialize` leaves integers; what the program is compared with is the
graph that was observed. It is IR text in a blob; the function names this blob and the weights in it, so that files of
IR carry all of them:

```mlir
func.func @main(...) attributes {quant.float_graph = {text = #blob.ref<...>, weights = [#blob.ref<...>, ...]}}
```

The attribute goes with the function: programs of `convert-quant-to-npu` have none.
"""

from __future__ import annotations

from io import StringIO
from typing import TYPE_CHECKING

from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, ModuleOp, TensorType
from xdsl.dialects.func import FuncOp
from xdsl.printer import Printer
from xdsl.utils.exceptions import ParseError, VerifyException

from qbc.dialects.blob import BlobRefAttr, read_blob, write_blob
from qbc.dialects.blob.handles import blob_handles
from qbc.dialects.common.graph import argument_names, result_names
from qbc.dialects.common.parser import Utf8Parser
from qbc.passes.base import CompileContext, pass_error

if TYPE_CHECKING:
    from qbc.store import BlobStore

FLOAT_GRAPH = "quant.float_graph"


def keep_float_graph(function: FuncOp, lifted: FuncOp, store: BlobStore) -> None:
    """Make `lifted` the float graph of a quantized function."""
    import numpy as np

    stream = StringIO()
    Printer(stream, print_debuginfo=True).print_op(lifted)
    text = write_blob(store, np.frombuffer(stream.getvalue().encode(), np.uint8))
    weights = ArrayAttr(list(dict.fromkeys(blob_handles(lifted))))
    function.attributes[FLOAT_GRAPH] = DictionaryAttr({"text": text, "weights": weights})


def forget_float_graphs(module: ModuleOp) -> None:
    """Drop the float graphs of all functions."""
    for op in module.body.block.ops:
        op.attributes.pop(FLOAT_GRAPH, None)


def float_graph(function: FuncOp, ctx: CompileContext) -> FuncOp | None:
    """Return the float graph of a quantized function, None where none was kept.

    Raises MISSING_BLOB where IR text came without it, VERIFY_ERROR where the attribute names something else.
    """
    kept = function.attributes.get(FLOAT_GRAPH)
    if kept is None:
        return None
    text = kept.data.get("text") if isinstance(kept, DictionaryAttr) else None
    graph = _parse(bytes(read_blob(ctx.store, text)), ctx) if isinstance(text, BlobRefAttr) else None
    if graph is None or _interface(graph) != _interface(function):
        raise pass_error(function, f"has a {FLOAT_GRAPH} that is not its float graph", hint="run quant-collect again")
    return graph


def _parse(text: bytes, ctx: CompileContext) -> FuncOp | None:
    """Return the function in a text, None where there is none."""
    try:
        module = Utf8Parser(ctx, text.decode(), FLOAT_GRAPH).parse_module()
        module.verify()
    except (ParseError, VerifyException, ValueError, RecursionError):
        return None
    return next((op for op in module.ops if isinstance(op, FuncOp)), None)


def _interface(function: FuncOp) -> tuple[object, ...]:
    kinds = (*function.function_type.inputs, *function.function_type.outputs)
    shapes = [kind.get_shape() if isinstance(kind, TensorType) else None for kind in kinds]
    return shapes, argument_names(function), result_names(function)
