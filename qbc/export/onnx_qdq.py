"""A quantized function as an ONNX model in float with QuantizeLinear and DequantizeLinear around every value (QDQ).

Other tools read this form to run the same quantization on other hardware. Activations keep their scales; their codes
are uint8 (the code plus 128) or int16 (zero point 0). Weights are int8 with one scale for each output channel, biases
int32 with the product of both scales. Lookups are their float functions between two pairs. Rounding inside of an
operation is the one of the runtime, so results are those of the integer program up to steps of the scales.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from onnx import helper
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Operation, SSAValue

from qbc.dialects.common.access import shape_of
from qbc.dialects.common.graph import location_names
from qbc.errors import QBCompilerError, counted
from qbc.export.onnx_mblt import EMITTERS, MbltExport, export_mblt
from qbc.export.onnx_mblt_builder import FIRST, GraphBuilder, Layout, to_first
from qbc.store import BlobStore

Array = npt.NDArray[Any]

OPSET = 21  # the first with int16 in QuantizeLinear and DequantizeLinear
# How codes are stored: the type, and what is added to a code. Eight bits are unsigned because that is what runtimes on
# CPUs compute with; onnxruntime rewrites int8, and fails to where it meets operators of opset 21.
_STORED = {"i8": ("uint8", 128), "i16": ("int16", 0)}
LARGEST_I16 = 32639  # the integer program ends there, so that both planes of a code fit
# Operations whose results are values of their operands: nothing can leave the range of codes.
_MOVES = frozenset(f"mblt.{name}" for name in ("reshape", "transpose", "concat", "slice", "expand", "gather", "tile"))


@dataclass(frozen=True)
class ActivationEncoding:
    """`real = scale * (code - zero_point)`; `scales` is a float32 scalar, or [C] for the channels of the last axis."""

    storage: str
    scales: Array
    zero_point: int


@dataclass(frozen=True)
class WeightEncoding:
    """Integers of a weighted operation: `codes` int8 [OC, ...], `bias` int64 [OC], and the float32 scales of both."""

    codes: Array
    scales: Array
    bias: Array
    bias_scales: Array


def export_qdq(
    func: FuncOp,
    store: BlobStore,
    encodings: Mapping[SSAValue, ActivationEncoding],
    weights: Mapping[Operation, WeightEncoding],
    header: Mapping[str, Attribute] | None = None,
) -> MbltExport:
    """Export an mblt function whose values have `encodings` and whose weighted operations have `weights`.

    Inputs and outputs are floats in the layout of the source model. `header` are the attributes of its module. Raises
    UNSUPPORTED_OP with the list of the operations that have no such form.
    """
    _check(func, weights)
    builder = QdqBuilder(store, encodings, weights)
    return export_mblt(func, store, source_layout=True, builder=builder, opset=OPSET, header=header)


def _check(func: FuncOp, weights: Mapping[Operation, WeightEncoding]) -> None:
    operations = list(func.body.block.ops)[:-1]
    refused = [op for op in operations if op.name not in EMITTERS or (op in weights and _mixes_channels(op))]
    if not refused:
        return
    names = [f"{', '.join(location_names(op.location)) or op.name} ({op.name})" for op in refused]
    raise QBCompilerError(
        f"{counted(len(names), 'operation')} without a QDQ form: {'; '.join(names)}",
        code="UNSUPPORTED_OP",
        node=names[0],
        hint="grouped transposed convolutions have one only where each group makes one channel",
    )


def _mixes_channels(op: Operation) -> bool:
    """Whether the scales of output channels lie along no single axis of the ONNX weight."""
    groups = op.properties.get("groups")
    if op.name != "mblt.transpose_conv2d" or groups is None:
        return False
    count = int(groups.value.data)  # type: ignore[attr-defined]  # the verifier checked the kind
    return count > 1 and shape_of(op.results[0])[-1] != count


class QdqBuilder(GraphBuilder):
    """Puts a pair of QuantizeLinear and DequantizeLinear behind every encoded value, and codes in place of weights."""

    def __init__(
        self,
        store: BlobStore,
        encodings: Mapping[SSAValue, ActivationEncoding],
        weights: Mapping[Operation, WeightEncoding],
    ) -> None:
        super().__init__(store)
        self._encodings = encodings
        self._weights = weights
        self._weight: WeightEncoding | None = None
        self._handle: Attribute | None = None
        self._moves = False
        self.codes: dict[SSAValue, tuple[str, Layout]] = {}  # the tensor that holds the codes of a value

    def begin(self, op: Operation) -> None:
        super().begin(op)
        self._moves = op.name in _MOVES
        self._weight = self._weights.get(op)
        self._handle = None if self._weight is None else op.properties["weight"]

    # --- weights -------------------------------------------------------------------------------------------------

    def read(self, handle: Attribute) -> Array:
        """Return the codes where the weight of an encoded operation is read."""
        if self._weight is not None and handle == self._handle:
            return self._weight.codes
        return super().read(handle)

    def initializer(self, array: Array, hint: str, key: Hashable = None) -> str:
        """Add constant data; the weight of an encoded operation gets a DequantizeLinear."""
        weight = self._weight
        if weight is None or hint != "weight" or array.dtype != np.int8:
            return super().initializer(array, hint, key)
        axis, scales = _weight_axis(array, weight.scales, key)
        codes = super().initializer(array, "weight_codes")
        return self._dequantize(codes, scales, np.zeros(scales.shape, np.int8), axis, f"{self._base}.weight")

    def optional(self, op: Operation, name: str) -> list[str]:
        """Return the initializer of a constant property; the bias of an encoded operation is always there."""
        weight = self._weights.get(op)
        if weight is None or name != "bias":
            return super().optional(op, name)
        if np.abs(weight.bias).max(initial=0) >= 1 << 31:  # sums of 16-bit layers are wider
            reals = weight.bias * weight.bias_scales.astype(np.float64)
            return [super().initializer(reals.astype(np.float32), "bias")]
        codes = super().initializer(weight.bias.astype(np.int32), "bias_codes")
        return [self._dequantize(codes, weight.bias_scales, None, 0, f"{self._base}.bias")]

    # --- activations ---------------------------------------------------------------------------------------------

    def define(self, value: SSAValue, name: str, layout: Layout) -> None:
        """Say that tensor `name` holds `value`, which from here on is read through its codes."""
        encoding = self._encodings.get(value)
        if encoding is not None:
            name = self._through_codes(value, name, layout, encoding)
        super().define(value, name, layout)

    def get(self, value: SSAValue, layout: Layout) -> str:
        """Return the tensor that holds the value; an encoded constant is an initializer of codes."""
        data, encoding = self.constant_data(value), self._encodings.get(value)
        known = self.known(value, layout)
        if known is not None or data is None or encoding is None:
            return super().get(value, layout)
        zeros = self._zeros(encoding)
        limits = np.iinfo(zeros.dtype)
        steps = np.rint(np.asarray(data, np.float32) / encoding.scales).astype(np.int64) + int(zeros)
        codes = np.clip(steps, limits.min, limits.max)
        order = to_first(codes.ndim) if layout == FIRST and codes.ndim >= 3 else tuple(range(codes.ndim))
        if encoding.scales.ndim:
            reals = ((codes - int(zeros)) * encoding.scales).astype(np.float32)
            real = super().initializer(np.ascontiguousarray(reals.transpose(order)), "value")
        else:
            stored = np.ascontiguousarray(codes.transpose(order)).astype(zeros.dtype)
            name = super().initializer(stored, "value_codes")
            real = self._dequantize(name, encoding.scales, zeros, 0, f"{self._base}.value")
        super().define(value, real, layout)
        return real

    def _through_codes(self, value: SSAValue, name: str, layout: Layout, encoding: ActivationEncoding) -> str:
        """Append the pair of nodes; returns the tensor of the reals behind it.

        Scales of channels divide before and multiply behind a pair of scale 1: onnxruntime makes one operator of a
        convolution and its pair, which knows no scales of channels in its result.
        """
        if encoding.storage == "i16" and not encoding.scales.ndim and not self._moves:
            name = self.clip(name, -np.inf, LARGEST_I16 * float(encoding.scales), value)
        base, scale, factors = name, encoding.scales, ""
        if encoding.scales.ndim:
            rank = len(shape_of(value))
            places = rank - 2 if layout == FIRST and rank >= 3 else 0
            factors = self._constant_of(scale.reshape(-1, *[1] * places), "scales")
            name, scale = self._add("Div", [name, factors], f"{base}.steps", {}), np.array(1.0, np.float32)
        zeros = self._zeros(encoding)
        inputs = [name, self._constant_of(scale, "scale"), self._constant_of(zeros, "zero_point")]
        codes = self._add("QuantizeLinear", inputs, f"{base}.codes", {})
        self.codes[value] = (codes, layout)
        real = self._dequantize(codes, scale, zeros, 0, f"{base}.real")
        return self._add("Mul", [real, factors], f"{base}.scaled", {}) if factors else real

    @staticmethod
    def _zeros(encoding: ActivationEncoding) -> Array:
        dtype, offset = _STORED[encoding.storage]
        return np.array(encoding.zero_point + offset, dtype)

    # --- nodes ---------------------------------------------------------------------------------------------------

    def node(self, op_type: str, inputs: Sequence[str], **attributes: Any) -> str:
        """Append a node; dilations of 1 are left out, since onnxruntime's quantized AveragePool knows none."""
        if op_type == "AveragePool" and set(attributes.get("dilations", ())) == {1}:
            del attributes["dilations"]
        return super().node(op_type, inputs, **attributes)

    def _dequantize(self, codes: str, scales: Array, zeros: Array | None, axis: int, base: str) -> str:
        inputs = [codes, self._constant_of(scales, "scale")]
        if zeros is not None:
            inputs.append(self._constant_of(zeros, "zero_point"))
        return self._add("DequantizeLinear", inputs, base, {"axis": axis} if scales.ndim else {})

    def _add(self, op_type: str, inputs: Sequence[str], base: str, attributes: Mapping[str, Any]) -> str:
        name = self.unique(base)
        self.nodes.append(helper.make_node(op_type, list(inputs), [name], name=name, **attributes))
        return name

    def _constant_of(self, array: Array, hint: str) -> str:
        key = (hint, array.dtype.name, array.shape, array.tobytes())
        return super().initializer(array, hint, key)


def _weight_axis(codes: Array, scales: Array, key: Hashable) -> tuple[int, Array]:
    """Return the axis of a laid-out weight along which scales differ, and the scales along it."""
    form = key[1] if isinstance(key, tuple) else "oi"
    if form == "io":
        return 1, scales
    if form != "iohw":
        return 0, scales
    if codes.shape[1] == scales.size:
        return 1, scales
    return 0, np.repeat(scales, codes.shape[0] // scales.size)  # each group makes one channel
