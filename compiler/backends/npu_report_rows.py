"""Backends: table rows and figures of the cost of a simulated run on the NPU."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tlf.runtime.npu import Report

Row = tuple[str, str]


def report_rows(report: Report) -> Sequence[Row]:
    """Return the main figures of a report, as pairs of a title and a text."""
    from tlf.runtime.npu.report_format import format_stall_shares, format_traffic_ratios

    total = max(report.cycles, 1)
    result = [
        ("cycles", f"{report.cycles:,}"),
        ("time", f"{report.seconds * 1e6:,.1f} us at {report.clock_ghz:g} GHz"),
        ("lower bound", f"{report.bound:,} cycles"),
    ]
    if report.floor.cycles:
        roofline = f"{report.floor.cycles:,} cycles; gap {report.gap:.2f}x"
        result.append(("roofline bound", roofline))
    result.append(("instructions", f"{sum(report.instructions.values()):,}"))
    busy = {name: cycles for name, cycles in report.busy.items() if cycles}
    shares = [
        f"{name} {cycles / (total * report.copies.get(name, 1)):.1%}"
        for name, cycles in busy.items()
    ]
    if shares:
        busiest = max(busy, key=lambda name: busy[name])
        result.append(("busy", ", ".join(shares)))
        if waits := format_stall_shares(report, busiest):
            result.append(("stalled", f"{busiest} for {', '.join(waits)}"))
    for name, traffic in report.traffic.items():
        text = f"{traffic.read:,} read, {traffic.written:,} written"
        if name in report.peak:
            text += f"; peak use {report.peak[name]:,}"
        if name == report.home:
            moved, bus = format_traffic_ratios(report, name)
            text += f"; {moved} of the compulsory bytes, {bus} on the bus"
        result.append((f"{name} bytes", text))
    return result


def report_figures(report: Report) -> dict[str, float]:
    """
    Return figures of a simulated run by name, such as `cycles`, `seconds`, and bytes by
    memory level as in `L2.read`.
    """
    result: dict[str, float] = {
        "cycles": report.cycles,
        "bound": report.bound,
        "floor": report.floor.cycles,
        "seconds": report.seconds,
        "instructions": sum(report.instructions.values()),
        "macs": report.macs,
    }
    for name, cycles in report.busy.items():
        result[f"{name}.busy"] = cycles
    for name, traffic in report.traffic.items():
        result[f"{name}.read"] = traffic.read
        result[f"{name}.written"] = traffic.written
        result[f"{name}.bus"] = traffic.bus
        if name in report.peak:
            result[f"{name}.peak"] = report.peak[name]
        if name in report.compulsory:
            result[f"{name}.compulsory"] = report.compulsory[name].total
    return result
