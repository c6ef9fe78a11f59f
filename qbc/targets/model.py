"""Typed machine descriptions: what a target file says, and how sure we are of each fact."""

from __future__ import annotations

from dataclasses import dataclass, field

STATUSES = {"P": "public", "D": "derived", "A": "assumed"}


@dataclass(frozen=True)
class Fact:
    """One leaf of a target file: value, status (public, derived or assumed) and the reason."""

    value: object
    status: str
    reason: str


@dataclass(frozen=True)
class Mac:
    """MAC array of one core; counts are per clock cycle."""

    per_cycle: int
    tile_pixels: int
    tile_in_channels: int
    tile_out_channels: int
    depthwise_per_cycle: int
    fill_cycles: int


@dataclass(frozen=True)
class Vec:
    """Vector unit of one core: elements per cycle by storage type."""

    lanes_i8: int
    lanes_i16: int
    lanes_i32: int


@dataclass(frozen=True)
class Mfu:
    """Multi-function unit of one core: elements per cycle, and passes over the data by function."""

    present: bool
    lanes: int
    passes_lut16: int
    passes_softmax: int
    passes_layer_norm: int
    passes_div: int


@dataclass(frozen=True)
class L1:
    """Local memory of one core."""

    bytes: int
    latency_cycles: int


@dataclass(frozen=True)
class Dma:
    """DMA engine of one core."""

    bytes_per_cycle: int
    setup_cycles: int


@dataclass(frozen=True)
class Core:
    """One NPU core."""

    mac: Mac
    vec: Vec
    mfu: Mfu
    l1: L1
    dma: Dma


@dataclass(frozen=True)
class Align:
    """Alignment of channels (elements) and buffers (bytes)."""

    channels: int
    buffer_bytes: int


@dataclass(frozen=True)
class Limits:
    """Largest operator parameters that one command takes."""

    kernel: int
    stride: int
    dilation: int
    norm_elements: int
    softmax_elements: int


@dataclass(frozen=True)
class Topology:
    """Clusters and cores."""

    clusters: int
    cores_per_cluster: int
    global_cores_per_cluster: int

    @property
    def cores(self) -> int:
        """Number of local cores of the device."""
        return self.clusters * self.cores_per_cluster


@dataclass(frozen=True)
class Clock:
    """Clock rates in GHz."""

    ghz: float
    boost_ghz: float


@dataclass(frozen=True)
class OnChip:
    """A shared on-chip memory (0 bytes: the device has none)."""

    bytes: int
    bytes_per_cycle: int


@dataclass(frozen=True)
class Dram:
    """External memory; `efficiency` is the sustained share of the peak."""

    peak_gb_per_s: float
    efficiency: float
    bytes: int
    latency_cycles: int

    @property
    def sustained_bytes_per_s(self) -> float:
        """Sustained bandwidth in bytes per second."""
        return self.peak_gb_per_s * 1e9 * self.efficiency


@dataclass(frozen=True)
class Host:
    """Host link and fixed costs of one infer call, in milliseconds."""

    link_gb_per_s: float
    link_efficiency: float
    transfer_ms: float
    fixed_ms: float
    float_boundary: bool


@dataclass(frozen=True)
class Target:
    """One device of the family."""

    name: str
    topology: Topology
    clock: Clock
    peak_tops: float
    core: Core
    align: Align
    limits: Limits
    l2: OnChip
    l3: OnChip
    dram: Dram
    host: Host
    modes: tuple[str, ...]
    facts: dict[str, Fact] = field(default_factory=dict, compare=False)
    digest: str = ""

    def status_counts(self) -> dict[str, int]:
        """Return how many facts are public, derived and assumed."""
        counts = dict.fromkeys(STATUSES.values(), 0)
        for fact in self.facts.values():
            counts[fact.status] += 1
        return counts
