"""Hand-made packed programs and `.mxq` files for runtime tests."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from qbc.program import DebugRow, HostTensor, Operand, ProgramImage, ProgramWriter, package_sections
from qbc.store import BlobStore, write_container

Array = npt.NDArray[np.generic]
MAX_POOL = {"kernel": (2, 2), "strides": (2, 2), "padding": (0, 0, 0, 0), "dilations": (1, 1)}


class ProgramBuilder:
    """Places every value behind the last one in DRAM."""

    def __init__(self) -> None:
        self.store = BlobStore()
        self.writer = ProgramWriter("aries-rb", "single", 0, {"dram": 0})

    def value(self, shape: Sequence[int], dtype: str = "i8") -> Operand:
        start = -(-self.writer.arenas["dram"] // 64) * 64
        operand = Operand("dram", start, tuple(shape), dtype)
        self.writer.arenas["dram"] = start + operand.nbytes
        return operand

    def blob(self, array: Array) -> int:
        return self.writer.blob(self.store.put(array), array.dtype.name, array.shape)

    def input(self, operand: Operand, scale: float, zero: int, layout: str = "", name: str = "x") -> None:
        dtype = "i32" if operand.dtype == "i32" else "f32"
        self.writer.inputs.append(HostTensor(name, dtype, scale, zero, layout, operand))

    def output(self, operand: Operand, scale: float, zero: int, layout: str = "", name: str = "y") -> None:
        self.writer.outputs.append(HostTensor(name, "f32", scale, zero, layout, operand))

    def command(
        self, kind: str, inputs: Sequence[Operand], output: Operand, attributes: dict[str, object], **constants: Array
    ) -> None:
        indices = {name: self.blob(array) for name, array in constants.items()}
        self.writer.command(kind, inputs, output, attributes, indices, DebugRow(f"npu.{kind}", (f"node_{kind}",)))

    def save(self, path: Path) -> ProgramImage:
        image = self.writer.image()
        write_container(path, "MXQ", package_sections({("single", 0): image}, self.store))
        return image


def conv_program(rng: np.random.Generator) -> tuple[ProgramBuilder, dict[str, Array]]:
    """A 3x3 convolution with an NCHW source layout, then a maximum pool."""
    builder = ProgramBuilder()
    constants = {
        "weight": rng.integers(-127, 128, (5, 3, 3, 4)).astype(np.int8),
        "bias": rng.integers(-5000, 5000, 5),
        "multiplier": rng.integers(1 << 30, 1 << 31, 5),
        "shift": np.full(5, 40),
    }
    image, mid, out = builder.value((1, 6, 8, 4)), builder.value((1, 6, 8, 5)), builder.value((1, 3, 4, 5))
    builder.input(image, 0.5, 3, "nchw")
    builder.output(out, 0.25, -7, "nchw")
    window = {"strides": (1, 1), "padding": (1, 1, 1, 1), "dilations": (1, 1), "groups": 1}
    builder.command("conv2d", [image], mid, {**window, "zx": 3, "z": -7, "lo": -128, "hi": 127}, **constants)
    builder.command("max_pool2d", [mid], out, MAX_POOL)
    return builder, constants


def conv_reference(codes: Array, constants: dict[str, Array]) -> Array:
    """The codes that `conv_program` gives, by the definition in plain integers."""
    padded = np.pad(codes.astype(np.int64), ((0, 0), (1, 1), (1, 1), (0, 0)), constant_values=3)
    weight = constants["weight"].astype(np.int64)
    mid = np.zeros((1, 6, 8, 5), np.int64)
    for row in range(6):
        for column in range(8):
            window = padded[0, row : row + 3, column : column + 3]
            acc = constants["bias"] + np.einsum("hwc,ohwc->o", window, weight)
            scaled = [(int(a) * int(m) + (1 << 39)) >> 40 for a, m in zip(acc, constants["multiplier"], strict=True)]
            mid[0, row, column] = np.clip(np.array(scaled) - 7, -128, 127)
    return mid.reshape(1, 3, 2, 4, 2, 5).max(axis=(2, 4)).astype(np.int8)
