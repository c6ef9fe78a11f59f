"""Random small ONNX models. A node is kept when onnxruntime runs it alone, so its result says what may follow."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
import onnxruntime
from onnx import helper, numpy_helper

Array = npt.NDArray[Any]
TYPES = {"float32": 1, "int64": 7, "int32": 6, "bool": 9}
SHAPES = (
    [1, 4, 6, 6],
    [2, 3, 5, 7],
    [1, 8],
    [3, 6],
    [2, 5, 8],
    [1, 3, 8],
    [4],
    [1, 1, 4, 4],
    [1, 4, 1, 1],
    [2, 4, 1, 6],
)
LARGEST_SIZE, LARGEST_VALUE = 20_000, 1e3


class Unsuitable(Exception):
    """A step does not fit the values at hand."""


class RandomModel:
    """A model in the making; every value is computed at once."""

    def __init__(self, seed: int, opsets: Sequence[int] = range(13, 22)) -> None:
        self.random = np.random.default_rng(seed)
        self.opset = int(self.random.choice(list(opsets)))
        self.nodes: list[onnx.NodeProto] = []
        self.values: dict[str, Array] = {}
        self.constants: dict[str, Array] = {}
        for index in range(self.integer(1, 2)):
            self.values[f"x{index}"] = self.normal(*self.choose(SHAPES))
        self.feed = dict(self.values)

    def grow(self, steps: int) -> RandomModel:
        """Add steps (of one or several nodes)."""
        for _ in range(40 * steps):
            before = len(self.nodes)
            try:
                STEPS[self.integer(0, len(STEPS) - 1)](self)
            except Unsuitable:
                continue
            steps -= len(self.nodes) > before
            if steps <= 0:
                break
        return self

    def model(self) -> tuple[onnx.ModelProto, dict[str, Array]]:
        """Return the model, whose outputs are all values that nothing reads, and the values of its outputs."""
        read = {name for node in self.nodes for name in node.input}
        outputs = [name for node in self.nodes for name in node.output if name not in read]
        inputs = [_info(name, array) for name, array in self.feed.items()]
        results = [_info(name, self.values[name]) for name in outputs]
        kept = [numpy_helper.from_array(array, name) for name, array in self.constants.items() if name in read]
        graph = helper.make_graph(self.nodes, "random", inputs, results, kept)
        return self._wrap(graph), {name: self.values[name] for name in outputs}

    def _wrap(self, graph: onnx.GraphProto) -> onnx.ModelProto:
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", self.opset)], ir_version=8)

    # --- building ------------------------------------------------------------------------------------------------

    def integer(self, low: int, high: int) -> int:
        """Return an integer in low..high."""
        return int(self.random.integers(low, high + 1))

    def integers(self, low: int, high: int, count: int) -> list[int]:
        """Return several integers in low..high."""
        return [self.integer(low, high) for _ in range(count)]

    def choose(self, choices: Sequence[Any]) -> Any:
        """Return one of several."""
        return choices[self.integer(0, len(choices) - 1)]

    def chance(self, probability: float = 0.5) -> bool:
        """Return whether something happens."""
        return bool(self.random.random() < probability)

    def normal(self, *shape: int) -> Array:
        """Return normal random numbers."""
        return self.random.standard_normal(shape).astype(np.float32)

    def constant(self, array: Any) -> str:
        """Add a constant."""
        name = f"c{len(self.constants)}"
        self.constants[name] = np.asarray(array)
        return name

    def ints(self, *values: int) -> str:
        """Add a constant vector of int64."""
        return self.constant(np.array(values, np.int64))

    def pick(self, *ranks: int, fits: Callable[[Array], bool] = lambda array: True) -> str:
        """Return a float value, the last one more often than others."""
        found = [
            name
            for name, array in self.values.items()
            if array.dtype == np.float32 and (not ranks or array.ndim in ranks) and fits(array)
        ]
        if not found:
            raise Unsuitable
        return found[-1] if self.chance(0.6) else str(self.choose(found))

    def node(self, operator: str, *inputs: str, outputs: int = 1, **attributes: Any) -> str:
        """Add a node and return the name of one of its outputs."""
        names = [f"v{len(self.nodes)}_{index}" for index in range(outputs)]
        node = helper.make_node(operator, inputs, names, name=f"{operator}_{len(self.nodes)}", **attributes)
        feed = {name: self.values[name] for name in inputs if name in self.values}
        known = [numpy_helper.from_array(self.constants[name], name) for name in inputs if name in self.constants]
        results = [onnx.ValueInfoProto(name=name) for name in names]
        graph = helper.make_graph([node], "one", [_info(*item) for item in feed.items()], results, known)
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads, options.log_severity_level = 1, 4
        try:
            found = onnxruntime.InferenceSession(self._wrap(graph).SerializeToString(), options).run(None, feed)
        except Exception as error:  # the exceptions of onnxruntime have no other common base
            raise Unsuitable from error
        if not all(_is_tame(array) for array in found):
            raise Unsuitable
        self.nodes.append(node)
        self.values.update(zip(names, found, strict=True))
        return str(self.choose(names))

    def broadcastable(self, array: Array) -> list[int]:
        """Return a shape that broadcasts to that of `array`."""
        shape = [size if self.chance() else 1 for size in array.shape]
        return shape[self.integer(0, max(0, len(shape) - 1)) :] if self.chance(0.3) else shape


def _info(name: str, array: Array) -> onnx.ValueInfoProto:
    return helper.make_tensor_value_info(name, TYPES[array.dtype.name], array.shape)


def _is_tame(array: Array) -> bool:
    if array.dtype.name not in TYPES or not 0 < array.size < LARGEST_SIZE or array.ndim > 6:
        return False
    return array.dtype.kind != "f" or bool(np.isfinite(array).all() and np.abs(array).max() < LARGEST_VALUE)


# --- steps: windows ----------------------------------------------------------------------------------------------


def _conv(m: RandomModel) -> None:
    x = m.pick(3, 4)
    channels, spatial = m.values[x].shape[1], m.values[x].ndim - 2
    groups = m.choose([size for size in range(1, channels + 1) if channels % size == 0])
    kernel = m.integers(1, 3, spatial)
    attributes: dict[str, Any] = {"group": groups, "strides": m.integers(1, 3, spatial)}
    if m.chance(0.4):
        attributes["pads"] = m.integers(0, 2, 2 * spatial)
    elif m.chance():
        attributes["auto_pad"] = m.choose(["SAME_UPPER", "SAME_LOWER", "VALID"])
    if m.chance(0.3):
        attributes["dilations"] = m.integers(1, 2, spatial)
    if m.chance(0.3):
        weight = m.constant(m.normal(channels, m.integer(1, 2), *kernel) * 0.4)
        m.node("ConvTranspose", x, weight, **attributes)
        return
    weight = m.constant(m.normal(groups * m.integer(1, 2), channels // groups, *kernel) * 0.4)
    m.node("Conv", x, weight, m.constant(m.normal(m.constants[weight].shape[0])), **attributes)


def _pool(m: RandomModel) -> None:
    x = m.pick(3, 4)
    sizes = m.values[x].shape[2:]
    kernel = [m.integer(1, min(3, size)) for size in sizes]
    attributes: dict[str, Any] = {"kernel_shape": kernel, "strides": m.integers(1, 3, len(kernel))}
    if m.chance():
        attributes["pads"] = [m.integer(0, size - 1) for size in kernel * 2]
        attributes["ceil_mode"] = m.integer(0, 1)
    elif m.chance():
        attributes["auto_pad"] = m.choose(["SAME_UPPER", "SAME_LOWER", "VALID"])
    operator = m.choose(["MaxPool", "AveragePool"])
    if operator == "AveragePool":
        attributes["count_include_pad"] = m.integer(0, 1)
    m.node(operator, x, **attributes)


def _padded_pool(m: RandomModel) -> None:
    x = m.pick(4)
    x = m.node("Relu", x) if m.chance() else x
    padded = m.node("Pad", x, m.ints(0, 0, *m.integers(0, 2, 2), 0, 0, *m.integers(0, 2, 2)))
    kernel = [m.integer(1, min(3, size)) for size in m.values[padded].shape[2:]]
    m.node(m.choose(["MaxPool", "AveragePool"]), padded, kernel_shape=kernel)


def _global_pool(m: RandomModel) -> None:
    x = m.pick(4)
    pooled = m.node(m.choose(["GlobalAveragePool", "GlobalMaxPool"]), x)
    if m.chance():
        m.node("Add", x, m.node("Mul", x, m.node("Sigmoid", pooled)))


def _resize(m: RandomModel) -> None:
    x = m.pick(3, 4)
    shape = m.values[x].shape
    attributes: dict[str, Any] = {
        "mode": m.choose(["nearest", "linear"]),
        "coordinate_transformation_mode": m.choose(["half_pixel", "asymmetric", "align_corners"]),
    }
    if m.chance():
        scales = [1.0, 1.0, *(m.choose([1.0, 2.0, 3.0]) for _ in shape[2:])]
        m.node("Resize", x, "", m.constant(np.array(scales, np.float32)), **attributes)
    else:
        sizes = [m.integer(1, 2 * size) for size in shape[2:]]
        m.node("Resize", x, "", "", m.ints(*shape[:2], *sizes), **attributes)


# --- steps: elements ---------------------------------------------------------------------------------------------


def _binary(m: RandomModel) -> None:
    x = m.pick()
    operator = m.choose(["Add", "Sub", "Mul", "Div", "Max", "Min"])
    other = m.constant(m.random.uniform(0.5, 2.0, m.broadcastable(m.values[x])).astype(np.float32))
    if m.chance(0.3):
        other = m.pick(fits=lambda array: array.shape == m.values[x].shape and bool(np.abs(array).min() > 0.1))
    m.node(operator, *((x, other) if m.chance(0.7) else (other, x)))


def _unary(m: RandomModel) -> None:
    functions = ["Relu", "Sigmoid", "Tanh", "Abs", "Neg", "Erf", "Softplus", "Sin", "Cos", "Elu", "LeakyRelu"]
    m.node(m.choose([*functions, "HardSigmoid", "HardSwish", "Softsign", "Selu", "Celu", "Exp"]), m.pick())


def _power(m: RandomModel) -> None:
    positive = m.node("Add", m.node("Abs", m.pick()), m.constant(np.float32(0.2)))
    m.node("Pow", positive, m.constant(np.float32(m.choose([2.0, 0.5, -1.0, -0.5, 1.0, 1.7]))))


def _clip(m: RandomModel) -> None:
    low, high = sorted(m.random.uniform(-1, 3, 2).astype(np.float32))
    m.node("Clip", m.pick(), m.constant(low), m.constant(high))


def _gate(m: RandomModel) -> None:
    x = m.pick()
    if m.chance():
        m.node("Mul", x, m.node("Sigmoid", x))
        return
    ramp = m.node("Add", x, m.constant(np.float32(3)))
    ramp = m.node("Clip", ramp, m.constant(np.float32(0)), m.constant(np.float32(6)))
    m.node("Div", m.node("Mul", x, ramp) if m.chance() else ramp, m.constant(np.float32(6)))


def _integers(m: RandomModel) -> None:
    whole = m.node("Cast", m.pick(), to=m.choose([6, 7]))
    other = m.constant(np.array(m.choose([-3, 2, 5])).astype(m.values[whole].dtype))
    m.node("Cast", m.node(m.choose(["Add", "Mul", "Div", "Max"]), whole, other), to=1)


def _where(m: RandomModel) -> None:
    x = m.pick()
    condition = m.node(m.choose(["Greater", "LessOrEqual"]), x, m.constant(np.float32(0.123)))
    m.node("Where", condition, x, m.constant(m.normal(*m.broadcastable(m.values[x]))))


# --- steps: products, norms, reductions --------------------------------------------------------------------------


def _product(m: RandomModel) -> None:
    x = m.pick(1, 2, 3, 4)
    shape, columns = m.values[x].shape, m.integer(1, 5)
    if len(shape) == 2 and m.chance():
        m.node("Gemm", x, m.constant(m.normal(columns, shape[1])), m.constant(m.normal(columns)), transB=1, alpha=0.5)
    elif len(shape) > 1 and m.chance(0.2):
        m.node("MatMul", m.constant(m.normal(columns, shape[-2])), x)
    else:
        m.node("MatMul", x, m.constant(m.normal(shape[-1], columns) * 0.5))


def _batch_norm(m: RandomModel) -> None:
    x = m.pick(2, 3, 4)
    channels = m.values[x].shape[1]
    variance = np.abs(m.normal(channels)) + np.float32(0.3)
    m.node("BatchNormalization", x, *(m.constant(m.normal(channels)) for _ in range(3)), m.constant(variance))


def _reduce_over(m: RandomModel, operator: str, x: str, axes: list[int]) -> str:
    if m.opset >= (13 if operator == "ReduceSum" else 18):
        return m.node(operator, x, m.ints(*axes), keepdims=1)
    return m.node(operator, x, axes=axes, keepdims=1)


def _layer_norm(m: RandomModel) -> None:
    x = m.pick(2, 3, 4)
    axes = m.choose([[-1], [1], [-2, -1]])
    centered = m.node("Sub", x, _reduce_over(m, "ReduceMean", x, axes))
    variance = _reduce_over(m, "ReduceMean", m.node("Pow", centered, m.constant(np.float32(2))), axes)
    y = m.node("Div", centered, m.node("Sqrt", m.node("Add", variance, m.constant(np.float32(0.1)))))
    if m.chance():
        m.node("Mul", y, m.constant(m.normal(m.values[x].shape[-1])))


def _softmax(m: RandomModel) -> None:
    x = m.pick(2, 3, 4)
    axis = m.integer(-2, m.values[x].ndim - 1)
    if m.chance():
        m.node(m.choose(["Softmax", "LogSoftmax"]), x, axis=axis)
        return
    e = m.node("Exp", m.node("Sub", x, _reduce_over(m, "ReduceMax", x, [axis])))
    m.node("Div", e, _reduce_over(m, "ReduceSum", e, [axis]))


def _reduce(m: RandomModel) -> None:
    x = m.pick(1, 2, 3, 4)
    operator = m.choose(["ReduceMean", "ReduceSum", "ReduceMax", "ReduceMin", "ReduceL2", "ReduceL1"])
    count = m.values[x].ndim
    axes = m.random.choice(count, m.integer(1, count), replace=False).tolist()
    reduced = _reduce_over(m, operator, x, axes)
    if m.chance() and m.opset >= 13:
        m.node("Squeeze", reduced, m.ints(*(axis - count for axis in axes)))


# --- steps: movement ---------------------------------------------------------------------------------------------


def _reshape(m: RandomModel) -> None:
    x = m.pick()
    shape = list(m.values[x].shape)
    place = m.integer(0, len(shape))
    targets = [
        [*shape[:place], -1, 1],
        [*shape[:place], 1, *shape[place:]],
        [size for size in shape if size != 1],
        [-1],
    ]
    m.node("Reshape", x, m.ints(*m.choose(targets)))


def _transpose(m: RandomModel) -> None:
    x = m.pick(2, 3, 4, 5)
    m.node("Transpose", x, perm=m.random.permutation(m.values[x].ndim).tolist())


def _concat(m: RandomModel) -> None:
    x = m.pick(1, 2, 3, 4)
    shape = m.values[x].shape
    axis = m.integer(0, len(shape) - 1)
    other = m.pick(len(shape), fits=lambda array: _without(array.shape, axis) == _without(shape, axis))
    m.node("Concat", x, other, axis=axis)


def _without(shape: tuple[int, ...], axis: int) -> tuple[int, ...]:
    return (*shape[:axis], *shape[axis + 1 :])


def _split(m: RandomModel) -> None:
    x = m.pick(1, 2, 3, 4, fits=lambda array: array.shape[-1] > 1)
    size = m.values[x].shape[-1]
    first = m.integer(1, size - 1)
    m.node("Split", x, m.ints(first, size - first), outputs=2, axis=-1)


def _slice(m: RandomModel) -> None:
    x = m.pick(1, 2, 3, 4)
    axis = m.integer(0, m.values[x].ndim - 1)
    start, end, step = m.choose([(0, 2, 1), (1, 99, 2), (-2, 99, 1), (-1, -99, -1), (-1, -99, -2)])
    m.node("Slice", x, m.ints(start), m.ints(end), m.ints(axis), m.ints(step))


def _gather(m: RandomModel) -> None:
    x = m.pick(1, 2, 3, 4)
    axis = m.integer(0, m.values[x].ndim - 1)
    size = m.values[x].shape[axis]
    m.node("Gather", x, m.constant(m.random.integers(-size, size, m.choose([[], [1], [3], [2, 2]]))), axis=axis)


def _pad(m: RandomModel) -> None:
    x = m.pick(1, 2, 3, 4)
    mode = m.choose(["constant", "reflect", "edge"])
    m.node("Pad", x, m.ints(*m.integers(0, 1, 2 * m.values[x].ndim)), mode=mode)


def _spread(m: RandomModel) -> None:
    x = m.pick(1, 2, 3, 4)
    if m.chance():
        m.node("Tile", x, m.ints(*m.integers(1, 2, m.values[x].ndim)))
    else:
        m.node("Expand", x, m.ints(2, *m.values[x].shape))


STEPS: list[Callable[[RandomModel], None]] = [
    *(_conv, _conv, _pool, _padded_pool, _global_pool, _resize),
    *(_binary, _binary, _unary, _unary, _power, _clip, _gate, _integers, _where),
    *(_product, _product, _batch_norm, _layer_norm, _softmax, _reduce),
    *(_reshape, _transpose, _transpose, _concat, _split, _slice, _gather, _pad, _spread),
]
