"""Constants around a lookup move into its table."""

from __future__ import annotations

import numpy as np
from xdsl.dialects.builtin import ModuleOp
from xdsl.parser import Parser

from qbc.dialects import quant
from qbc.driver.context import DriverContext, make_context
from qbc.passes.quant.lift import lift
from qbc.passes.quant.quant_fold_affine import QuantFoldAffine
from qbc.store import BlobStore

AFFINE_TEXT = """
builtin.module {
  quant.params "r0"
  quant.params "r1"
  quant.params "r2"
  quant.params "r3"
  quant.params "r4"
  quant.params "r5"
  func.func @main(%x: tensor<1x4xf32> {mblt.name = "x"}) -> (tensor<1x4xf32> {mblt.name = "y"}) {
    %c = quant.constant {value = #blob.inline<"0000003f" : tensor<1x1xf32>>} : tensor<1x1x!quant.q<"r4">>
    %d = quant.constant {value = #blob.inline<"00000040" : tensor<1x1xf32>>} : tensor<1x1x!quant.q<"r5">>
    %0 = quant.quantize %x : tensor<1x4xf32> -> tensor<1x4x!quant.q<"r0">>
    %1 = quant.lut %0 {function = "FUNCTION"} : tensor<1x4x!quant.q<"r0">> -> tensor<1x4x!quant.q<"r1">>
    %2 = quant.mul %1, %c : (tensor<1x4x!quant.q<"r1">>, tensor<1x1x!quant.q<"r4">>) -> tensor<1x4x!quant.q<"r2">>
    %3 = quant.sub %d, %2 : (tensor<1x1x!quant.q<"r5">>, tensor<1x4x!quant.q<"r2">>) -> tensor<1x4x!quant.q<"r3">>
    %4 = quant.dequantize %3 : tensor<1x4x!quant.q<"r3">> -> tensor<1x4xf32>
    func.return %4 : tensor<1x4xf32>
  }
}
"""


def _affine_module(function: str) -> tuple[ModuleOp, DriverContext]:

    ctx = make_context(store=BlobStore())
    return Parser(ctx, AFFINE_TEXT.replace("FUNCTION", function)).parse_module(), ctx


def test_constants_move_into_the_lookup() -> None:
    from qbc.execute.float_torch.runner import run

    module, ctx = _affine_module("silu")
    QuantFoldAffine().run(module, ctx)
    module.verify()
    (lookup,) = [op for op in module.walk() if isinstance(op, quant.LutOp)]
    assert not [op for op in module.walk() if isinstance(op, quant.MulOp | quant.SubOp | quant.ConstantOp)]
    assert len(quant.ParamTable(module).rows) == 2
    assert quant.quantized_element(lookup.results[0]) == quant.QType.of_row("r3")
    x = np.linspace(-4, 4, 4, dtype=np.float32)[None]
    function = next(op for op in module.body.block.ops if op.name == "func.func")
    got = run(lift(function).function, ctx.store, {"x": x})["y"]  # type: ignore[arg-type]
    np.testing.assert_allclose(got, 2.0 - 0.5 * x / (1 + np.exp(-x)), rtol=1e-5)


def test_mantissa_functions_keep_their_readers() -> None:

    module, ctx = _affine_module("sqrt")
    before = str(module)
    QuantFoldAffine().run(module, ctx)
    assert str(module) == before


def test_tables_hold_gain_and_offset() -> None:
    from qbc.algorithms.tables import Function, byte_table

    function = Function.of("hard_swish", {"gain": 0.75, "offset": -0.3})
    table = byte_table(function, 0.05, 3, 0.04, -20, -128, 127)
    x = 0.05 * (np.arange(-128, 128) - 3)
    expected = np.floor((0.75 * x * np.clip(x / 6 + 0.5, 0, 1) - 0.3) / 0.04 + 0.5) - 20
    assert np.abs(table - np.clip(expected, -128, 127)).max() <= 1
    assert (table == np.clip(expected, -128, 127)).mean() > 0.98
