"""Remarks of passes on tensors and inner loops, collected from a compilation."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from tlf.compiler.driver.compilation_records import (
    CompilationRecords,
    remarks_by_function,
)
from tlf.dialects.graph import RemarkAttr, format_remark
from tlf.lowering.pipelines import PIPELINES
from tlf.passes.plan.graph_group import GraphGroupPass
from tlf.planner.fusion.remark_collector import LOOPS


@dataclass(frozen=True)
class Remark:
    """Remark on a rewrite that a pass applied, or missed and why."""

    source: str
    """The pass."""
    kind: str
    """Kind of the remark, applied or not: `passed` or `missed`."""
    text: str
    places: Sequence[str]
    """
    Parts of an imported module, operations of its graph, names of values, or places in
    the source.
    """
    level: str | None
    """The memory level of the groups that it is about, if they are in others."""

    def __str__(self) -> str:
        words = self.source, self.kind, self.text
        return format_remark(*words, self.places, self.level or "")


def collect_remarks(records: CompilationRecords) -> Mapping[str, Sequence[Remark]]:
    """
    Return the remarks of passes on each function until its outermost groups had plans,
    then on the groups of their tiles, level by level. Those on groups that
    `graph-partition` replaced are left out.
    """
    if records.planned_module is None:
        return {}
    before = remarks_by_function(records.planned_module)
    found = {
        name: [
            _make_remark(each, None)
            for each in told
            if not _is_superseded(each, records)
        ]
        for name, told in before.items()
    }
    for each in found.values():
        each.sort(key=_pass_index)
    for level, after in records.inner_remarks:
        for name, told in after.items():
            new = _added_remarks(before.get(name, ()), told)
            found.setdefault(name, []).extend(_make_remark(each, level) for each in new)
        before = after
    return found


def _added_remarks(
    before: Sequence[RemarkAttr], after: Sequence[RemarkAttr]
) -> Iterator[RemarkAttr]:
    """Remarks that were added to others, with the places that are new alone."""
    known = {each.with_locations(()): each.location_names for each in before}
    for each in after:
        places = known.get(each.with_locations(()))
        if places is None:
            yield each
        elif new := [place for place in each.location_names if place not in places]:
            yield each.with_locations(new)


def _is_superseded(remark: RemarkAttr, records: CompilationRecords) -> bool:
    """
    Return `True` if a remark is about groups that `graph-partition` merged, or could
    have merged, and not about a limit of all groups.
    """
    if not records.is_partitioned or remark.source.data != GraphGroupPass.name:
        return False
    return remark.topic.data != LOOPS


def _make_remark(remark: RemarkAttr, level: str | None) -> Remark:
    words = (remark.source.data, remark.kind.data, remark.text.data)
    return Remark(*words, remark.location_names, level)


def _pass_index(remark: Remark) -> int:
    """Return the index of a remark's pass among those on whole tensors."""
    order = PIPELINES["graph-pipeline"].split(",")
    return order.index(remark.source) if remark.source in order else len(order)
