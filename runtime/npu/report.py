"""Results of a run of an NPU program."""

from __future__ import annotations

from collections.abc import Mapping

from tlf.machine.bounds import bounds, floor
from tlf.machine.costs import Key
from tlf.machine.model import EventModel
from tlf.machine.parts import DmaEngine, Machine
from tlf.runtime.npu.compulsory import compulsory
from tlf.runtime.npu.figures import Figures, Traffic
from tlf.runtime.npu.program import Program
from tlf.runtime.npu.show import as_json, table, trace


class Report(Figures):
    """
    The results of a run, what they cost, and both as text.
    """

    @staticmethod
    def of(
        program: Program,
        model: EventModel,
        totals: Mapping[Key, int],
        peak: dict[str, int],
    ) -> Report:
        """Build the report of a run whose instructions' costs sum up to `totals`."""
        machine = program.machine
        moved = compulsory(program, totals)
        report = Report(
            cycles=model.end,
            clock_ghz=machine.clock_ghz,
            copies={name: machine.copies(name) for name in machine.engines},
            busy={name: totals.get(("busy", name), 0) for name in machine.engines},
            stalls=model.stalled(),
            traffic=_traffic(machine, totals),
            peak=peak,
            instructions=_of_kind(totals, "count"),
            macs=sum(_of_kind(totals, "macs").values()),
            bounds=bounds(machine, totals),
            compulsory=moved,
            floor=floor(machine, totals, moved),
        )
        if report.home is not None and report.floor.compute:
            rate = report.macs / report.floor.compute
            report.ridge = rate / machine.levels[report.home].bandwidth
        return report

    def table(self) -> str:
        """Return a short text for people."""
        return table(self)

    def json(self) -> str:
        """Return all figures as JSON, but not the outputs and the timeline."""
        return as_json(self)

    def trace(self) -> str:
        """
        Return the timeline in the Trace Event format, as JSON; one microsecond in the
        viewer is one cycle.
        """
        return trace(self)


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
