"""Records of the stages and remarks of one compilation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from tlf.compiler.driver.pass_manager import PassManager
from tlf.compiler.driver.pipeline_taps import Watcher, count_until_planned
from tlf.dialects.graph import RemarkAttr, remarks_of
from tlf.passes.plan.graph_group import GraphGroupPass
from tlf.passes.plan.graph_partition import GraphPartitionPass

RemarksByFunction: TypeAlias = "Mapping[str, Sequence[RemarkAttr]]"
"""The remarks on functions, by their names."""


@dataclass
class CompilationRecords:
    """
    Records of one compilation: the program after each pass, the program whose outermost
    groups have plans, and the remarks of passes until then and until tiles were grouped
    for each inner level.
    """

    keeps_stages: bool = True
    """True to keep the program after each pass."""
    stages: dict[str, ModuleOp] = field(default_factory=dict[str, ModuleOp])
    """The program by the names of passes, numbered if repeated."""
    planned_module: ModuleOp | None = None
    is_partitioned: bool = False
    """True if groups were merged before they had plans."""
    inner_remarks: list[tuple[str | None, RemarksByFunction]] = field(
        default_factory=list[tuple[str | None, RemarksByFunction]]
    )
    """Remarks so far, by the levels that tiles are still moved to."""

    def make_manager(
        self, passes: Sequence[ModulePass], watcher: Watcher | None = None
    ) -> PassManager:
        """Make a pass manager that records stages and remarks."""
        end = count_until_planned(passes)
        is_merging = (isinstance(each, GraphPartitionPass) for each in passes[:end])
        self.is_partitioned = any(is_merging)
        names = unique_names([each.name for each in passes])
        levels = _inner_levels(passes)

        def observe(count: int, module: ModuleOp, is_changed: bool) -> None:
            if count and self.keeps_stages:
                self._record_stage(names[count - 1], module, is_changed)
            if count == end:
                self.planned_module = self._latest_copy(module)
                if watcher is not None:
                    watcher(module)
            if count in levels:
                self.inner_remarks.append((levels[count], remarks_by_function(module)))

        return PassManager(passes, observer=observe)

    def _record_stage(self, name: str, module: ModuleOp, is_changed: bool) -> None:
        """Keep a module as it is after a pass, once for those that change nothing."""
        if is_changed or not self.stages:
            self.stages[name] = module.clone()
        else:
            self.stages[name] = next(reversed(self.stages.values()))

    def _latest_copy(self, module: ModuleOp) -> ModuleOp:
        """A copy of a module, the one of the last stage if that is kept."""
        if not self.stages:
            return module.clone()
        return next(reversed(self.stages.values()))


def count_until_last_remark(passes: Sequence[ModulePass]) -> int:
    """
    Return the number of passes after which no pass makes further remarks on groups.
    """
    return max([count_until_planned(passes), *_inner_levels(passes)])


def remarks_by_function(module: ModuleOp) -> RemarksByFunction:
    """The remarks on the functions of a module."""
    functions = (op for op in module.ops if isinstance(op, func.FuncOp))
    return {each.sym_name.data: remarks_of(each) for each in functions}


def unique_names(names: Sequence[str]) -> list[str]:
    """Names in order, numbered from the second of each on."""
    counts: dict[str, int] = {}
    found: list[str] = []
    for name in names:
        counts[name] = number = counts.get(name, 0) + 1
        found.append(name if number == 1 else f"{name}.{number}")
    return found


def _inner_levels(passes: Sequence[ModulePass]) -> Mapping[int, str | None]:
    """The levels that tiles are still brought to, by how many passes ran until then."""
    end = count_until_planned(passes)
    return {
        count: each.level
        for count, each in enumerate(passes, 1)
        if count > end and isinstance(each, GraphGroupPass)
    }
