"""Explanation of plans: text format of the report of `tlf-explain`."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator, Sequence

from tlf.compiler.explain.report_data import (
    Alternative,
    Figures,
    Function,
    Group,
    GroupMember,
    Memory,
)
from tlf.compiler.explain.why_not_fused import BindingConstraint, FusionVerdict
from tlf.runtime.npu.report_format import align_text_columns

WIDTH = 96


def format_overview(function: Function) -> Iterator[str]:
    """Yield the table of groups with a total row, then lines about searches."""
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
        "bottleneck",
    ]
    simulated = function.simulated
    if simulated is not None:
        header += ["simulated", "gap"]
    rows = [_format_group_row(each, simulated is not None) for each in function.groups]
    rows.append(
        ["in all", *_format_figures(function.figures), "-", *_simulated_cells(function)]
    )
    yield from align_text_columns(header, rows)
    if function.unfused is not None and function.gain is not None:
        unfused = function.unfused
        yield (
            f"without merging groups of `graph-group`: {unfused.cycles:,} cycles "
            f"({function.gain:.2f}x), {unfused.bytes:,} bytes moved"
        )
    for each in function.searches:
        proof = "the best by the model" if each.exact else f"not proven: {each.reason}"
        cycles = f"{each.cost.cycles:,} cycles, with overlapping groups"
        yield f"found by {each.strategy}, {cycles}: {proof}"
        if (times := each.evaluated) is not None:
            yield (
                f"evaluated: {times.program_count} programs; by the event model the "
                "chosen "
                f"one takes {times.selected_cycles:,} cycles, "
                f"the best by the cost model {times.analytic_best_cycles:,}"
            )


def _format_group_row(group: Group, is_simulated: bool) -> list[str]:
    """Return the overview cells of a group; simulated ones only if `is_simulated`."""
    row = [f"{group.number} {group.title}", *_format_figures(group.figures)]
    row.append(group.bottleneck)
    if (cycles := group.simulated_cycles) is not None:
        gap = cycles / max(group.figures.bound_cycles, 1)
        return [*row, f"{cycles:,}", f"{gap:.2f}x"]
    return [*row, "-", "-"] if is_simulated else row


def _simulated_cells(function: Function) -> list[str]:
    """
    Return the simulated cycles and their ratio to the bound; none if not simulated.
    """
    if (simulated := function.simulated) is None:
        return []
    gap = simulated.cycles / max(function.figures.bound_cycles, 1)
    return [f"{simulated.cycles:,}", f"{gap:.2f}x"]


def _format_figures(figures: Figures) -> list[str]:
    """Return cells: bound in cycles, its resource, prediction, gap and bytes moved."""
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
    yield from _wrap_entry(
        "computes", ", ".join(_group_operations_by_name(group.operations))
    )
    if locations := _format_locations(group.operations):
        yield from _wrap_entry("from", locations)
    yield from _wrap_entry("plan", _format_plan(group))
    if plan.retained:
        yield from _wrap_entry("retains", f"{', '.join(plan.retained)} in {plan.level}")
    text = (
        f"{figures.cycles:,} cycles: moves {group.moves:,}, "
        f"computation {group.computation:,}"
    )
    yield from _wrap_entry("predicted", text)
    if group.simulated_cycles is not None:
        yield from _wrap_entry("simulated", f"{group.simulated_cycles:,} cycles")
    text = (
        f"{figures.bound_cycles:,} cycles ({figures.bound_by}), "
        f"{figures.bound_cycles_quantised:,} in whole passes of the array; "
        f"gap {figures.gap:.2f}x"
    )
    yield from _wrap_entry("lower bound", text)
    text = f"{figures.bytes:,} bytes, {figures.bound_bytes:,} lower bound"
    yield from _wrap_entry("moves", text)
    text = (
        f"{group.recomputed_product_fraction:.1%} of products, "
        f"{group.recomputed_element_fraction:.1%} of elements"
    )
    yield from _wrap_entry("recomputes", text)
    yield from _format_memory(group.memory)
    yield from _format_alternatives(group.alternatives)


def _format_plan(group: Group) -> str:
    """Return tile sizes, iterations in flight, sliding axis and prefetching as text."""
    plan = group.plan
    parts = [f"tile {list(plan.tile)} in {plan.level}"]
    if plan.reduce:
        parts.append(f"reduction tile {list(plan.reduce)}")
    parts.append(f"{plan.stages} in flight")
    if plan.sliding_axis is not None:
        parts.append(f"sliding window along axis {plan.sliding_axis}")
    if plan.prefetch_distance:
        parts.append(f"prefetch distance {plan.prefetch_distance}")
    return ", ".join(parts)


def _format_memory(memory: Memory) -> Iterator[str]:
    """Yield lines: the peak of a level, then each use with its bytes and share."""
    share = memory.peak_bytes / memory.capacity
    text = f"peak {memory.peak_bytes:,} of {memory.capacity:,} bytes, {share:.1%}"
    yield from _wrap_entry(memory.level, text)
    parts = {**memory.uses, "fragmentation": memory.fragmentation}
    rows = [
        [
            f"    {name.replace('_', ' ')}",
            f"{size:,}",
            f"{size / max(memory.peak_bytes, 1):.1%}",
        ]
        for name, size in parts.items()
        if size
    ]
    widths = [max(len(row[n]) for row in rows) for n in range(3)] if rows else []
    for row in rows:
        name, size, part = row
        yield f"{name:<{widths[0]}}  {size:>{widths[1]}}  {part:>{widths[2]}}"


def _format_alternatives(alternatives: Sequence[Alternative]) -> Iterator[str]:
    """
    Yield lines with the total cycles and bytes of the schedule with each alternative.
    """
    for number, each in enumerate(alternatives):
        count = each.resident_count
        tensors = f", {count} resident tensors" if count else ""
        if count == 1:
            tensors = ", 1 resident tensor"
        text = (
            f"{each.title}{tensors}: {each.cycles:,} cycles "
            f"({each.relative_increase:+.1%}) and {each.bytes:,} bytes in all"
        )
        yield from _wrap_entry("" if number else "instead", text)


def _wrap_entry(title: str, text: str) -> list[str]:
    """Return lines of `text` wrapped at `WIDTH`, with `title` in front of the first."""
    lines = textwrap.wrap(
        text, WIDTH - 14, break_long_words=False, break_on_hyphens=False
    )
    return [
        f"  {title if not number else '':<10}  {line}".rstrip()
        for number, line in enumerate(lines)
    ]


def _group_operations_by_name(operations: Iterable[GroupMember]) -> Iterator[str]:
    """Yield operations in order, grouped by their originating operation."""
    together: list[GroupMember] = []
    for each in operations:
        if together and each.name != together[-1].name:
            yield _format_operations(together)
            together = []
        together.append(each)
    if together:
        yield _format_operations(together)


def _format_operations(operations: Sequence[GroupMember]) -> str:
    names = " ".join(each.operation for each in operations)
    name = operations[0].name
    return names if name is None else f"{name} ({names})"


def _format_locations(operations: Sequence[GroupMember]) -> str:
    """Return the range of source locations of operations, from first to last."""
    locations = [each.location for each in operations if each.location is not None]
    if not locations:
        return ""
    first, last = (pick(locations, key=_parse_location) for pick in (min, max))
    if first == last:
        return first
    file = _parse_location(first)[0]
    return f"{first} to {last.removeprefix(f'{file}:')}"


def _parse_location(location: str) -> tuple[str, int, int]:
    file, line, column = location.rsplit(":", 2)
    return file, int(line), int(column)


def format_verdict(names: tuple[str, str], verdict: FusionVerdict) -> Iterator[str]:
    """Yield the lines that explain why two operations are not in one group."""
    if verdict.binding is BindingConstraint.NOTHING:
        yield f"{names[0]} and {names[1]}: {verdict.reason}"
        return
    yield f"{names[0]} and {names[1]}: {verdict.binding} binds"
    yield from _wrap_entry("because", verdict.reason)
    if verdict.best is not None:
        text = f"{verdict.best.cycles:,} cycles, {verdict.best.bytes:,} bytes"
        yield from _wrap_entry("best", text)
    if verdict.fused is not None:
        text = f"{verdict.fused.cycles:,} cycles, {verdict.fused.bytes:,} bytes"
        yield from _wrap_entry("fused", text)
    if (difference := verdict.cycle_difference) is not None:
        yield from _wrap_entry("difference", f"{abs(difference):,} cycles")
    change = verdict.change
    if change is None:
        can_grow = verdict.binding in (
            BindingConstraint.CAPACITY,
            BindingConstraint.COST,
        )
        remedy = "larger capacity" if can_grow else "option or capacity"
        yield from _wrap_entry(
            "change", f"no {remedy} makes fusing them the best schedule"
        )
        return
    text = (
        f"{change.text}: these groups take {change.after.cycles:,} cycles then, "
        f"instead of {change.before.cycles:,}"
    )
    yield from _wrap_entry("change", text)
