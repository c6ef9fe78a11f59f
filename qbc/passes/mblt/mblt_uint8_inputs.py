"""`mblt-uint8-inputs`: graph inputs that the program takes as bytes."""

from __future__ import annotations

import math
from dataclasses import dataclass

from xdsl.dialects.builtin import AnyFloat, FloatAttr, TensorType, f64
from xdsl.dialects.func import FuncOp

from qbc.dialects.common.graph import DIVISION_FACTOR, argument_names, chosen_arguments, set_argument_attribute
from qbc.dialects.common.tensor_text import tensor_text
from qbc.errors import ConfigError
from qbc.passes.base import CompileContext, FunctionPass


@dataclass(frozen=True)
class Uint8InputsPass(FunctionPass):
    """Mark float inputs (all, or those called `inputs`) as uint8: the function sees `byte / division_factor`.

    The encoding of such an input is not calibrated: code `byte - 128`, scale `1 / division_factor`, zero point -128.

    ```mlir
    func.func @main(%x: tensor<1x8x8x3xf32> {mblt.name = "x"})
    ```
    becomes
    ```mlir
    func.func @main(%x: tensor<1x8x8x3xf32> {mblt.name = "x", mblt.division_factor = 255.0 : f64})
    ```
    Raises CONFIG_ERROR for an unknown name and for a named input that does not hold floats.
    """

    name = "mblt-uint8-inputs"
    needs = ("mblt",)
    inputs: tuple[str, ...] = ()
    division_factor: float = 255.0

    def __post_init__(self) -> None:
        if not (math.isfinite(self.division_factor) and self.division_factor > 0):
            raise ValueError("division-factor must be positive and finite")

    def run(self, op: FuncOp, ctx: CompileContext) -> None:
        for index in chosen_arguments(op, self.inputs):
            kind = op.args[index].type
            if isinstance(kind, TensorType) and isinstance(kind.element_type, AnyFloat):
                set_argument_attribute(op, index, DIVISION_FACTOR, FloatAttr(self.division_factor, f64))
                ctx.count("inputs")
            elif self.inputs:
                name = argument_names(op)[index]
                raise ConfigError(
                    f"input {name!r} has {tensor_text(kind)}; only float inputs can become uint8",
                    hint="take it out of uint8Input.inputs",
                )
