"""Geometry of a letterbox: the size a picture gets inside the target, and the margins around it."""

from __future__ import annotations

from dataclasses import dataclass

Size = tuple[int, int]  # height, width


@dataclass(frozen=True)
class Placement:
    """A picture of `height` x `width` pixels with `top`, `left`, `bottom` and `right` pixels around it."""

    height: int
    width: int
    top: int
    left: int
    bottom: int
    right: int


def placement(source: Size, target: Size, *, centered: bool = True) -> Placement:
    """Return where a picture of the size `source` lies in `target`, its aspect ratio kept.

    It is scaled by `min(target / source)` of both axes, each length rounded (half to even), at least 1. In the middle
    (`centered`), where an odd rest is one more below and to the right, or at the top left.
    """
    ratio = min(target[0] / source[0], target[1] / source[1])
    height, width = max(1, round(source[0] * ratio)), max(1, round(source[1] * ratio))
    rest_h, rest_w = target[0] - height, target[1] - width
    top, left = (rest_h // 2, rest_w // 2) if centered else (0, 0)
    return Placement(height, width, top, left, rest_h - top, rest_w - left)


def shrink_factor(source: Size, target: Size) -> int | None:
    """Return the whole number by which a letterbox divides both lengths of `source`; None where there is no such."""
    inner = placement(source, target)
    factor = source[0] // inner.height
    return factor if (inner.height * factor, inner.width * factor) == source else None
