"""Check that iterations of a parallel loop nest write disjoint elements."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from xdsl.ir import Block, BlockArgument, SSAValue
from xdsl.utils.exceptions import InterpretationError

from tlf.dialects import tile
from tlf.dialects.types import tensor_type

Slices = tuple[slice, ...]
Point = tuple[int, ...]


@dataclass
class _NestExecution:
    """One execution of a parallel nest."""

    points: list[Point] = field(default_factory=list[Point])
    """The iterations so far, by their induction variables."""
    writers: dict[int, NDArray[np.int64]] = field(
        default_factory=dict[int, NDArray[np.int64]]
    )
    """
    By the number of a carried value, how many iterations there were when each element
    was written; 0 where it was not.
    """


@dataclass
class ParallelWrites:
    """Elements written so far by the parallel nests that are running."""

    _runs: dict[tile.WhileOp, _NestExecution] = field(
        default_factory=dict[tile.WhileOp, _NestExecution]
    )

    def begin_nest(self, nest: tile.WhileOp) -> None:
        """Begin an execution of a nest, if its iterations are to write apart."""
        if nest.is_parallel:
            self._runs[nest] = _NestExecution()

    def begin_iteration(self, nest: tile.WhileOp, point: Point) -> None:
        """Begin an iteration."""
        if nest in self._runs:
            self._runs[nest].points.append(point)

    def record_write(self, op: tile.DesliceOp, box: Slices) -> None:
        """
        Note what a tile is put at. Raises `InterpretationError` where another iteration
        has put one.
        """
        for nest, number in _destination_values(op.destination):
            if (run := self._runs.get(nest)) is None:
                continue
            if number not in run.writers:
                shape = tensor_type(op.destination).get_shape()
                run.writers[number] = np.zeros(shape, np.int64)
            writers, current = run.writers[number][(*box, ...)], len(run.points)
            if (
                found := _first_true((writers != 0) & (writers != current))
            ) is not None:
                before = int(writers[found])
                starts = [each.start for each in box]
                place = [n + start for n, start in zip(found, starts, strict=True)]
                raise InterpretationError(
                    f"{op.name}: expected tiles apart from each other, got: iterations "
                    f"{_describe_iteration(nest, run.points[-1])} and "
                    f"{_describe_iteration(nest, run.points[before - 1])} write the "
                    f"element {place}"
                )
            writers[...] = current


def _destination_values(value: SSAValue) -> Iterator[tuple[tile.WhileOp, int]]:
    """The carried values of parallel nests that writing to a tensor writes to."""
    while True:
        match value.owner:
            case tile.DesliceOp(destination=value):
                continue
            case tile.WhileOp() as nest:
                number = list[SSAValue](nest.results).index(value)
            case Block() as body if isinstance(nest := body.parent_op(), tile.WhileOp):
                assert isinstance(value, BlockArgument)
                if (number := value.index - len(nest.steps)) < 0:
                    return
                if nest.is_parallel:
                    yield nest, number
            case _:
                return
        value = nest.inits[number]


def _first_true(mask: NDArray[np.bool_]) -> tuple[int, ...] | None:
    if not mask.any():
        return None
    return tuple(int(n) for n in np.unravel_index(int(mask.argmax()), mask.shape))


def _describe_iteration(nest: tile.WhileOp, point: Sequence[int]) -> str:
    """An iteration by its induction variables."""
    pairs = zip(nest.induction_variables, point, strict=True)
    named = [f"%{each.name_hint or each.index} = {value}" for each, value in pairs]
    return f"({', '.join(named)})"
