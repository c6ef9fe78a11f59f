"""The Python view of the parameter table: rows by name, the values that share each row, the level of a module."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from xdsl.dialects.builtin import FloatAttr, IntegerAttr, ModuleOp, TensorType, f32, i64
from xdsl.ir import Operation, SSAValue

from qbc.dialects.blob import BlobAttr
from qbc.dialects.quant.params import ParamsOp
from qbc.dialects.quant.types import QType, check_encoding, quantized_element, round_to_f32, storage_type


class ParamTable:
    """The rows of a module and the values that share each of them; built once by one walk.

    Rows are ordered as printed; members of a row are in program order. All changes of row membership go through
    `assign`, so that the view stays true.
    """

    def __init__(self, module: ModuleOp) -> None:
        self.module = module
        self.rows: dict[str, ParamsOp] = {}
        self._members: dict[str, list[SSAValue]] = {}
        self._next = 0
        for op in module.body.block.ops:
            if isinstance(op, ParamsOp):
                self.rows[op.row_name] = op
                self._members[op.row_name] = []
        for value in quantized_values(module):
            name = _row_name(value)
            if name is not None:
                self._members.setdefault(name, []).append(value)

    def __iter__(self) -> Iterator[ParamsOp]:
        """Iterate over the rows in printed order."""
        return iter(self.rows.values())

    def row_of(self, value: SSAValue) -> ParamsOp | None:
        """Return the row of a value; None when it is not quantized or its encoding is inline."""
        name = _row_name(value)
        return None if name is None else self.rows.get(name)

    def members(self, row: ParamsOp) -> Sequence[SSAValue]:
        """Return the values of a row in program order."""
        return tuple(self._members.get(row.row_name, ()))

    def encoding(self, value: SSAValue) -> tuple[str, float, int] | None:
        """Return (storage, scale, zero point) of a value, from its row or inline.

        None while it is unset, and where each channel has a scale of its own (`ParamsOp.channel_scales`).
        """
        row = self.row_of(value)
        if row is not None:
            return row.encoding
        element = quantized_element(value)
        return None if element is None else element.encoding

    def set_encoding(self, row: ParamsOp, storage: str, scale: float, zero_point: int) -> None:
        """Set the encoding of a row; the scale is rounded to float32. Raises VerifyException when it is not legal."""
        scale = round_to_f32(scale)
        check_encoding(storage, scale, zero_point)
        row.properties.pop("scales", None)
        row.properties["storage"] = storage_type(storage)
        row.properties["scale"] = FloatAttr(scale, f32)
        row.properties["zero_point"] = IntegerAttr(zero_point, i64)

    def set_channel_scales(self, row: ParamsOp, storage: str, scales: BlobAttr, zero_point: int) -> None:
        """Give a row one scale (a blob of float32) for each channel of the last axis and a zero point for all."""
        row.properties.pop("scale", None)
        row.properties["storage"] = storage_type(storage)
        row.properties["scales"] = scales
        row.properties["zero_point"] = IntegerAttr(zero_point, i64)

    def set_storage(self, row: ParamsOp, storage: str) -> None:
        """Set the storage of a row and forget its scale, which belonged to the old storage."""
        if row.bits == storage:
            return
        row.properties["storage"] = storage_type(storage)
        for name in ("scale", "zero_point", "scales"):
            row.properties.pop(name, None)

    def new_row(self) -> ParamsOp:
        """Add an unset row with the next free name (`r0`, `r1`, ...) after the last row."""
        while f"r{self._next}" in self.rows:
            self._next += 1
        row = ParamsOp.named(f"r{self._next}")
        block = self.module.body.block
        last = next(reversed(self.rows.values()), None)
        first = block.first_op
        if last is not None:
            block.insert_op_after(row, last)
        elif first is not None:
            block.insert_op_before(row, first)
        else:
            block.add_op(row)
        self.rows[row.row_name] = row
        self._members[row.row_name] = []
        return row

    def assign(self, value: SSAValue, row: ParamsOp) -> None:
        """Make `value` a member of `row` (its shape stays); members are kept in the order of assignment."""
        old = _row_name(value)
        if old is not None and value in self._members.get(old, ()):
            self._members[old].remove(value)
        assert isinstance(value.type, TensorType)
        # In place: a value keeps its identity, by which tables, statistics and reports know it.
        value._type = TensorType(QType.of_row(row.row_name), value.type.get_shape())
        self._members[row.row_name].append(value)

    def merge(self, kept: ParamsOp, other: ParamsOp) -> None:
        """Move all members of `other` to `kept` and erase `other`."""
        for value in self.members(other):
            self.assign(value, kept)
        self.erase(other)

    def erase(self, row: ParamsOp) -> None:
        """Erase a row without members."""
        del self.rows[row.row_name]
        del self._members[row.row_name]
        self.module.body.block.erase_op(row)

    def drop_unused(self) -> int:
        """Erase the rows that no value names; return how many."""
        unused = [row for row in self if not self._members[row.row_name]]
        for row in unused:
            self.erase(row)
        return len(unused)


def table_violations(module: ModuleOp) -> Iterator[tuple[Operation, str]]:
    """Yield (operation, text) of every broken rule of a table: types name rows that exist, once, and none is unused."""
    rows = [op for op in module.walk() if isinstance(op, ParamsOp)]
    names: set[str] = set()
    for row in rows:
        if row.parent_op() is not module:
            yield row, "is not at the level of the module, where rows stand"
        elif row.row_name in names:
            yield row, f"defines row {row.row_name!r} a second time"
        names.add(row.row_name)
    used: set[str] = set()
    for value in quantized_values(module):
        name = _row_name(value)
        if name is None:
            continue
        used.add(name)
        owner = value.owner if isinstance(value.owner, Operation) else value.owner.parent_op()
        if name not in names and owner is not None:
            yield owner, f"has a value of row {name!r}, which does not exist"
    for row in rows:
        if row.row_name not in used:
            yield row, f"defines row {row.row_name!r}, which no value names"


def quantized_values(module: ModuleOp) -> Iterator[SSAValue]:
    """Yield every quantized value of a module in program order."""
    for op in module.walk():
        for result in op.results:
            if quantized_element(result) is not None:
                yield result
        for region in op.regions:
            for block in region.blocks:
                yield from (argument for argument in block.args if quantized_element(argument) is not None)


def channel_row(value: SSAValue) -> ParamsOp | None:
    """Return the row of a materialized value whose channels have scales of their own, None for any other value."""
    element = quantized_element(value)
    if element is None or element.bits is None or element.row_name is None:
        return None
    parent = value.owner if isinstance(value.owner, Operation) else value.owner.parent_op()
    while parent is not None and not isinstance(parent, ModuleOp):
        parent = parent.parent_op()
    rows = () if parent is None else parent.body.block.ops
    return next((op for op in rows if isinstance(op, ParamsOp) and op.row_name == element.row_name), None)


def _row_name(value: SSAValue) -> str | None:
    element = quantized_element(value)
    return None if element is None else element.row_name


def level(module: ModuleOp) -> str:
    """Return the level of a module: `created`, `ranged` (every row is set) or `materialized` (types are final)."""
    table = ParamTable(module)
    used = [row for row in table if any(_is_open(value) for value in table.members(row))]
    if not used:
        return "materialized"
    return "ranged" if all(row.is_set for row in used) else "created"


def _is_open(value: SSAValue) -> bool:
    """Return whether the type of a value leaves its encoding to the row it names."""
    element = quantized_element(value)
    return element is not None and element.bits is None
