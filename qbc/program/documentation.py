"""The table of packed commands as text, for the format page."""

from __future__ import annotations

from qbc.program.opcodes import OPCODES, Field, Opcode


def opcode_table() -> str:
    """Return a Markdown table of all opcodes: number, kind, inputs, attributes in packed order, constants, later."""
    lines = ["| number | kind | inputs | attributes | constants | later |", "| ---: | --- | --- | --- | --- | --- |"]
    return "\n".join([*lines, *(_row(opcode) for opcode in OPCODES)]) + "\n"


def _row(opcode: Opcode) -> str:
    inputs = str(opcode.least_inputs)
    if opcode.most_inputs != opcode.least_inputs:
        inputs += f"-{opcode.most_inputs}"
    attributes = ", ".join(_field(field) for field in opcode.attributes)
    constants = ", ".join(f"{field.name}{'?' if field.optional else ''}" for field in opcode.constants)
    later = ", ".join(_field(field) for field in opcode.later)
    return f"| {opcode.number} | `{opcode.kind}` | {inputs} | {attributes} | {constants} | {later} |"


def _field(field: Field) -> str:
    mark = "?" if field.optional else ""
    if field.kind == "int":
        return f"{field.name}{mark}"
    kind = "list" if field.kind == "list" else "/".join(field.kind)
    return f"{field.name}{mark} ({kind})"
