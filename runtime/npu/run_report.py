"""Simulator: report of a run of an NPU program, as data and as text."""

from __future__ import annotations

from collections.abc import Mapping

from tlf.machine.event_model import EventModel
from tlf.machine.instruction_costs import Key
from tlf.machine.machine_spec import DmaEngine, Machine
from tlf.machine.roofline_bounds import cycle_bounds_by_unit, roofline_bound
from tlf.runtime.npu.compulsory_traffic import compulsory_traffic_by_level
from tlf.runtime.npu.npu_program import Program
from tlf.runtime.npu.report_format import (
    format_report_json,
    format_report_table,
    format_timeline_trace,
)
from tlf.runtime.npu.run_metrics import RunMetrics, Traffic


class Report(RunMetrics):
    """Results of a run with its costs, and their text formats."""

    @staticmethod
    def from_finished_run(
        program: Program,
        model: EventModel,
        totals: Mapping[Key, int],
        peak: dict[str, int],
    ) -> Report:
        """
        Return the report of a run; `totals` are the sums of the instruction costs.
        """
        machine = program.machine
        compulsory = compulsory_traffic_by_level(program, totals)
        report = Report(
            cycles=model.end_time,
            clock_ghz=machine.clock_ghz,
            copies={name: machine.engine_copies(name) for name in machine.engines},
            busy={name: totals.get(("busy", name), 0) for name in machine.engines},
            stalls=model.stall_cycles_by_cause(),
            traffic=_traffic_by_level(machine, totals),
            peak=peak,
            instructions=_cost_totals_of_kind(totals, "count"),
            macs=sum(_cost_totals_of_kind(totals, "macs").values()),
            bounds=cycle_bounds_by_unit(machine, totals),
            compulsory=compulsory,
            floor=roofline_bound(machine, totals, compulsory),
        )
        if report.home is not None and report.floor.compute:
            rate = report.macs / report.floor.compute
            report.ridge = rate / machine.levels[report.home].bandwidth
        return report

    def table(self) -> str:
        """Return the report as a text table."""
        return format_report_table(self)

    def json(self) -> str:
        """Return all figures as JSON, without the outputs and the timeline."""
        return format_report_json(self)

    def trace(self) -> str:
        """
        Return the timeline in the Trace Event format, as JSON; one microsecond in the
        viewer is one cycle.
        """
        return format_timeline_trace(self)


def _traffic_by_level(
    machine: Machine, totals: Mapping[Key, int]
) -> dict[str, Traffic]:
    """Sum up the payload and bus bytes of all DMA engines in each memory level."""
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


def _cost_totals_of_kind(totals: Mapping[Key, int], kind: str) -> dict[str, int]:
    return {name: count for (each, name), count in totals.items() if each == kind}
