"""
Driver: records of one compilation, with copies of the module after each pass and the
remarks of passes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from tlf.compiler.driver.pass_manager import PassManager, VerifyEach
from tlf.compiler.driver.planning_observers import (
    ModuleObserver,
    count_passes_until_planned,
)
from tlf.dialects.graph import RemarkAttr, remarks_of
from tlf.passes.plan.graph_group import GraphGroupPass
from tlf.passes.plan.graph_partition import GraphPartitionPass

RemarksByFunction: TypeAlias = "Mapping[str, Sequence[RemarkAttr]]"
"""Remarks by function name."""


@dataclass
class CompilationRecords:
    """
    Records of one compilation: the program after each pass, the program when its
    outermost groups are planned, and the remarks of passes up to then and up to the
    grouping of tiles for each inner level.
    """

    records_stages: bool = True
    """True to record the program after each pass."""
    stages: dict[str, ModuleOp] = field(default_factory=dict[str, ModuleOp])
    """Programs by pass name, with a suffix if a pass is repeated."""
    planned_module: ModuleOp | None = None
    is_partitioned: bool = False
    """True if groups are merged before they are planned."""
    inner_remarks: list[tuple[str | None, RemarksByFunction]] = field(
        default_factory=list[tuple[str | None, RemarksByFunction]]
    )
    """Remarks up to the grouping for an inner level, by that level."""

    def make_pass_manager(
        self,
        passes: Sequence[ModulePass],
        planning_observer: ModuleObserver | None = None,
    ) -> PassManager:
        """Return a pass manager for `passes` that fills these records while it runs."""
        end = count_passes_until_planned(passes)
        partitions = (isinstance(each, GraphPartitionPass) for each in passes[:end])
        self.is_partitioned = any(partitions)
        names = number_repeated_names([each.name for each in passes])
        levels = _inner_levels_by_pass_count(passes)

        def observe(count: int, module: ModuleOp, is_changed: bool) -> None:
            if count and self.records_stages:
                self._record_stage(names[count - 1], module, is_changed)
            if count == end:
                self.planned_module = self._copy_latest_module(module)
                if planning_observer is not None:
                    planning_observer(module)
            if count in levels:
                self.inner_remarks.append((levels[count], remarks_by_function(module)))

        # Stages without a change are known by verification after each pass.
        verify = VerifyEach.CHANGED if self.records_stages else VerifyEach.LEVELS
        return PassManager(passes, verify, observer=observe)

    def _record_stage(self, name: str, module: ModuleOp, is_changed: bool) -> None:
        """
        Record the module after a pass; passes without a change share the earlier copy.
        """
        if is_changed or not self.stages:
            self.stages[name] = module.clone()
        else:
            self.stages[name] = next(reversed(self.stages.values()))

    def _copy_latest_module(self, module: ModuleOp) -> ModuleOp:
        """Return a copy of a module: that of the last stage if stages are recorded."""
        if not self.stages:
            return module.clone()
        return next(reversed(self.stages.values()))


def count_passes_until_last_remark(passes: Sequence[ModulePass]) -> int:
    """
    Return the number of passes after which no pass makes further remarks on groups.
    """
    return max(
        [count_passes_until_planned(passes), *_inner_levels_by_pass_count(passes)]
    )


def remarks_by_function(module: ModuleOp) -> RemarksByFunction:
    """Return the remarks on the functions of a module."""
    functions = (op for op in module.ops if isinstance(op, func.FuncOp))
    return {each.sym_name.data: remarks_of(each) for each in functions}


def number_repeated_names(names: Sequence[str]) -> list[str]:
    """Return the names in order, with a number appended to repeated ones."""
    counts: dict[str, int] = {}
    numbered: list[str] = []
    for name in names:
        counts[name] = number = counts.get(name, 0) + 1
        numbered.append(name if number == 1 else f"{name}.{number}")
    return numbered


def _inner_levels_by_pass_count(
    passes: Sequence[ModulePass],
) -> Mapping[int, str | None]:
    """
    Return the inner levels that tiles are moved to, by the number of passes run until
    their groups are formed.
    """
    end = count_passes_until_planned(passes)
    return {
        count: each.level
        for count, each in enumerate(passes, 1)
        if count > end and isinstance(each, GraphGroupPass)
    }
