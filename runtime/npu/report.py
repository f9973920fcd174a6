"""What a run of an NPU program found out."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field

from tlf.machine.bounds import bounds
from tlf.machine.costs import Key
from tlf.machine.model import EventModel
from tlf.machine.parts import DmaEngine, Machine
from tlf.runtime.npu.dtypes import Array


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


@dataclass
class Report:
    """
    The results of a run, and what they cost.
    """

    cycles: int = 0
    """From the first instruction until all engines are idle."""
    clock_ghz: float = 1.0
    outputs: dict[str, Array] = field(default_factory=dict[str, Array])
    """Arrays by name; empty if only the time was asked for."""
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
    timeline: list[Event] = field(default_factory=list[Event])
    """Every instruction on an engine, if asked for."""

    @staticmethod
    def of(
        machine: Machine,
        model: EventModel,
        totals: Mapping[Key, int],
        peak: dict[str, int],
    ) -> Report:
        """What a run took whose instructions add up to `totals`."""
        return Report(
            cycles=model.end,
            clock_ghz=machine.clock_ghz,
            busy={name: totals.get(("busy", name), 0) for name in machine.engines},
            stalls=model.stalled(),
            traffic=_traffic(machine, totals),
            peak=peak,
            instructions=_of_kind(totals, "count"),
            macs=sum(_of_kind(totals, "macs").values()),
            bounds=bounds(machine, totals),
        )

    @property
    def bound(self) -> int:
        """The greatest of the lower bounds."""
        return max(self.bounds.values(), default=0)

    @property
    def seconds(self) -> float:
        """The time at the machine's clock."""
        return self.cycles / (self.clock_ghz * 1e9)

    def table(self) -> str:
        """Return a short text for people."""
        total = max(self.cycles, 1)
        lines = [
            f"{self.cycles:,} cycles, {self.seconds * 1e6:,.3f} us, lower bound "
            f"{self.bound:,} cycles ({self.bound / total:.1%})",
            f"{self.macs:,} multiply-accumulates",
            "",
        ]
        lines += _columns(
            ["engine", "busy cycles", "busy"],
            [
                [name, f"{cycles:,}", f"{cycles / total:.1%}"]
                for name, cycles in self.busy.items()
            ],
        )
        lines += ["", *self._traffic_lines()]
        lines += ["", *_counts("lower bounds", self.bounds)]
        lines += ["", *_counts("instructions", self.instructions)]
        return "\n".join(lines)

    def _traffic_lines(self) -> list[str]:
        header = ["level", "read", "written", "bus read", "bus written", "peak"]
        rows = [
            [name]
            + [
                f"{count:,}"
                for count in (
                    traffic.read,
                    traffic.written,
                    traffic.bus_read,
                    traffic.bus_written,
                    self.peak.get(name, 0),
                )
            ]
            for name, traffic in self.traffic.items()
        ]
        return _columns(header, rows)

    def trace(self) -> str:
        """
        Return the timeline in the Trace Event format, as JSON; one microsecond in the
        viewer is one cycle.
        """
        threads = {name: index for index, name in enumerate(self.busy)}
        events: list[dict[str, object]] = [
            {
                "ph": "M",
                "name": "thread_name",
                "pid": 0,
                "tid": thread,
                "args": {"name": name},
            }
            for name, thread in threads.items()
        ]
        for event in self.timeline:
            entry: dict[str, object] = {
                "ph": "X",
                "name": " ".join(event.text.split()[:2]),
                "pid": 0,
                "tid": threads[event.engine],
                "ts": event.start,
                "dur": event.end - event.start,
                "args": {"line": event.line, "text": event.text},
            }
            events.append(entry)
        return json.dumps({"traceEvents": events})


def _traffic(machine: Machine, totals: Mapping[Key, int]) -> dict[str, Traffic]:
    traffic = {name: Traffic() for name in machine.levels}
    for name, engine in machine.engines.items():
        if not isinstance(engine, DmaEngine):
            continue
        source, destination = traffic[engine.source], traffic[engine.destination]
        source.read += totals.get(("read", name), 0)
        source.bus_read += totals.get(("bus read", name), 0)
        destination.written += totals.get(("wrote", name), 0)
        destination.bus_written += totals.get(("bus wrote", name), 0)
    return traffic


def _of_kind(totals: Mapping[Key, int], kind: str) -> dict[str, int]:
    return {name: count for (each, name), count in totals.items() if each == kind}


def _counts(title: str, counts: dict[str, int]) -> list[str]:
    return [
        f"{title}: "
        + (", ".join(f"{name} {count:,}" for name, count in counts.items()) or "none")
    ]


def _columns(header: list[str], rows: list[list[str]]) -> list[str]:
    """Align rows of text: the first column to the left, the others to the right."""
    table = [header, *rows]
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    return [
        "  ".join(
            cell.rjust(width) if index else cell.ljust(width)
            for index, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in table
    ]
