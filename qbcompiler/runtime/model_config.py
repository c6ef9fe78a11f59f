"""How a model is launched."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from qbcompiler.runtime.devices import CLUSTERS, CORES_PER_CLUSTER, CoreMode


@dataclass
class ModelConfig:
    """Which core mode a model is launched in. Setters return False (and change nothing) for impossible values."""

    num_cores: int | None = None
    core_mode: CoreMode = CoreMode.Auto
    clusters: list[int] = field(default_factory=list)
    core_ids: list[Any] = field(default_factory=list)
    async_pipeline_enabled: bool = False
    activation_slots: int = 1
    npu_bundle: int | None = None

    def set_auto_core_mode(self, num_cores: int | None = None) -> bool:
        """Take the mode that the file offers."""
        return self._set(CoreMode.Auto, num_cores=num_cores)

    def set_single_core_mode(self, num_cores: int | Sequence[Any] | None = None, core_ids: Any = None) -> bool:
        """Run each image on one core; a number of cores, or the cores themselves."""
        if num_cores is not None and not isinstance(num_cores, int):
            num_cores, core_ids = None, num_cores
        ids = list(core_ids or [])
        return self._set(CoreMode.Single, num_cores=num_cores if num_cores is not None else len(ids) or None, ids=ids)

    def set_multi_core_mode(self, clusters: Sequence[int] | None = None) -> bool:
        """Run four images on the cores of a cluster."""
        return self._set(CoreMode.Multi, clusters=clusters)

    def set_global4_core_mode(self, clusters: Sequence[int] | None = None) -> bool:
        """Run one image on the four cores of a cluster."""
        return self._set(CoreMode.Global4, clusters=clusters)

    def set_global8_core_mode(self) -> bool:
        """Run one image on all eight cores."""
        return self._set(CoreMode.Global8)

    def set_global_core_mode(self, clusters: Sequence[int] | None = None) -> bool:
        """Old name of `set_global4_core_mode`."""
        return self.set_global4_core_mode(clusters)

    def force_single_npu_bundle(self, index: int) -> bool:
        """Choose one part of a model with host parts; -1 takes all."""
        if index < -1:
            return False
        self.npu_bundle = index
        return True

    def set_async_pipeline_enabled(self, enabled: bool) -> bool:
        """Accepted; the simulator has no pipeline, results are the same."""
        self.async_pipeline_enabled = bool(enabled)
        return True

    def set_activation_slots(self, count: int) -> bool:
        """Accepted; the simulator has one activation memory, results are the same."""
        if count < 1:
            return False
        self.activation_slots = count
        return True

    def get_core_mode(self) -> CoreMode:
        """Return the chosen mode."""
        return self.core_mode

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
        clusters: Sequence[int] | None = None,
        ids: list[Any] | None = None,
    ) -> bool:
        cores_fit = num_cores is None or 1 <= num_cores <= CLUSTERS * CORES_PER_CLUSTER
        clusters_fit = all(0 <= cluster < CLUSTERS for cluster in clusters or ())
        if not (cores_fit and clusters_fit):
            return False
        self.core_mode = mode
        self.num_cores = num_cores
        self.clusters = list(clusters or [])
        self.core_ids = ids or []
        return True
