"""Metrics of a run of an NPU program: cycles, stalls, traffic and bounds."""

from __future__ import annotations

from dataclasses import dataclass, field

from tlf.machine.roofline_bounds import CompulsoryTraffic, RooflineBound
from tlf.runtime.npu.dtypes import Array

NO_FLOOR = RooflineBound(0, 0, 0)


@dataclass
class Traffic:
    """Bytes moved from and to one level."""

    read: int = 0
    """Payload read."""
    written: int = 0
    """Payload written."""
    bus_read: int = 0
    """Bytes on the bus for what is read, whole bursts."""
    bus_written: int = 0
    """Bytes on the bus for what is written, whole bursts."""

    @property
    def payload(self) -> int:
        """Payload in both directions."""
        return self.read + self.written

    @property
    def bus(self) -> int:
        """Bytes on the bus in both directions."""
        return self.bus_read + self.bus_written


@dataclass(frozen=True, slots=True)
class Event:
    """One instruction on one engine."""

    engine: str
    start: int
    """Cycle."""
    end: int
    """Cycle."""
    line: int
    text: str


@dataclass(frozen=True)
class Segment:
    """An instruction that stands in no loop, or a loop."""

    line: int
    end: int
    """Cycle at which the engines have completed it, and all before it."""
    origins: frozenset[str]
    """The places in the source that what moves or computes in it comes from."""


@dataclass
class RunMetrics:
    """
    The results of a run, and what they cost, as numbers.
    """

    cycles: int = 0
    """From the first instruction until all engines are idle."""
    clock_ghz: float = 1.0
    outputs: dict[str, Array] = field(default_factory=dict[str, Array])
    """Arrays by name; empty if only the time was asked for."""
    copies: dict[str, int] = field(default_factory=dict[str, int])
    """Number of copies of each engine; all figures are of these together."""
    busy: dict[str, int] = field(default_factory=dict[str, int])
    """Cycles that each engine worked."""
    stalls: dict[str, dict[str, int]] = field(default_factory=dict[str, dict[str, int]])
    """
    Cycles that each engine stood still before its last work, by cause: the engine whose
    signal it waited for, the shared level that was in use, or `issue`, the control
    processor.
    """
    traffic: dict[str, Traffic] = field(default_factory=dict[str, Traffic])
    """Bytes moved, by level."""
    peak: dict[str, int] = field(default_factory=dict[str, int])
    """End of the highest byte written, by level."""
    instructions: dict[str, int] = field(default_factory=dict[str, int])
    """Instructions executed, by kind."""
    macs: int = 0
    """Multiply-accumulates."""
    bounds: dict[str, int] = field(default_factory=dict[str, int])
    """
    Cycles that no order of the same instructions can beat: per shared level and per DMA
    engine the bytes on the bus over the bandwidth, per compute engine its work over its
    peak.
    """
    compulsory: dict[str, CompulsoryTraffic] = field(
        default_factory=dict[str, CompulsoryTraffic]
    )
    """Bytes that any program for the task must move, by level with some of them."""
    floor: RooflineBound = NO_FLOOR
    """Roofline bound of the task in cycles, however it is programmed."""
    ridge: float = 0.0
    """Multiply-accumulates per byte of `home` above which the array is what limits."""
    segments: list[Segment] = field(default_factory=list[Segment])
    """Consecutive parts of the program, in order."""
    timeline: list[Event] = field(default_factory=list[Event])
    """Every instruction on an engine, if asked for."""
    live: dict[str, list[tuple[int, int]]] = field(
        default_factory=dict[str, list[tuple[int, int]]]
    )
    """
    If a timeline is asked for, the bytes of memories near the engines that hold what is
    needed later, all cores together: by level, at which cycle they change, and to what.
    """

    @property
    def bound(self) -> int:
        """The greatest of the lower bounds."""
        return max(self.bounds.values(), default=0)

    @property
    def seconds(self) -> float:
        """The time at the machine's clock."""
        return self.cycles / (self.clock_ghz * 1e9)

    @property
    def gap(self) -> float:
        """Ratio of the cycles of the run to the lower bound of the machine."""
        return self.cycles / max(self.floor.cycles, 1)

    @property
    def home(self) -> str | None:
        """The level that must move the most: where inputs and outputs are."""
        sizes = {name: each.total for name, each in self.compulsory.items()}
        found = max(sizes, key=lambda name: sizes[name], default=None)
        return found if found is not None and sizes[found] else None

    @property
    def intensity(self) -> float | None:
        """Multiply-accumulates per byte moved from and to `home`."""
        if self.home is None:
            return None
        return self.macs / max(self.traffic[self.home].payload, 1)
