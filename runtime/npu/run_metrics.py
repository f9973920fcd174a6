"""Simulator: metrics of a run of an NPU program (cycles, stalls, traffic, bounds)."""

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
    """Bytes on the bus for reads, in whole bursts."""
    bus_written: int = 0
    """Bytes on the bus for writes, in whole bursts."""

    @property
    def payload(self) -> int:
        """Payload in both directions."""
        return self.read + self.written

    @property
    def bus(self) -> int:
        """Bytes on the bus in both directions."""
        return self.bus_read + self.bus_written


@dataclass(frozen=True, slots=True)
class EngineEvent:
    """Execution of one instruction on one engine, from start to end cycle."""

    engine: str
    start: int
    """Start cycle."""
    end: int
    """End cycle."""
    line: int
    text: str


@dataclass(frozen=True)
class ProgramSegment:
    """Completion time and sources of a top-level instruction or a top-level loop."""

    line: int
    end: int
    """Cycle at which the engines have completed the segment and all before it."""
    origins: frozenset[str]
    """Source locations of the engine instructions of the segment."""


@dataclass
class RunMetrics:
    """Results of a run, with its costs as numbers."""

    cycles: int = 0
    """Cycles from the first instruction until all engines are idle."""
    clock_ghz: float = 1.0
    outputs: dict[str, Array] = field(default_factory=dict[str, Array])
    """Arrays by name; empty if only the time was requested."""
    copies: dict[str, int] = field(default_factory=dict[str, int])
    """Number of copies of each engine; all figures are sums over them."""
    busy: dict[str, int] = field(default_factory=dict[str, int])
    """Busy cycles of each engine."""
    stalls: dict[str, dict[str, int]] = field(default_factory=dict[str, dict[str, int]])
    """
    Cycles that each engine was stalled before its last work, by cause: the engine whose
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
    Lower bounds in cycles for any order of the same instructions: per shared level and
    per DMA engine the bytes on the bus over the bandwidth, per compute engine its work
    over its peak.
    """
    compulsory: dict[str, CompulsoryTraffic] = field(
        default_factory=dict[str, CompulsoryTraffic]
    )
    """Bytes that any program for the task must move, by level with such bytes."""
    floor: RooflineBound = NO_FLOOR
    """Roofline bound of the task in cycles, for any program."""
    ridge: float = 0.0
    """Multiply-accumulates per byte of `home` above which the task is compute-bound."""
    segments: list[ProgramSegment] = field(default_factory=list[ProgramSegment])
    """Consecutive segments of the program, in order."""
    timeline: list[EngineEvent] = field(default_factory=list[EngineEvent])
    """Every instruction on an engine, if requested."""
    live: dict[str, list[tuple[int, int]]] = field(
        default_factory=dict[str, list[tuple[int, int]]]
    )
    """
    Number of live bytes in inner levels over time, if a timeline is requested, summed
    over cores: by level, pairs of the cycle of a change and the new number.
    """

    @property
    def bound(self) -> int:
        """The largest of the lower bounds."""
        return max(self.bounds.values(), default=0)

    @property
    def seconds(self) -> float:
        """Time in seconds at the clock of the machine."""
        return self.cycles / (self.clock_ghz * 1e9)

    @property
    def gap(self) -> float:
        """Ratio of the cycles of the run to the roofline bound."""
        return self.cycles / max(self.floor.cycles, 1)

    @property
    def home(self) -> str | None:
        """Level with the most compulsory bytes: that of inputs and outputs."""
        sizes = {name: each.total for name, each in self.compulsory.items()}
        level = max(sizes, key=lambda name: sizes[name], default=None)
        return level if level is not None and sizes[level] else None

    @property
    def intensity(self) -> float | None:
        """Multiply-accumulates per byte moved from and to `home`."""
        if self.home is None:
            return None
        return self.macs / max(self.traffic[self.home].payload, 1)
