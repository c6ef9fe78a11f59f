"""Simulated devices and core modes."""

from __future__ import annotations

from enum import Enum

from qbc.argument_types import Kind, is_whole, whole_of
from qbc.errors import ArgumentError, QBCompilerError

CLUSTERS = 2
CORES_PER_CLUSTER = 4
DEVICE = Kind(lambda value: isinstance(value, str), "the name or number of a device")
_TARGETS_OF_DEVICE: dict[str, tuple[str, ...]] = {
    "aries": ("aries-rb",),
    "aries-rb": ("aries-rb",),
    "regulus": ("regulus-ra", "regulus-rb"),
    "regulus-usb": ("regulus-ra-usb", "regulus-rb-usb"),
    "regulus-ra": ("regulus-ra",),
    "regulus-ra-usb": ("regulus-ra-usb",),
    "regulus-rb": ("regulus-rb",),
    "regulus-rb-usb": ("regulus-rb-usb",),
}


class CoreMode(Enum):
    """How the cores of a device share a model."""

    Auto = "auto"
    Single = "single"
    Multi = "multi"
    Global4 = "global4"
    Global8 = "global8"


class Accelerator:
    """A simulated device: `Accelerator(0)`, `Accelerator("aries-rb")` or `Accelerator("auto", 0)`.

    There is one device of each kind, number 0; other numbers are Model_IsNotSupportedHardware (48).
    """

    def __init__(self, device_name: str | int = "auto", dev_no: int = 0) -> None:
        name, number = ("auto", device_name) if is_whole(device_name) else (device_name, dev_no)
        DEVICE.check("device_name", name)
        number = whole_of("dev_no", number)
        if name != "auto" and name not in _TARGETS_OF_DEVICE:
            raise hardware_error(f"unknown device {name!r}", f"choose auto or one of {', '.join(_TARGETS_OF_DEVICE)}")
        if number < 0:
            raise ArgumentError(f"device number {number} is negative")
        if number > 0:
            raise hardware_error(f"there is no device {number}", "one device of each kind is simulated: use number 0")
        self.device_name = name
        self.dev_no = number

    def runs(self, target: str) -> bool:
        """Return whether programs for `target` run on this device."""
        return self.device_name == "auto" or target in _TARGETS_OF_DEVICE[self.device_name]

    def get_available_cores(self) -> list[str]:
        """Return the cores as `device:cluster:core`."""
        is_aries = self.device_name in ("auto", "aries", "aries-rb")
        clusters, cores = (CLUSTERS, CORES_PER_CLUSTER) if is_aries else (1, 1)
        return [f"{self.dev_no}:{cluster}:{core}" for cluster in range(clusters) for core in range(cores)]


def hardware_error(message: str, hint: str) -> QBCompilerError:
    """Return the error of a program or name that does not fit a device: Model_IsNotSupportedHardware (48)."""
    from qbc.runtime import RuntimeStatusError, Status

    return RuntimeStatusError(Status.MODEL_IS_NOT_SUPPORTED_HARDWARE, message, hint=hint)
