"""Programs on their way through a pipeline, where their groups have plans."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from tlf.dialects.graph import GroupOp
from tlf.lowering.convert_graph_to_tile import ConvertGraphToTilePass
from tlf.passes.explain.choices import RecordingPartitionPass
from tlf.passes.graph_partition import GraphPartitionPass
from tlf.tools.backends import Backend
from tlf.tools.pass_manager import PassManager

Watcher = Callable[[ModuleOp], None]


@dataclass(frozen=True)
class _WatchPass(ModulePass):
    """Lets somebody see a program, and leaves it as it is."""

    watcher: Watcher

    name = "(report)"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        self.watcher(op)


def watched(watcher: Watcher) -> Callable[[Sequence[ModulePass]], PassManager]:
    """
    Makes pass managers that show a program to `watcher` where its outermost groups have
    plans and are no loops yet, if there is such a place in the pipeline.
    """

    return lambda passes: PassManager(with_watcher(passes, watcher))


def with_watcher(
    passes: Sequence[ModulePass], watcher: Watcher
) -> Sequence[ModulePass]:
    """The same passes, with one more that shows the program there."""
    place = _planned(passes)
    if place == len(passes):
        return passes
    return [*passes[:place], _WatchPass(watcher), *passes[place:]]


@dataclass(frozen=True)
class Planned:
    """What a pipeline did until outermost groups had plans, and what it has left."""

    partitioner: RecordingPartitionPass | None
    """The pass that put groups together, with what it chose from, if there was one."""
    rest: Sequence[ModulePass]
    """The passes that did not run."""


def plan(backend: Backend, context: Context, module: ModuleOp) -> Planned:
    """
    Run the pipeline of a backend until the outermost groups of a program have plans.
    """
    recorded: list[RecordingPartitionPass] = []
    rest: list[ModulePass] = []

    def manager(passes: Sequence[ModulePass]) -> PassManager:
        chosen: list[ModulePass] = []
        end = _planned(passes)
        rest.extend(passes[end:])
        for each in passes[:end]:
            if isinstance(each, GraphPartitionPass):
                each = RecordingPartitionPass.like(each)
                recorded.append(each)
            chosen.append(each)
        return PassManager(chosen)

    backend.lower(context, module, manager)
    return Planned(recorded[0] if recorded else None, rest)


def has_plans(module: ModuleOp) -> bool:
    """Whether groups of a program have plans."""
    return any(isinstance(op, GroupOp) and op.plan is not None for op in module.walk())


def _planned(passes: Sequence[ModulePass]) -> int:
    """How many passes run before groups become loops."""
    tiles = (isinstance(each, ConvertGraphToTilePass) for each in passes)
    return next((n for n, is_there in enumerate(tiles) if is_there), len(passes))
