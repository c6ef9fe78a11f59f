"""How a model is launched."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from qbc.argument_types import LIST, SWITCH, is_whole, whole_of
from qbc.errors import ArgumentError
from qbcompiler.runtime.devices import CLUSTERS, CORES_PER_CLUSTER, CoreMode
from qbcompiler.runtime.unavailable import missing_attribute

CORES = CLUSTERS * CORES_PER_CLUSTER
_CORE_NAMES = frozenset(f"{cluster}:{core}" for cluster in range(CLUSTERS) for core in range(CORES_PER_CLUSTER))


@dataclass
class ModelConfig:
    """Which core mode a model is launched in: `ModelConfig()` or `ModelConfig(num_cores)`, then one of the setters.

    Setters return False (and change nothing) for impossible values; values of a wrong type are an ArgumentError. Cores
    are named `"cluster:core"` or `"device:cluster:core"`, clusters by number or as `"device:cluster"`; the only device
    is 0.
    """

    num_cores: int | None = None
    core_mode: CoreMode = field(default=CoreMode.Auto, init=False)
    clusters: list[int] = field(default_factory=list, init=False)
    core_ids: list[str] = field(default_factory=list, init=False)
    async_pipeline_enabled: bool = field(default=False, init=False)
    activation_slots: int = field(default=1, init=False)
    npu_bundle: int | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        if self.num_cores is not None and not self.set_auto_core_mode(self.num_cores):
            raise ArgumentError(f"num_cores is {self.num_cores}, expected 1 to {CORES}")

    def __getattr__(self, name: str) -> Any:
        raise missing_attribute("ModelConfig", name)

    def set_auto_core_mode(self, num_cores: int | None = None) -> bool:
        """Take the mode that the file offers."""
        return self._set(CoreMode.Auto, num_cores=num_cores)

    def set_single_core_mode(
        self, num_cores: int | Sequence[str] | None = None, core_ids: Sequence[str] | None = None
    ) -> bool:
        """Run each image on one core; a number of cores, or the cores themselves."""
        count: int | None = None
        given: Any = core_ids
        if is_whole(num_cores):
            count = whole_of("num_cores", num_cores)
        elif num_cores is not None:
            given = num_cores
        if given is None:
            return self._set(CoreMode.Single, num_cores=count)
        LIST.check("core_ids", given)
        ids = [core_name("core_ids", core) for core in given]
        if not all(name in _CORE_NAMES for name in ids):
            return False
        return self._set(CoreMode.Single, num_cores=count if count is not None else len(ids) or None, ids=ids)

    def set_multi_core_mode(self, clusters: Sequence[int | str] | None = None) -> bool:
        """Run four images on the cores of a cluster."""
        return self._set(CoreMode.Multi, clusters=clusters)

    def set_global4_core_mode(self, clusters: Sequence[int | str] | None = None) -> bool:
        """Run one image on the four cores of a cluster."""
        return self._set(CoreMode.Global4, clusters=clusters)

    def set_global8_core_mode(self) -> bool:
        """Run one image on all eight cores."""
        return self._set(CoreMode.Global8)

    def set_global_core_mode(self, clusters: Sequence[int | str] | None = None) -> bool:
        """Old name of `set_global4_core_mode`."""
        return self.set_global4_core_mode(clusters)

    def force_single_npu_bundle(self, index: int) -> bool:
        """Choose one part of a model with host parts; -1 takes all."""
        number = whole_of("index", index)
        if number < -1:
            return False
        self.npu_bundle = number
        return True

    def set_async_pipeline_enabled(self, enabled: bool) -> bool:
        """Accepted; the simulator has no pipeline, results are the same."""
        SWITCH.check("enabled", enabled)
        self.async_pipeline_enabled = bool(enabled)
        return True

    def set_activation_slots(self, count: int) -> bool:
        """Accepted; the simulator has one activation memory, results are the same."""
        number = whole_of("count", count)
        if number < 1:
            return False
        self.activation_slots = number
        return True

    def get_core_mode(self) -> CoreMode:
        """Return the chosen mode."""
        return self.core_mode

    def get_num_cores(self) -> int:
        """Return the number of cores a model may take: what a setter chose, else all."""
        if self.core_mode in (CoreMode.Multi, CoreMode.Global4):
            return CORES_PER_CLUSTER * (len(self.clusters) or CLUSTERS)
        return self.num_cores or CORES

    def get_core_ids(self) -> list[str]:
        """Return the cores that `set_single_core_mode` named, as `cluster:core`; empty where it named none."""
        return list(self.core_ids)

    def get_forced_npu_bundle_index(self) -> int:
        """Return what `force_single_npu_bundle` chose, -1 where it chose none."""
        return -1 if self.npu_bundle is None else self.npu_bundle

    def get_async_pipeline_enabled(self) -> bool:
        """Return what `set_async_pipeline_enabled` set."""
        return self.async_pipeline_enabled

    def get_activation_slots(self) -> int:
        """Return what `set_activation_slots` set."""
        return self.activation_slots

    def _set(
        self,
        mode: CoreMode,
        *,
        num_cores: int | None = None,
        clusters: Sequence[int | str] | None = None,
        ids: list[str] | None = None,
    ) -> bool:
        count = None if num_cores is None else whole_of("num_cores", num_cores)
        if clusters is not None:
            LIST.check("clusters", clusters)
        numbers = [_cluster(cluster) for cluster in clusters or ()]
        cores_fit = count is None or 1 <= count <= CORES
        if not cores_fit or not all(0 <= number < CLUSTERS for number in numbers):
            return False
        self.core_mode = mode
        self.num_cores = count
        self.clusters = numbers
        self.core_ids = ids or []
        return True


def core_name(argument: str, core: Any) -> str:
    """Return a core as `cluster:core`, one of a device other than 0 with that; ArgumentError for other texts."""
    *device, cluster, number = _numbers(argument, core, 2)
    return ":".join(map(str, ([] if device in ([], [0]) else device) + [cluster, number]))


def _cluster(value: Any) -> int:
    """Return the number of a cluster, -1 for one of a device other than 0."""
    *device, cluster = _numbers("clusters", value, 1)
    return cluster if device in ([], [0]) else -1


def _numbers(name: str, value: Any, count: int) -> tuple[int, ...]:
    """Return the `count` numbers of a core or cluster, behind the number of a device where there is one."""
    if count == 1 and is_whole(value):
        return (int(value),)
    form = "cluster:core" if count == 2 else "device:cluster"
    if not isinstance(value, str) or not re.fullmatch(r"\d+(:\d+)?" if count == 1 else r"\d+:\d+(:\d+)?", value):
        raise ArgumentError(f"{name} holds {value!r}, expected {'numbers or ' if count == 1 else ''}texts {form!r}")
    return tuple(int(part) for part in value.split(":"))
