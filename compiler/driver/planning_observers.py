"""
Driver: observers in a pass pipeline, which are called when groups are planned, and read
the module.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from tlf.compiler.driver.pass_manager import PassManager
from tlf.dialects.graph import GroupOp
from tlf.lowering.graph_to_tile.convert_graph_to_tile import ConvertGraphToTilePass

ModuleObserver = Callable[[ModuleOp], None]


@dataclass(frozen=True)
class _ObserverPass(ModulePass):
    """Pass that shows a program to an observer and does not change it."""

    watcher: ModuleObserver

    name = "(report)"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        self.watcher(op)


def make_observed_manager_factory(
    observer: ModuleObserver,
) -> Callable[[Sequence[ModulePass]], PassManager]:
    """Return a factory of pass managers that show the planned program to `observer`."""

    return lambda passes: PassManager(insert_planning_observer(passes, observer))


def insert_planning_observer(
    passes: Sequence[ModulePass], observer: ModuleObserver
) -> Sequence[ModulePass]:
    """Return the passes with an additional one that shows the planned program."""
    index = count_passes_until_planned(passes)
    if index == len(passes):
        return passes
    return [*passes[:index], _ObserverPass(observer), *passes[index:]]


def has_planned_groups(module: ModuleOp) -> bool:
    """Return `True` if groups of a program have plans."""
    return any(isinstance(op, GroupOp) and op.plan is not None for op in module.walk())


def count_passes_until_planned(passes: Sequence[ModulePass]) -> int:
    """
    Return the number of passes before groups are lowered to loops; groups are planned
    at that point.
    """
    conversions = (isinstance(each, ConvertGraphToTilePass) for each in passes)
    return next(
        (n for n, is_conversion in enumerate(conversions) if is_conversion), len(passes)
    )
