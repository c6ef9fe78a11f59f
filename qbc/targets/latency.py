"""Latency of a program on the cores of its mode, layer by layer: an estimate on an assumed machine.

A layer takes `max(t_mac, t_vec, t_mfu, t_l2, t_dram)`: its units work at the same time, layers follow each other.

    t_mac  = (fill + ceil(px/16)*ceil(ic/16)*ceil(oc/16)*taps*planes*groups) / clock       (depthwise: macs / 256)
    t_vec  = sum over storage types of elements / lanes / clock
    t_mfu  = elements * passes / lanes / clock
    t_l2   = on-chip bytes / (bytes per cycle * clock)
    t_dram = external bytes / (peak * efficiency)

Where several cores work on a layer, each unit takes as long as on the slowest of them, and the external memory serves
them one after the other. Waiting of cores for each other is not modelled.

Nothing is fitted to a network. The network adds the host transfers and the fixed cost of one call.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from qbc.targets.model import Target

DISCLAIMER = "estimate on an assumed machine"
SYNCHRONIZATION = "waiting of cores for each other is not modelled"


@dataclass(frozen=True)
class LayerWork:
    """What one layer does: MACs and their shape, elements by unit, and bytes moved by memory.

    `macs` are real multiply-accumulates (padding excluded, planes not counted); `planes` is 2 for 16-bit activations.
    `pixels`, `in_channels`, `out_channels` and `taps` describe one group of a convolution, `groups` their number.
    """

    name: str
    kind: str
    macs: int = 0
    pixels: int = 0
    in_channels: int = 0
    out_channels: int = 0
    taps: int = 0
    groups: int = 1
    planes: int = 1
    vec_i8: int = 0
    vec_i16: int = 0
    vec_i32: int = 0
    mfu_elements: int = 0
    mfu_passes: int = 1
    dram_read: int = 0
    dram_write: int = 0
    l2_bytes: int = 0


@dataclass(frozen=True)
class LayerTime:
    """Seconds of one layer by unit, the unit that bounds it, and its MAC utilisation (ideal / taken)."""

    work: LayerWork
    mac_s: float
    vec_s: float
    mfu_s: float
    l2_s: float
    dram_s: float

    @property
    def seconds(self) -> float:
        """Time of the layer: its slowest unit."""
        return max(self.mac_s, self.vec_s, self.mfu_s, self.l2_s, self.dram_s)

    @property
    def bound(self) -> str:
        """The unit that takes longest."""
        times = {"mac": self.mac_s, "vec": self.vec_s, "mfu": self.mfu_s, "l2": self.l2_s, "dram": self.dram_s}
        return max(times, key=times.__getitem__)


@dataclass(frozen=True)
class LatencyEstimate:
    """The layers and totals of one run of a program, which computes `images` images on `cores` cores."""

    target: Target
    layers: tuple[LayerTime, ...]
    host_bytes: int
    transfers: int
    images: int = 1
    cores: int = 1

    @property
    def npu_ms(self) -> float:
        """Milliseconds on the NPU: the sum of the layers."""
        return 1e3 * sum(layer.seconds for layer in self.layers)

    @property
    def end_to_end_ms(self) -> float:
        """Milliseconds of one infer call: NPU, host transfers and the fixed cost."""
        host = self.target.host
        link_ms = 1e3 * self.host_bytes / (host.link_gb_per_s * 1e9 * host.link_efficiency)
        return self.npu_ms + link_ms + self.transfers * host.transfer_ms + host.fixed_ms

    @property
    def dram_bytes(self) -> int:
        """External bytes moved by one run."""
        return sum(layer.work.dram_read + layer.work.dram_write for layer in self.layers)

    @property
    def macs(self) -> int:
        """Multiply-accumulates of one run."""
        return sum(layer.work.macs for layer in self.layers)

    def fps_all_cores(self) -> float:
        """Images per second with programs on all cores: compute scales, the external memory is shared."""
        runs = self.target.topology.cores // self.cores
        seconds = self.npu_ms / 1e3
        compute = runs * self.images / seconds if seconds else 0.0
        per_image = self.dram_bytes / self.images
        traffic = self.target.dram.sustained_bytes_per_s / per_image if per_image else float("inf")
        return min(compute, traffic)


def estimate(works: Sequence[LayerWork], target: Target, *, host_bytes: int = 0, transfers: int = 2) -> LatencyEstimate:
    """Estimate a program on one core; `host_bytes` are the bytes of graph inputs and outputs over the host link."""
    return estimate_steps([[work] for work in works], target, host_bytes=host_bytes, transfers=transfers)


def estimate_steps(
    steps: Sequence[Sequence[LayerWork]],
    target: Target,
    *,
    host_bytes: int = 0,
    transfers: int = 2,
    images: int = 1,
    cores: int = 1,
) -> LatencyEstimate:
    """Estimate a program whose steps follow each other; the works of a step run on different cores."""
    layers = tuple(_step_time([_layer_time(work, target) for work in step]) for step in steps)
    return LatencyEstimate(target, layers, host_bytes, transfers, images, cores)


def _step_time(times: Sequence[LayerTime]) -> LayerTime:
    """Return the time of what several cores do at once: the slowest of each unit, one external memory for all."""
    first, *others = times
    if not others:
        return first
    works = [time.work for time in times]
    work = replace(
        first.work,
        macs=sum(work.macs for work in works),
        dram_read=sum(work.dram_read for work in works),
        dram_write=sum(work.dram_write for work in works),
        l2_bytes=sum(work.l2_bytes for work in works),
    )
    return LayerTime(
        work,
        mac_s=max(time.mac_s for time in times),
        vec_s=max(time.vec_s for time in times),
        mfu_s=max(time.mfu_s for time in times),
        l2_s=max(time.l2_s for time in times),
        dram_s=sum(time.dram_s for time in times),
    )


def _layer_time(work: LayerWork, target: Target) -> LayerTime:
    hertz = target.clock.ghz * 1e9
    core = target.core
    vec_cycles = work.vec_i8 / core.vec.lanes_i8 + work.vec_i16 / core.vec.lanes_i16 + work.vec_i32 / core.vec.lanes_i32
    return LayerTime(
        work=work,
        mac_s=_mac_cycles(work, target) / hertz,
        vec_s=vec_cycles / hertz,
        mfu_s=work.mfu_elements * work.mfu_passes / core.mfu.lanes / hertz,
        l2_s=work.l2_bytes / (target.l2.bytes_per_cycle * hertz),
        dram_s=(work.dram_read + work.dram_write) / target.dram.sustained_bytes_per_s,
    )


def _mac_cycles(work: LayerWork, target: Target) -> float:
    if not work.macs:
        return 0.0
    mac = target.core.mac
    if work.groups > 1 and work.in_channels == 1:
        return mac.fill_cycles + work.planes * work.macs / mac.depthwise_per_cycle
    tiles = (
        _tiles(work.pixels, mac.tile_pixels)
        * _tiles(work.in_channels, mac.tile_in_channels)
        * _tiles(work.out_channels, mac.tile_out_channels)
    )
    return mac.fill_cycles + work.planes * work.groups * work.taps * tiles


def _tiles(size: int, tile: int) -> int:
    return -(-size // tile)
