"""`quant-bias-correction`: biases absorb the mean error that weight rounding causes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute

from qbc.dialects import quant
from qbc.dialects.blob import write_blob
from qbc.dialects.quant.base import integer
from qbc.passes.base import CompileContext, ModulePass, array_of, check_choice, pass_error, source_names
from qbc.passes.layer_names import matching_names
from qbc.passes.quant.kept_statistics import INPUT_MEAN

TARGETS = ("weight",)


@dataclass(frozen=True)
class QuantBiasCorrection(ModulePass):
    """Adds `bias_delta` to every convolution and linear layer: `delta = (W - What) E[x]`.

    `What` are the weights that the codes represent and `E[x]` is the mean input per kernel tap from `quant-collect`,
    zero padding counted where it is read. The mean output over the calibration data then equals that of the float
    weights, up to half a bias step. A fused activation comes after, so the correction is exact. Codes do not change,
    and applying the pass again changes nothing.

    `target` "weight" corrects the layer's own error with the same input on both sides. `layers` (source nodes, by name
    or glob) restricts the pass to those, `exclude` leaves some out; an entry that matches no layer is an error.
    Raises VERIFY_ERROR for a layer without `input_mean`.

    ```mlir
    %1 = quant.conv2d %0 {weight = ..., input_mean = #blob.ref<...>} : ...
    // becomes
    %1 = quant.conv2d %0 {weight = ..., bias_delta = #blob.ref<...>, input_mean = #blob.ref<...>} : ...
    ```
    """

    name: ClassVar[str] = "quant-bias-correction"
    needs: ClassVar[tuple[str, ...]] = ("quant.created",)
    target: str = "weight"
    layers: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        check_choice("target", self.target, TARGETS)

    def run(self, op: ModuleOp, ctx: CompileContext) -> None:
        for layer in self._chosen([inner for inner in op.walk() if isinstance(inner, quant.WeightedOp)]):
            layer.properties["bias_delta"] = bias_delta(layer, ctx)
            ctx.count("layers")

    def _chosen(self, layers: list[quant.WeightedOp]) -> list[quant.WeightedOp]:
        if not self.layers and not self.exclude:
            return layers
        names = [name for layer in layers for name in source_names(layer)]
        only = matching_names(self.layers, names, "layers") if self.layers else set(names)
        chosen = only - matching_names(self.exclude, names, "exclude")
        return [layer for layer in layers if chosen.intersection(source_names(layer))]


def bias_delta(layer: quant.WeightedOp, ctx: CompileContext) -> Attribute:
    """Return the blob of what to add to the bias of one layer, float32 per output channel."""
    import numpy as np

    from qbc.algorithms.fixed_point import weight_codes, weight_scales
    from qbc.algorithms.tap_means import mean_output_error

    mean = layer.attributes.get(INPUT_MEAN)
    if mean is None:
        raise pass_error(layer, "has no mean input", hint="run quant-collect before quant-bias-correction")
    weight = array_of(ctx, layer.weight)
    scale_blob = layer.properties.get("weight_scale")
    scales = weight_scales(weight) if scale_blob is None else array_of(ctx, scale_blob)
    steps = scales.astype(np.float64).reshape(-1, *[1] * (weight.ndim - 1))
    error = weight.astype(np.float64) - weight_codes(weight, scales) * steps
    groups = integer(layer, "groups", 1)
    delta = mean_output_error(error, array_of(ctx, mean).astype(np.float64), groups)
    return write_blob(ctx.store, delta.astype(np.float32))
