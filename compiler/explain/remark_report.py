"""
Explanation of plans: remarks of passes on whole tensors and on inner loops, collected
from a compilation.
"""

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
    """Remark of a pass on a rewrite that was applied or missed, with the reason."""

    source: str
    """Name of the pass."""
    kind: str
    """Kind of the remark: `passed` or `missed`."""
    text: str
    locations: Sequence[str]
    """
    Parts of an imported module, operations of its graph, names of values, or
    source locations.
    """
    level: str | None
    """
    Memory level of the groups that the remark is about; `None` for the outermost
    groups.
    """

    def __str__(self) -> str:
        fields = self.source, self.kind, self.text
        return format_remark(*fields, self.locations, self.level or "")


def collect_remarks(records: CompilationRecords) -> Mapping[str, Sequence[Remark]]:
    """
    Return the remarks of passes on each function: those up to the planning of the
    outermost groups, then those on the groups of their tiles, level by level. Remarks
    on groups that `graph-partition` replaced are omitted.
    """
    if records.planned_module is None:
        return {}
    before = remarks_by_function(records.planned_module)
    remarks = {
        name: [
            _make_remark(each, None)
            for each in function_remarks
            if not _is_superseded(each, records)
        ]
        for name, function_remarks in before.items()
    }
    for each in remarks.values():
        each.sort(key=_pass_index)
    for level, after in records.inner_remarks:
        for name, function_remarks in after.items():
            added = _added_remarks(before.get(name, ()), function_remarks)
            remarks.setdefault(name, []).extend(
                _make_remark(each, level) for each in added
            )
        before = after
    return remarks


def _added_remarks(
    before: Sequence[RemarkAttr], after: Sequence[RemarkAttr]
) -> Iterator[RemarkAttr]:
    """
    Yield the remarks of `after` that are not in `before`; a remark in both with new
    locations is yielded with those only.
    """
    locations = {each.with_locations(()): each.location_names for each in before}
    for each in after:
        known_locations = locations.get(each.with_locations(()))
        if known_locations is None:
            yield each
        elif added := [
            location
            for location in each.location_names
            if location not in known_locations
        ]:
            yield each.with_locations(added)


def _is_superseded(remark: RemarkAttr, records: CompilationRecords) -> bool:
    """
    Return `True` if a remark is about groups that `graph-partition` merged or could
    have merged, and not about a limit of all groups.
    """
    if not records.is_partitioned or remark.source.data != GraphGroupPass.name:
        return False
    return remark.topic.data != LOOPS


def _make_remark(remark: RemarkAttr, level: str | None) -> Remark:
    fields = (remark.source.data, remark.kind.data, remark.text.data)
    return Remark(*fields, remark.location_names, level)


def _pass_index(remark: Remark) -> int:
    """Return the index of a remark's pass in the pipeline on whole tensors."""
    order = PIPELINES["graph-pipeline"].split(",")
    return order.index(remark.source) if remark.source in order else len(order)
