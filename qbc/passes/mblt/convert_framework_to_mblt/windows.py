"""Padding of sliding windows: ONNX `pads` / `auto_pad` to explicit padding, and 1-D windows as 2-D ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import f32
from xdsl.ir import SSAValue

from qbc.dialects.common.shapes import DYNAMIC
from qbc.dialects.mblt import element_of, shape_of
from qbc.passes.mblt.convert_framework_to_mblt.converter import Node


@dataclass(frozen=True)
class Window:
    """A 2-D window; `before` and `after` are the padding of H and W."""

    kernel: tuple[int, int]
    strides: tuple[int, int]
    dilations: tuple[int, int]
    before: tuple[int, int]
    after: tuple[int, int]

    @property
    def padding(self) -> list[int]:
        """Padding as [top, left, bottom, right]."""
        return [*self.before, *self.after]


def window_input(node: Node) -> tuple[SSAValue, int]:
    """Return input 0 as a channel-last map N, H, W, C and the number of spatial axes; one of 1-D gets H = 1."""
    shape = node.shape(0)
    spatial = len(shape) - 2
    if spatial not in (1, 2):
        node.refuse(f"{spatial} spatial axes")
    value = node.value(0)
    if element_of(value) != f32:
        node.refuse(f"element type {element_of(value)}")
    if spatial == 1:
        value = node.reshape(value, (shape[0], shape[1], 1, shape[2]))
    return node.channel_last(value), spatial


def window_output(node: Node, value: SSAValue, spatial: int) -> SSAValue:
    """Return a channel-last map in the source layout and rank."""
    value = node.channel_first(value)
    if spatial == 2:
        return value
    batch, channels, _, length = shape_of(value)
    return node.reshape(value, (batch, channels, length))


def read_window(node: Node, kernel: Sequence[int]) -> Window:
    """Read strides, dilations, pads and auto_pad of a convolution or pool with a 1-D or 2-D `kernel`."""
    spatial = len(kernel)
    strides = node.attr("strides") or (1,) * spatial
    dilations = node.attr("dilations") or (1,) * spatial
    sizes = node.shape(0)[2:]
    pads = _explicit_pads(node, sizes, kernel, strides, dilations)
    if min(pads) < 0:
        node.refuse(f"negative padding {list(pads)}")
    return Window(
        _two(kernel, 1), _two(strides, 1), _two(dilations, 1), _two(pads[:spatial], 0), _two(pads[spatial:], 0)
    )


def _explicit_pads(
    node: Node, sizes: Sequence[int], kernel: Sequence[int], strides: Sequence[int], dilations: Sequence[int]
) -> tuple[int, ...]:
    mode = node.attr("auto_pad") or "NOTSET"
    if mode == "NOTSET":
        return tuple(node.attr("pads") or (0,) * (2 * len(kernel)))
    if mode == "VALID":
        return (0,) * (2 * len(kernel))
    if DYNAMIC in sizes:
        node.refuse(f"auto_pad {mode} needs known sizes")
    totals = [
        max(0, (-(-size // s) - 1) * s + d * (k - 1) + 1 - size)
        for size, k, s, d in zip(sizes, kernel, strides, dilations, strict=True)
    ]
    return split_padding(totals, mode)


def split_padding(totals: Sequence[int], mode: str) -> tuple[int, ...]:
    """Split total padding into begins and ends; an odd element goes to the end (SAME_UPPER) or the begin."""
    small, large = [total // 2 for total in totals], [total - total // 2 for total in totals]
    return (*small, *large) if mode == "SAME_UPPER" else (*large, *small)


def _two(values: Sequence[int], fill: int) -> tuple[int, int]:
    return (fill, values[0]) if len(values) == 1 else (values[0], values[1])
