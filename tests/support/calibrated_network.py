"""A small quant network with seeded weights and samples, and torch's idea of its values."""

from __future__ import annotations

from collections.abc import Sequence
from io import StringIO
from typing import Any

import numpy as np
import torch
import torch.nn.functional as functional
from xdsl.dialects.builtin import ModuleOp, TensorType
from xdsl.parser import Parser
from xdsl.printer import Printer

from qbc.calibration import ArraySamples, InputSpec
from qbc.dialects import quant
from qbc.dialects.blob import write_blob
from qbc.driver.context import DriverContext, make_context
from qbc.passes.quant.quant_collect import QuantCollect
from qbc.store import BlobStore

QUANT_TEXT = """
builtin.module {
  quant.params "r0"
  quant.params "r1"
  quant.params "r2"
  quant.params "r3"
  func.func @main(%x: tensor<1x9x8x3xf32> {mblt.name = "x"}) -> (tensor<1x5x4x6xf32> {mblt.name = "y"}) {
    %0 = quant.quantize %x : tensor<1x9x8x3xf32> -> tensor<1x9x8x3x!quant.q<"r0">>
    %1 = quant.conv2d %0 {weight = WEIGHT, bias = BIAS, kernel = [3, 3], strides = [2, 2], padding = [1, 1, 1, 1], \
dilations = [1, 1], groups = 1} : tensor<1x9x8x3x!quant.q<"r0">> -> tensor<1x5x4x6x!quant.q<"r1">>
    %2 = quant.lut %1 {function = "hard_swish"} : tensor<1x5x4x6x!quant.q<"r1">> -> tensor<1x5x4x6x!quant.q<"r2">>
    %3 = quant.add %2, %2 : (tensor<1x5x4x6x!quant.q<"r2">>, tensor<1x5x4x6x!quant.q<"r2">>) -> \
tensor<1x5x4x6x!quant.q<"r3">>
    %4 = quant.dequantize %3 : tensor<1x5x4x6x!quant.q<"r3">> -> tensor<1x5x4x6xf32>
    func.return %4 : tensor<1x5x4x6xf32>
  }
}
"""
SPEC = InputSpec("x", (1, 9, 8, 3))


class CalibratedNetwork:
    """The network above with seeded weights, its samples, and torch's idea of its values."""

    def __init__(self, gain: float = 1.0) -> None:
        rng = np.random.default_rng(7)
        self.weight = (gain * rng.standard_normal((6, 3, 3, 3))).astype(np.float32)
        self.bias = rng.standard_normal(6).astype(np.float32)
        self.samples = [(rng.standard_normal(SPEC.shape) + 0.7).astype(np.float32) for _ in range(6)]
        self.ctx: DriverContext = make_context(store=BlobStore())
        self.ctx.samples = ArraySamples(tuple({"x": sample} for sample in self.samples), (SPEC,))
        text = QUANT_TEXT
        for name, array in (("WEIGHT", self.weight), ("BIAS", self.bias)):
            text = text.replace(name, text_of(write_blob(self.ctx.store, array)))
        self.module: ModuleOp = Parser(self.ctx, text).parse_module()
        self.module.verify()

    def pre_activation(self) -> np.ndarray:
        x = torch.from_numpy(np.concatenate(self.samples).transpose(0, 3, 1, 2).copy()).double()
        weight = torch.from_numpy(self.weight.transpose(0, 3, 1, 2).copy()).double()
        y = functional.conv2d(x, weight, torch.from_numpy(self.bias).double(), 2, 1)
        return y.numpy().transpose(0, 2, 3, 1)

    def row(self, name: str) -> quant.ParamsOp:
        return quant.ParamTable(self.module).rows[name]

    @property
    def conv(self) -> quant.Conv2dOp:
        return next(op for op in self.module.walk() if isinstance(op, quant.Conv2dOp))


def collected() -> CalibratedNetwork:
    """Return the network with the statistics of its samples."""
    network = CalibratedNetwork()
    QuantCollect().run(network.module, network.ctx)
    return network


def text_of(attribute: Any) -> str:
    """Return the text of an attribute."""
    stream = StringIO()
    Printer(stream).print_attribute(attribute)
    return stream.getvalue()


def row_type(shape: Sequence[int], row: str) -> TensorType[Any]:
    """Return the tensor type of a row."""
    return TensorType(quant.QType.of_row(row), shape)
