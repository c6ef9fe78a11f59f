"""A module as a binary table: what a snapshot stores, because reading it is several times faster than parsing text.

The section is JSON (compact): `{"version": 1, "attributes": [...], "names": [...], "module": op}`. An op row is
`[name, operands, result types, properties, attributes, regions, location]`: `name` indexes `names`,
operands are value numbers (values are numbered in order of definition: block arguments, then results), types and
locations are attribute rows, properties and attributes are flat lists key, row, key, row. A region is a list of blocks
`[argument types, ops]`. There are no successors: our dialects have no branches.
"""

from __future__ import annotations

import gc
import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, UnknownLoc
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.utils.exceptions import VerifyException

from qbc.artifact.attribute_table import AttributeWriter, DamagedTable, read_attributes

TABLE_VERSION = 1
MAX_NESTING = 64


class NewerTable(DamagedTable):
    """A table of a newer version than this one reads."""


def write_ir_table(module: ModuleOp) -> bytes:
    """Return the table of a module; equal modules give equal bytes."""
    writer = _Writer()
    row = writer.operation(module)
    table = {"version": TABLE_VERSION, "attributes": writer.attributes.rows, "names": list(writer.names), "module": row}
    return json.dumps(table, separators=(",", ":"), ensure_ascii=False).encode()


def read_ir_table(data: bytes | memoryview, context: Context) -> ModuleOp:
    """Rebuild and verify a module; raises DamagedTable for anything that is not a valid table of a valid module.

    A table of a newer version is the subclass NewerTable.
    """
    with _no_collections():
        return _read(data, context)


@contextmanager
def _no_collections() -> Iterator[None]:
    """Hold the garbage collector: what is made in between stays alive, looking for cycles takes half of the time."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def _read(data: bytes | memoryview, context: Context) -> ModuleOp:
    try:
        table = json.loads(bytes(data))
        if not isinstance(table, dict) or type(table.get("version")) is not int or table["version"] < 1:
            raise DamagedTable("not an IR table")
        if table["version"] > TABLE_VERSION:
            raise NewerTable(f"the IR table has version {table['version']}")
        reader = _Reader(table, context)
        module = reader.operation(table["module"], 0)
    except NewerTable:
        raise
    except (KeyError, IndexError, TypeError, ValueError, RecursionError) as error:
        raise DamagedTable(f"the IR table is damaged: {error}") from None
    if not isinstance(module, ModuleOp):
        raise DamagedTable("the IR table does not hold a module")
    try:
        module.verify()
    except (VerifyException, KeyError, ValueError, TypeError, AttributeError, IndexError, OverflowError) as error:
        raise DamagedTable(f"the IR does not verify: {str(error).splitlines()[0]}") from None
    return module


class _Writer:
    def __init__(self) -> None:
        self.attributes = AttributeWriter()
        self.names: dict[str, int] = {}
        self._values: dict[SSAValue, int] = {}

    def operation(self, op: Operation) -> list[Any]:
        index = self.attributes.index
        name = self.names.setdefault(op.name, len(self.names))
        operands = [self._values[operand] for operand in op.operands]
        for result in op.results:
            self._values[result] = len(self._values)
        types = [index(result.type) for result in op.results]
        regions = [[self._block(block) for block in region.blocks] for region in op.regions]
        return [
            name,
            operands,
            types,
            self._pairs(op.properties),
            self._pairs(op.attributes),
            regions,
            self._location(op),
        ]

    def _pairs(self, attributes: dict[str, Attribute]) -> list[str | int]:
        return [part for key, value in attributes.items() for part in (key, self.attributes.index(value))]

    def _location(self, op: Operation) -> int:
        return -1 if isinstance(op.location, UnknownLoc) else self.attributes.index(op.location)

    def _block(self, block: Block) -> list[Any]:
        for argument in block.args:
            self._values[argument] = len(self._values)
        types = [self.attributes.index(argument.type) for argument in block.args]
        return [types, [self.operation(op) for op in block.ops]]


class _Reader:
    def __init__(self, table: dict[str, Any], context: Context) -> None:
        self._attributes = read_attributes(table["attributes"], context)
        self._classes = [_op_class(name, context) for name in table["names"]]
        self._values: list[SSAValue] = []

    def operation(self, row: list[Any], depth: int) -> Operation:
        if depth > MAX_NESTING:
            raise DamagedTable("regions are nested too deeply")
        name, operand_rows, type_rows, property_rows, attribute_rows, region_rows, location_row = row
        cls = self._classes[_index(name)]
        operands = [self._values[_index(operand)] for operand in operand_rows]
        attributes = self._attributes
        result_types = [attributes[_index(part)] for part in type_rows]
        properties, discardable = self._pairs(property_rows), self._pairs(attribute_rows)
        if not region_rows:
            op = cls.create(operands=operands, result_types=result_types, properties=properties, attributes=discardable)
            self._values.extend(op.results)
        else:
            op = self._with_regions(cls, operands, result_types, properties, discardable, region_rows, depth)
        if location_row != -1:
            op.location = attributes[_index(location_row)]  # type: ignore[assignment]  # the verifier checks locations
        return op

    def _with_regions(
        self,
        cls: type[Operation],
        operands: list[SSAValue],
        result_types: list[Attribute],
        properties: dict[str, Attribute],
        discardable: dict[str, Attribute],
        region_rows: list[Any],
        depth: int,
    ) -> Operation:
        regions = [Region() for _ in region_rows]
        op = cls.create(
            operands=operands,
            result_types=result_types,
            properties=properties,
            attributes=discardable,
            regions=regions,
        )
        self._values.extend(op.results)
        for region, block_rows in zip(regions, region_rows, strict=True):
            for types, op_rows in block_rows:
                block = Block(arg_types=[self._attributes[_index(part)] for part in types])
                region.add_block(block)
                self._values.extend(block.args)
                for op_row in op_rows:
                    block.add_op(self.operation(op_row, depth + 1))
        return op

    def _pairs(self, rows: list[Any]) -> dict[str, Attribute]:
        pairs: dict[str, Attribute] = {}
        for key, row in zip(rows[::2], rows[1::2], strict=True):
            if not isinstance(key, str):
                raise DamagedTable("an attribute name is not a string")
            pairs[key] = self._attributes[_index(row)]
        return pairs


def _op_class(name: Any, context: Context) -> type[Operation]:
    cls = context.get_optional_op(name) if isinstance(name, str) else None
    if cls is not None:
        return cls
    dialect = str(name).partition(".")[0]
    if dialect in context.registered_dialect_names:
        raise DamagedTable(f"unknown operation {name!r}")
    raise DamagedTable(f"unknown operation {name!r}, no installed package has the dialect {dialect!r}")


def _index(value: Any) -> int:
    if type(value) is not int or value < 0:
        raise DamagedTable("a row number is not a natural number")
    return value
