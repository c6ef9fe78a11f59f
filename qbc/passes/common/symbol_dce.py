"""`symbol-dce`: private symbols that nobody names are erased."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, ModuleOp, StringAttr, SymbolRefAttr
from xdsl.ir import Attribute, Operation

from qbc.passes.base import CompileContext, ModulePass


@dataclass(frozen=True)
class SymbolDcePass(ModulePass):
    """Erase private symbol ops of the module that no op outside themselves refers to, until none is left.

    ```mlir
    func.func @main() { ... }
    func.func private @helper() { ... }   // nobody calls it
    ```
    becomes
    ```mlir
    func.func @main() { ... }
    ```
    """

    name = "symbol-dce"

    def run(self, op: ModuleOp, ctx: CompileContext) -> None:
        symbols = {_symbol_name(inner): inner for inner in op.ops if _is_private(inner)}
        alive = set(_references(inner for inner in op.ops if not _is_private(inner)))
        pending = [name for name in alive if name in symbols]
        while pending:
            reached = set(_references([symbols[pending.pop()]])) - alive
            alive |= reached
            pending += [name for name in reached if name in symbols]
        for name, symbol in symbols.items():
            if name not in alive:
                op.body.block.erase_op(symbol)
                ctx.count("erased")


def _symbol_name(op: Operation) -> str:
    name = op.get_attr_or_prop("sym_name")
    return name.data if isinstance(name, StringAttr) else ""


def _is_private(op: Operation) -> bool:
    visibility = op.get_attr_or_prop("sym_visibility")
    return isinstance(visibility, StringAttr) and visibility.data == "private" and bool(_symbol_name(op))


def _references(ops: Iterator[Operation] | list[Operation]) -> Iterator[str]:
    """Yield the root names that `ops` and what they hold refer to."""
    for op in ops:
        for inner in op.walk():
            for attribute in (*inner.properties.values(), *inner.attributes.values()):
                yield from _names_in(attribute)


def _names_in(attribute: Attribute) -> Iterator[str]:
    if isinstance(attribute, SymbolRefAttr):
        yield attribute.root_reference.data
    elif isinstance(attribute, ArrayAttr):
        for entry in attribute.data:
            yield from _names_in(entry)
    elif isinstance(attribute, DictionaryAttr):
        for entry in attribute.data.values():
            yield from _names_in(entry)
