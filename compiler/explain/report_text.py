"""Text format of the report of `tlf-explain`."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator, Sequence

from tlf.compiler.explain.report_data import (
    Alternative,
    Figures,
    Function,
    Group,
    Member,
    Memory,
)
from tlf.compiler.explain.why_not_fused import Binding, Verdict
from tlf.runtime.npu.report_format import align_columns

WIDTH = 96


def format_overview(function: Function) -> Iterator[str]:
    """Yield a line for each group, and one for the function."""
    count = len(function.groups)
    groups = f"{count} group{'s' if count != 1 else ''}"
    yield f"@{function.name} on {function.target}, {groups}"
    header = [
        "group",
        "lower bound",
        "bound by",
        "predicted",
        "gap",
        "moved",
        "spent on",
    ]
    simulated = function.simulated
    if simulated is not None:
        header += ["simulated", "gap"]
    rows = [_format_row(each, simulated is not None) for each in function.groups]
    rows.append(
        ["in all", *_format_figures(function.figures), "-", *_simulated_cells(function)]
    )
    yield from align_columns(header, rows)
    if function.unfused is not None and function.gain is not None:
        unfused = function.unfused
        yield (
            f"every group of graph-group by itself would take {unfused.cycles:,} "
            f"cycles, {function.gain:.2f}x as long, and move {unfused.bytes:,} bytes"
        )
    for each in function.searches:
        proof = "the best by the model" if each.exact else f"not proven: {each.reason}"
        cycles = f"{each.cost.cycles:,} cycles, groups beside each other"
        yield f"found by {each.strategy}, {cycles}: {proof}"
        if (times := each.rehearsed) is not None:
            yield (
                f"evaluated: {times.programs} programs; by the event model the chosen "
                f"one takes {times.cycles:,} cycles, "
                f"the best by the formula {times.first:,}"
            )


def _format_row(group: Group, is_simulated: bool) -> list[str]:
    row = [f"{group.number} {group.title}", *_format_figures(group.figures)]
    row.append(group.binds)
    if (cycles := group.simulated_cycles) is not None:
        gap = cycles / max(group.figures.bound_cycles, 1)
        return [*row, f"{cycles:,}", f"{gap:.2f}x"]
    return [*row, "-", "-"] if is_simulated else row


def _simulated_cells(function: Function) -> list[str]:
    if (simulated := function.simulated) is None:
        return []
    gap = simulated.cycles / max(function.figures.bound_cycles, 1)
    return [f"{simulated.cycles:,}", f"{gap:.2f}x"]


def _format_figures(figures: Figures) -> list[str]:
    return [
        f"{figures.bound_cycles:,}",
        figures.bound_by,
        f"{figures.cycles:,}",
        f"{figures.gap:.2f}x",
        f"{figures.bytes:,}",
    ]


def format_group(group: Group) -> Iterator[str]:
    """Yield all lines of the report of one group."""
    figures, plan = group.figures, group.plan
    yield f"group {group.number}: {group.title}"
    yield from _wrap_lines("computes", ", ".join(_list_by_name(group.operations)))
    if locations := _format_locations(group.operations):
        yield from _wrap_lines("from", locations)
    yield from _wrap_lines("plan", _format_plan(group))
    if plan.kept:
        yield from _wrap_lines("retains", f"{', '.join(plan.kept)} in {plan.level}")
    text = (
        f"{figures.cycles:,} cycles: moves {group.moves:,}, "
        f"computation {group.computation:,}"
    )
    yield from _wrap_lines("predicted", text)
    if group.simulated_cycles is not None:
        yield from _wrap_lines("simulated", f"{group.simulated_cycles:,} cycles")
    text = (
        f"{figures.bound_cycles:,} cycles ({figures.bound_by}), "
        f"{figures.bound_cycles_in_passes:,} in whole passes; gap {figures.gap:.2f}x"
    )
    yield from _wrap_lines("lower bound", text)
    text = f"{figures.bytes:,} bytes, {figures.bound_bytes:,} lower bound"
    yield from _wrap_lines("moves", text)
    products, elements = group.products_again, group.elements_again
    text = f"{products:.1%} of products, {elements:.1%} of elements"
    yield from _wrap_lines("recomputes", text)
    yield from _format_memory(group.memory)
    yield from _format_alternatives(group.instead)


def _format_plan(group: Group) -> str:
    plan = group.plan
    parts = [f"tile {list(plan.tile)} in {plan.level}"]
    if plan.reduce:
        parts.append(f"steps {list(plan.reduce)} of its reduction")
    parts.append(f"{plan.stages} in flight")
    if plan.roll is not None:
        parts.append(f"rolls along axis {plan.roll}")
    if plan.leads:
        parts.append("computes windows an iteration ahead")
    return ", ".join(parts)


def _format_memory(memory: Memory) -> Iterator[str]:
    share = memory.height / memory.capacity
    text = f"peak {memory.height:,} of {memory.capacity:,} bytes, {share:.1%}"
    yield from _wrap_lines(memory.level, text)
    parts = {**memory.uses, "fragmentation": memory.fragmentation}
    rows = [
        [
            f"    {name.replace('_', ' ')}",
            f"{size:,}",
            f"{size / max(memory.height, 1):.1%}",
        ]
        for name, size in parts.items()
        if size
    ]
    widths = [max(len(row[n]) for row in rows) for n in range(3)] if rows else []
    for row in rows:
        name, size, part = row
        yield f"{name:<{widths[0]}}  {size:>{widths[1]}}  {part:>{widths[2]}}"


def _format_alternatives(others: Sequence[Alternative]) -> Iterator[str]:
    for number, each in enumerate(others):
        tensors = f", {each.kept} tensors kept" if each.kept else ""
        if each.kept == 1:
            tensors = ", 1 tensor kept"
        text = (
            f"{each.title}{tensors}: {each.cycles:,} cycles ({each.more:+.1%}) and "
            f"{each.bytes:,} bytes in all"
        )
        yield from _wrap_lines("" if number else "instead", text)


def _wrap_lines(title: str, text: str) -> list[str]:
    lines = textwrap.wrap(
        text, WIDTH - 14, break_long_words=False, break_on_hyphens=False
    )
    return [
        f"  {title if not number else '':<10}  {line}".rstrip()
        for number, line in enumerate(lines)
    ]


def _list_by_name(operations: Iterable[Member]) -> Iterator[str]:
    """Yield operations in order, grouped by their originating operation."""
    together: list[Member] = []
    for each in operations:
        if together and each.name != together[-1].name:
            yield _format_operations(together)
            together = []
        together.append(each)
    if together:
        yield _format_operations(together)


def _format_operations(operations: Sequence[Member]) -> str:
    names = " ".join(each.operation for each in operations)
    name = operations[0].name
    return names if name is None else f"{name} ({names})"


def _format_locations(operations: Sequence[Member]) -> str:
    """Return the range of source locations of operations, from first to last."""
    locations = [each.place for each in operations if each.place is not None]
    if not locations:
        return ""
    first, last = (pick(locations, key=_parse_location) for pick in (min, max))
    if first == last:
        return first
    file = _parse_location(first)[0]
    return f"{first} to {last.removeprefix(f'{file}:')}"


def _parse_location(place: str) -> tuple[str, int, int]:
    file, line, column = place.rsplit(":", 2)
    return file, int(line), int(column)


def format_verdict(names: tuple[str, str], verdict: Verdict) -> Iterator[str]:
    """Yield the lines that explain why two operations are not in one group."""
    if verdict.binding is Binding.NOTHING:
        yield f"{names[0]} and {names[1]}: {verdict.reason}"
        return
    yield f"{names[0]} and {names[1]}: {verdict.binding} binds"
    yield from _wrap_lines("because", verdict.reason)
    if verdict.best is not None:
        text = f"{verdict.best.cycles:,} cycles, {verdict.best.bytes:,} bytes"
        yield from _wrap_lines("chosen", text)
    if verdict.together is not None:
        text = f"{verdict.together.cycles:,} cycles, {verdict.together.bytes:,} bytes"
        yield from _wrap_lines("together", text)
    if verdict.stake is not None:
        yield from _wrap_lines("at stake", f"{abs(verdict.stake):,} cycles")
    change = verdict.change
    if change is None:
        can_grow = verdict.binding in (Binding.CAPACITY, Binding.COST)
        remedy = "larger capacity" if can_grow else "option or capacity"
        yield from _wrap_lines("change", f"no {remedy} lets them run together")
        return
    text = (
        f"{change.text}: these groups take {change.after.cycles:,} cycles then, "
        f"instead of {change.before.cycles:,}"
    )
    yield from _wrap_lines("change", text)
