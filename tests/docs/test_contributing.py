"""The pass that CONTRIBUTING.md shows, executed as it stands there."""

from __future__ import annotations

import re
import sys
import textwrap
from pathlib import Path
from types import ModuleType

import pytest

from qbc.driver.context import make_context
from qbc.driver.samples import main_function
from qbc.pipelines.text import parse_ir, print_ir

PAGE = (Path(__file__).parents[2] / "CONTRIBUTING.md").read_text()
TYPE = "tensor<1x4xf32>"
NEGATIONS = f"""
func.func @main(%x: {TYPE}) -> ({TYPE}, {TYPE}) {{
  %a = mblt.neg %x : {TYPE} -> {TYPE}
  %b = mblt.neg %a : {TYPE} -> {TYPE}
  %c = mblt.neg %b : {TYPE} -> {TYPE}
  %d = mblt.relu %c : {TYPE} -> {TYPE}
  %e = mblt.neg %d : {TYPE} -> {TYPE}
  func.return %b, %e : {TYPE}, {TYPE}
}}
"""


def test_the_pass_of_the_page_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of neg(neg(x)) nothing stays, of three negations one; one with something between stays."""
    (block,) = re.findall(r"^ +```python\n(.*?)^ +```$", PAGE, re.MULTILINE | re.DOTALL)
    example = ModuleType("mblt_swap_signs")
    monkeypatch.setitem(sys.modules, example.__name__, example)  # where dataclasses look up annotations
    exec(compile(textwrap.dedent(block), "CONTRIBUTING.md", "exec"), example.__dict__)
    ctx = make_context()
    module = parse_ir(ctx, NEGATIONS, "x.mlir")
    example.SwapSigns().run(main_function(module), ctx)
    module.verify()
    text = print_ir(module)
    assert text.count("mblt.neg") == 2 and "mblt.relu" in text
    assert re.search(r"func\.return %x, ", text)
