"""Prediction of the time and the traffic of a function of tiles."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects import func

from tlf.dialects.target import Target
from tlf.machine.costs import Key
from tlf.machine.parts import DmaEngine
from tlf.planner.cost.program.chunk_loads import load_in_chunks
from tlf.planner.cost.program.chunk_stores import store_in_chunks
from tlf.planner.cost.program.clock import run
from tlf.planner.cost.program.early import start_early
from tlf.planner.cost.program.folding import fold_casts, fold_fills
from tlf.planner.cost.program.operations import read_operation
from tlf.planner.cost.program.overlap import Overlaps
from tlf.planner.cost.program.planning import shared_bytes
from tlf.planner.cost.program.program import Item
from tlf.planner.cost.program.reader import Reader


@dataclass(frozen=True)
class Prediction:
    """Predicted time and traffic of a program."""

    cycles: int
    totals: dict[Key, int]
    """Sums of its instructions' tallies, as `tlf.machine.costs` counts."""
    bytes: int
    """Payload from and to the outermost memory."""
    steps: int
    """The instructions that were run to tell this."""


def schedule_of(function: func.FuncOp, target: Target) -> tuple[list[Item], Reader]:
    """The schedule of a function of tiles: nests, moves and computation."""
    reader = Reader(function, target, read_operation)
    items = reader.read()
    fold_fills(items)
    fold_casts(items)
    levels = list(target.levels.values())
    Overlaps(items, levels).run()
    start_early(items, levels)
    load_in_chunks(items, target.outermost)
    store_in_chunks(items, target.outermost)
    return items, reader


def predict(
    function: func.FuncOp, target: Target, most: int | None = None
) -> Prediction:
    """
    The time of a function of tiles, on the event model of the target's machine.
    Raises `TooManyStepsError` where that takes more instructions than `most`.
    """
    items, reader = schedule_of(function, target)
    clock = run(items, reader.costs, shared_bytes(items, target), most)
    totals = clock.totals_by_key()
    far = target.outermost.name
    moved = 0
    for name, engine in reader.costs.machine.engines.items():
        if isinstance(engine, DmaEngine):
            moved += totals.get(("read", name), 0) * (engine.source == far)
            moved += totals.get(("wrote", name), 0) * (engine.destination == far)
    return Prediction(clock.model.end, totals, moved, clock.steps)
