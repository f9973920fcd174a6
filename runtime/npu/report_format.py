"""Simulator: formats of run reports as a text table, JSON, and a trace for a viewer."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict

from tlf.runtime.npu.run_metrics import RunMetrics


def format_report_table(report: RunMetrics) -> str:
    """Return the report as a text table."""
    total = max(report.cycles, 1)
    lines = [
        f"{report.cycles:,} cycles, {report.seconds * 1e6:,.3f} us, lower bound "
        f"{report.bound:,} cycles ({report.bound / total:.1%})",
        *_format_roofline_bound(report),
        f"{report.macs:,} multiply-accumulates{_format_arithmetic_intensity(report)}",
        "",
    ]
    rows = [
        [
            name,
            f"{cycles:,}",
            _format_busy_share(report, name, cycles),
            f"  {_format_stalls(report, name)}",
        ]
        for name, cycles in report.busy.items()
    ]
    lines += align_text_columns(
        ["engine", "busy cycles", "busy", "  stalled for"], rows
    )
    lines += ["", *_format_traffic(report)]
    lines += ["", _format_counts("lower bounds", report.bounds)]
    lines += ["", _format_counts("instructions", report.instructions)]
    return "\n".join(lines)


def _format_roofline_bound(report: RunMetrics) -> list[str]:
    """Return a line with the memory and compute bounds and the gap; none if it is 0."""
    floor = report.floor
    if not floor.cycles:
        return []
    return [
        f"roofline bound: {floor.cycles:,} cycles, memory {floor.memory:,}, compute "
        f"{floor.compute:,}, in whole passes {floor.array:,}; gap {report.gap:.2f}x"
    ]


def _format_arithmetic_intensity(report: RunMetrics) -> str:
    """Return multiply-accumulates per byte beside the ridge, if both are known."""
    if report.intensity is None or not report.ridge:
        return ""
    side = "memory" if report.intensity < report.ridge else "compute"
    return (
        f", {report.intensity:,.1f} per byte of {report.home}, ridge at "
        f"{report.ridge:,.1f}: {side}-bound"
    )


def _format_busy_share(report: RunMetrics, engine: str, cycles: int) -> str:
    """Return the share of the time of an engine, averaged over its copies."""
    return f"{cycles / (max(report.cycles, 1) * report.copies.get(engine, 1)):.1%}"


def format_stall_shares(report: RunMetrics, engine: str) -> list[str]:
    """
    Return the causes of an engine's stalls with their shares of the time, longest
    first.
    """
    total = max(report.cycles, 1) * report.copies.get(engine, 1)
    causes = sorted(report.stalls.get(engine, {}).items(), key=lambda each: -each[1])
    return [
        f"{name} {cycles / total:.1%}"
        for name, cycles in causes
        if cycles > total / 2000
    ]


def _format_stalls(report: RunMetrics, engine: str) -> str:
    return ", ".join(format_stall_shares(report, engine)) or "nothing"


def _format_traffic(report: RunMetrics) -> list[str]:
    """Return a table of the bytes read, written and compulsory in each level."""
    header = ["level", "read", "written", "bus read", "bus written", "peak"]
    header += ["compulsory", "moved", "on the bus"]
    rows: list[list[str]] = []
    for name, traffic in report.traffic.items():
        amounts = asdict(traffic).values()
        row = [name, *(f"{amount:,}" for amount in amounts)]
        row.append(f"{report.peak[name]:,}" if name in report.peak else "-")
        compulsory = report.compulsory[name].total if name in report.compulsory else 0
        row += (
            [f"{compulsory:,}", *format_traffic_ratios(report, name)]
            if compulsory
            else ["-"] * 3
        )
        rows.append(row)
    return align_text_columns(header, rows)


def format_traffic_ratios(report: RunMetrics, level: str) -> tuple[str, str]:
    """
    Return the payload and the bytes on the bus relative to the compulsory bytes, such
    as `1.25x`.
    """
    compulsory = max(report.compulsory[level].total, 1)
    traffic = report.traffic[level]
    return f"{traffic.payload / compulsory:.2f}x", f"{traffic.bus / compulsory:.2f}x"


def _format_counts(title: str, counts: Mapping[str, int]) -> str:
    words = ", ".join(f"{name} {count:,}" for name, count in counts.items())
    return f"{title}: {words or 'none'}"


def align_text_columns(
    header: Sequence[str], rows: Sequence[Sequence[str]]
) -> list[str]:
    """
    Align rows of text: the first column and cells that start with a blank to the left,
    others to the right.
    """
    lines = [header, *rows]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return [
        "  ".join(
            cell.ljust(width) if not index or cell[:1] == " " else cell.rjust(width)
            for index, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in lines
    ]


def format_report_json(report: RunMetrics) -> str:
    """Return the metrics of a run, without outputs and timeline, as JSON text."""
    keys = (
        "cycles",
        "seconds",
        "clock_ghz",
        "bound",
        "bounds",
        "gap",
        "macs",
        "home",
        "intensity",
        "ridge",
        "copies",
        "busy",
        "stalls",
        "peak",
        "instructions",
    )
    data: dict[str, object] = {key: getattr(report, key) for key in keys}
    data["floor"] = {**asdict(report.floor), "cycles": report.floor.cycles}
    data["compulsory"] = {
        name: asdict(each) for name, each in report.compulsory.items()
    }
    data["traffic"] = {name: asdict(each) for name, each in report.traffic.items()}
    return json.dumps(data, indent=2)


def format_timeline_trace(report: RunMetrics) -> str:
    """
    Return the timeline and live bytes as JSON text in the Trace Event format, in
    cycles.
    """
    names = [
        f"{name}.{core}" if report.copies[name] > 1 else name
        for name in report.busy
        for core in range(report.copies[name])
    ]
    threads = {name: index for index, name in enumerate(names)}
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
    for event in report.timeline:
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
    events += _list_live_byte_events(report)
    return json.dumps({"traceEvents": events})


def _list_live_byte_events(report: RunMetrics) -> list[dict[str, object]]:
    """Return the events that count the live bytes of each level."""
    events: list[dict[str, object]] = []
    for level, counts in report.live.items():
        for cycle, size in counts:
            events.append(
                {
                    "ph": "C",
                    "name": f"{level} live",
                    "pid": 0,
                    "ts": cycle,
                    "args": {"bytes": size},
                }
            )
    return events
