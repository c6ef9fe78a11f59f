"""Recipes of `make_calib`: a YAML file that says how a picture becomes an array.

    Datatype: Image
    GetImage: {to_float32: false, channel_order: rgb}
    Pre-Order: [ResizeTorch, CenterCrop, Normalize, SetOrder]
    Pre-processing:
      ResizeTorch: {size: 256, interpolation: bilinear}
      CenterCrop: {size: 224}
      Normalize: {mean: [0.485, 0.456, 0.406], std: [0.229, 0.224, 0.225], to_float_div255: true}
      SetOrder: {shape: HWC}

`ResizeTorch` resizes as torch does, `Resize` as OpenCV does; a size is the length of the shorter side or
[height, width]. `Pad` adds {padding: n, [x, y] or [left, top, right, bottom], value: 0}. Without `Pre-Order` the order
of `Pre-processing` counts; `SetOrder` is the last operation.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from qbc.argument_types import path_of
from qbc.calibration.inputs import sample_error
from qbc.calibration.resampling import MODES, Resampling
from qbc.calibration.steps import CenterCrop, Normalize, Resize, Step, SwapColours
from qbc.errors import ConfigError, QBCompilerError
from qbc.structured_text import read_file_text

Array = npt.NDArray[Any]

LARGEST = 1e6  # of means, deviations and padding; pixels go to 255
TOP_KEYS = ("Datatype", "GetImage", "Pre-Order", "Pre-processing")


@dataclass(frozen=True)
class Recipe:
    """A checked recipe."""

    steps: tuple[Step, ...]

    def apply(self, image: Array, path: Path) -> Array:
        """Return the array of an RGB picture; `path` names it in errors."""
        for step in self.steps:
            try:
                image = step.apply(image)
            except ValueError as error:
                raise sample_error(f"{path}: {error}", "change the recipe, or leave the file out") from None
        return np.ascontiguousarray(image)


@dataclass(frozen=True)
class _ToFloat:
    def apply(self, array: Array) -> Array:
        return array.astype(np.float32)


@dataclass(frozen=True)
class _Pad:
    left: int
    top: int
    right: int
    bottom: int
    value: float = 0

    def apply(self, array: Array) -> Array:
        if array.dtype == np.uint8 and self.value not in range(256):
            raise ValueError(
                f"Pad with the value {self.value:g} needs floats: put it behind Normalize, or set to_float32"
            )
        sides = ((self.top, self.bottom), (self.left, self.right), (0, 0))
        return np.pad(array, sides, constant_values=self.value)


@dataclass(frozen=True)
class _SetOrder:
    order: str

    def apply(self, array: Array) -> Array:
        plain = self.order[-3:]
        arranged = array.transpose(["HWC".index(axis) for axis in plain])
        return arranged[None] if len(self.order) == 4 else arranged


def read_recipe(source: str | Path | Mapping[str, Any]) -> Recipe:
    """Check a recipe (a YAML file, or its content); raises CONFIG_ERROR naming the key that is wrong."""
    content = source if isinstance(source, Mapping) else _read_yaml(path_of("args_pre", source))
    _known("the recipe", content, TOP_KEYS)
    if str(content.get("Datatype", "Image")).lower() != "image":
        raise _error(f"Datatype {content['Datatype']!r} is not known; accepted is Image")
    operations = content.get("Pre-processing") or {}
    _known("Pre-processing", operations, tuple(_MAKERS))
    order = content.get("Pre-Order")
    order = list(operations) if order is None else order
    if not isinstance(order, list) or not all(isinstance(name, str) for name in order):
        raise _error("Pre-Order must be a list of names")
    missing = [name for name in order if name not in operations]
    if missing:
        raise _error(f"Pre-Order names {missing[0]!r}, which Pre-processing does not have")
    unused = [name for name in operations if name not in order]
    if unused:
        raise _error(f"Pre-Order leaves out {unused[0]!r} of Pre-processing")
    if "SetOrder" in order[:-1]:
        raise _error("SetOrder must be the last operation: the others take height, width, channels")
    steps = _get_image(content.get("GetImage") or {})
    for name in order:
        steps += _MAKERS[name](name, operations[name] or {})
    return Recipe(tuple(steps))


def _read_yaml(path: Path) -> Mapping[str, Any]:
    import yaml

    try:
        content = yaml.safe_load(read_file_text(path))
    except (OSError, UnicodeDecodeError, yaml.YAMLError, RecursionError) as error:
        raise _error(f"cannot read the recipe {path}: {' '.join(str(error).split())}") from None
    if not isinstance(content, Mapping):
        raise _error(f"{path}: a recipe is a mapping with the keys {', '.join(TOP_KEYS)}")
    return content


def _error(message: str) -> QBCompilerError:
    return ConfigError(message)


def _known(where: str, content: Any, accepted: tuple[str, ...]) -> None:
    if not isinstance(content, Mapping):
        raise _error(f"{where} must be a mapping with the keys {', '.join(accepted)}")
    unknown = [key for key in content if key not in accepted]
    if unknown:
        raise _error(f"unknown key {unknown[0]!r} in {where}; accepted are {', '.join(accepted)}")


def _get_image(content: Any) -> list[Step]:
    _known("GetImage", content, ("to_float32", "channel_order"))
    order = str(content.get("channel_order", "rgb")).lower()
    if order not in ("rgb", "bgr"):
        raise _error(f"channel_order {order!r} is not known; accepted are rgb, bgr")
    steps: list[Step] = [SwapColours()] if order == "bgr" else []
    return [*steps, _ToFloat()] if content.get("to_float32") else steps


def _resize(name: str, content: Any) -> list[Step]:
    _known(name, content, ("size", "interpolation"))
    mode = str(content.get("interpolation", "bilinear")).lower()
    if mode not in MODES:
        raise _error(f"interpolation {mode!r} of {name} is not known; accepted are {', '.join(MODES)}")
    size = content.get("size")
    sampling = Resampling(mode, "torch" if name == "ResizeTorch" else "opencv")
    if _is_length(size):
        return [Resize(size=size, resampling=sampling)]
    height, width = _pair(name, size)
    return [Resize(height, width, resampling=sampling)]


def _crop(name: str, content: Any) -> list[Step]:
    _known(name, content, ("size",))
    size = content.get("size")
    return [CenterCrop(*((size, size) if _is_length(size) else _pair(name, size)))]


def _normalize(name: str, content: Any) -> list[Step]:
    _known(name, content, ("mean", "std", "to_float_div255", "to_float"))
    values = {}
    for key, default in (("mean", 0.0), ("std", 1.0)):
        given = content.get(key, default)
        numbers = given if isinstance(given, list) else [given]
        if not numbers or not all(_is_number(number) for number in numbers):
            raise _error(f"{key} of {name} must be finite numbers")
        values[key] = tuple(float(number) for number in numbers)
    if min(values["std"]) <= 0:
        raise _error(f"std of {name} must be positive")
    return [Normalize(values["mean"], values["std"], bool(content.get("to_float_div255", False)))]


def _pad(name: str, content: Any) -> list[Step]:
    _known(name, content, ("padding", "value"))
    padding, value = content.get("padding"), content.get("value", 0)
    sides = [padding] if isinstance(padding, int) else padding
    if not isinstance(sides, list) or len(sides) not in (1, 2, 4) or not all(_is_length(s) or s == 0 for s in sides):
        raise _error(f"padding of {name} must be a number, [x, y] or [left, top, right, bottom]")
    if not _is_number(value):
        raise _error(f"value of {name} must be a finite number")
    left, top, right, bottom = sides * 4 if len(sides) == 1 else sides * 2 if len(sides) == 2 else sides
    return [_Pad(left, top, right, bottom, value)]


def _set_order(name: str, content: Any) -> list[Step]:
    _known(name, content, ("shape",))
    shape = content.get("shape")
    order = "".join(shape) if isinstance(shape, list) and all(isinstance(part, str) for part in shape) else str(shape)
    plain = order.upper().replace("N", "B")
    if plain[-3:] not in ("HWC", "CHW") or plain[:-3] not in ("", "B"):
        raise _error(f"shape {shape!r} of {name} is not known; accepted are HWC, CHW, BHWC, BCHW")
    return [_SetOrder(plain)]


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) <= LARGEST


def _is_length(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 < value <= 65536


def _pair(name: str, value: Any) -> tuple[int, int]:
    if isinstance(value, list) and len(value) == 2 and all(_is_length(part) for part in value):
        return value[0], value[1]
    raise _error(f"size of {name} must be a positive number or [height, width]")


_MAKERS: dict[str, Callable[[str, Any], list[Step]]] = {
    "ResizeTorch": _resize,
    "Resize": _resize,
    "CenterCrop": _crop,
    "Normalize": _normalize,
    "Pad": _pad,
    "SetOrder": _set_order,
}
