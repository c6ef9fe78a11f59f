"""Core modes: how many cores share a program and how many images one run of it takes."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class CoreMode:
    """One core mode: `cores` is the number of cores a program uses, `images` the number of images of one run."""

    name: str
    cores: int
    images: int


CORE_MODES: dict[str, CoreMode] = {
    mode.name: mode
    for mode in (
        CoreMode("single", cores=1, images=1),
        CoreMode("multi", cores=4, images=4),
        CoreMode("global4", cores=4, images=1),
        CoreMode("global8", cores=8, images=1),
    )
}
MODE_NAMES: tuple[str, ...] = tuple(CORE_MODES)
SINGLE = "single"
ALL = "all"  # one program for each mode that the target has
