"""Damaged IR text: tokens that are lost, doubled, swapped, or replaced by others; bytes that are no text."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np

Rng = np.random.Generator
PROPERTY = re.compile(
    r'\b([a-z_]\w*) = (\[[^\]]*\]|"[^"]*"|-?[\d.]+(?:e[+-]?\d+)?(?: : \w+)?|true|false|#[\w.]+<[^>]*>)'
)
ODD_VALUES = (
    "0", "3", "1.5", "1.0e+30", "-0.0", "9223372036854775807", "4294967296 : i64", '""', '"nonsense"', "[]", "[0]",
    "[-1, -1]", "[1, 2, 3, 4, 5, 6, 7, 8, 9]", "[9223372036854775807, 9223372036854775807]", "true", "unit", "f32",
    '"r0"', "dense<1> : tensor<2xi64>", "dense<> : tensor<0xi64>", '#blob.inline<"00000000" : tensor<1xf32>>',
    '#blob.inline<"0000c07f0000807f" : tensor<2xf32>>', '#blob.ref<"0" : tensor<1xf32>>', "array<i64: 1, 2>", "[1.5]",
)  # fmt: skip
TOKEN = re.compile(r'"(?:[^"\\\n]|\\.)*"|[A-Za-z_$.@%#!][\w$.\-]*|-?\d+\.\d+(?:e[+-]?\d+)?|-?\d+|\s+|->|.', re.DOTALL)
ODD = (
    "0", "-1", "1", "7", "9223372036854775807", "-9223372036854775808", "1" + "0" * 40, "0x7FC00000", "1e400", "1.5",
    '""', '"x"', '"' + "y" * 9000 + '"', "true", "unit", "[]", "[1, 2, 3]", "{}", "f32", "i8", "i64", "tensor<*xf32>",
    "tensor<0xf32>", "tensor<?x?xf32>", "tensor<1x2xf32>", "tensor<99999999999x99999999999xf32>", "()", "%0", "%nope",
    "@main", "#blob.ref", "!quant.q", "dense<0>", "(" * 3000, "[" * 3000, "{" * 3000, "\0", "\u00e9", "\U0001f600",
    "//", "loc(", "unknown",
)  # fmt: skip


def tokens(source: Path, target: Path, rng: Rng) -> None:
    """Change one to three tokens of one part of a file."""
    parts = TOKEN.findall(source.read_text(encoding="utf-8"))
    places = [index for index, part in enumerate(parts) if not part.isspace()]
    for _ in range(int(rng.integers(1, 4))):
        place, other = (places[int(i)] for i in rng.integers(len(places), size=2))
        choice = rng.random()
        if choice < 0.15:
            parts[place] = ""
        elif choice < 0.25:
            parts[place] += " " + parts[place]
        elif choice < 0.4:
            parts[place], parts[other] = parts[other], parts[place]
        elif choice < 0.6:
            parts[place] = parts[other]
        else:
            parts[place] = ODD[int(rng.integers(len(ODD)))]
    target.write_text("".join(parts), encoding="utf-8")


def properties(source: Path, target: Path, rng: Rng) -> None:
    """Drop, rename or exchange one to three of the properties that operations carry: text that still parses."""
    text = source.read_text(encoding="utf-8")
    for _ in range(int(rng.integers(1, 4))):
        found = list(PROPERTY.finditer(text))
        if not found:
            break
        match, other = (found[int(i)] for i in rng.integers(len(found), size=2))
        odd = ODD_VALUES[int(rng.integers(len(ODD_VALUES)))]
        new = ("", f"{other[1]} = {match[2]}", f"{match[1]} = {other[2]}", f"{match[1]} = {odd}", match[1])
        chosen = new[int(rng.integers(len(new)))]
        text = text[: match.start()] + chosen + text[match.end() :]
        text = re.sub(r"\{\s*,\s*", "{", re.sub(r",\s*,", ",", re.sub(r",\s*\}", "}", text)))
    target.write_text(text, encoding="utf-8")


def numbers(source: Path, target: Path, rng: Rng) -> None:
    """Change one to three numbers, also those inside of types."""
    text = source.read_text(encoding="utf-8")
    for _ in range(int(rng.integers(1, 4))):
        found = list(re.finditer(r"(?<![\w\"])-?\d+|(?<=x)\d+", text))
        if not found:
            break
        match = found[int(rng.integers(len(found)))]
        odd = ("0", "1", "2", "3", "5", "-1", "-7", "65", "300", "40000", "4294967296", "9223372036854775807")
        text = text[: match.start()] + odd[int(rng.integers(len(odd)))] + text[match.end() :]
    target.write_text(text, encoding="utf-8")
