"""
Reference interpretation of parallel loop nests: check that iterations write disjoint
elements.
"""

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
    """One execution of a parallel loop nest."""

    points: list[Point] = field(default_factory=list[Point])
    """Induction variables of the iterations so far."""
    writers: dict[int, NDArray[np.int64]] = field(
        default_factory=dict[int, NDArray[np.int64]]
    )
    """
    Iteration that wrote each element, counted from 1, by the index of the carried
    value; 0 for elements that have not been written.
    """


@dataclass
class ParallelWrites:
    """Elements written so far by the running parallel nests."""

    _runs: dict[tile.WhileOp, _NestExecution] = field(
        default_factory=dict[tile.WhileOp, _NestExecution]
    )

    def begin_nest(self, nest: tile.WhileOp) -> None:
        """
        Begin an execution of a nest, if its iterations must write disjoint elements.
        """
        if nest.is_parallel:
            self._runs[nest] = _NestExecution()

    def begin_iteration(self, nest: tile.WhileOp, point: Point) -> None:
        """Begin an iteration."""
        if nest in self._runs:
            self._runs[nest].points.append(point)

    def record_write(self, op: tile.DesliceOp, box: Slices) -> None:
        """
        Record the elements that a tile is written to. Raises `InterpretationError` if
        another iteration has written one of them.
        """
        for nest, carried in _destination_values(op.destination):
            if (run := self._runs.get(nest)) is None:
                continue
            if carried not in run.writers:
                shape = tensor_type(op.destination).get_shape()
                run.writers[carried] = np.zeros(shape, np.int64)
            writers, current = run.writers[carried][(*box, ...)], len(run.points)
            if (
                conflict := _first_true((writers != 0) & (writers != current))
            ) is not None:
                earlier = int(writers[conflict])
                starts = [each.start for each in box]
                index = [n + start for n, start in zip(conflict, starts, strict=True)]
                raise InterpretationError(
                    f"{op.name}: expected tiles apart from each other, got: iterations "
                    f"{_describe_iteration(nest, run.points[-1])} and "
                    f"{_describe_iteration(nest, run.points[earlier - 1])} write the "
                    f"element {index}"
                )
            writers[...] = current


def _destination_values(value: SSAValue) -> Iterator[tuple[tile.WhileOp, int]]:
    """
    Yield the parallel nests whose carried values a write to a tensor modifies, each
    with the index of the carried value.
    """
    while True:
        match value.owner:
            case tile.DesliceOp(destination=value):
                continue
            case tile.WhileOp() as nest:
                index = list[SSAValue](nest.results).index(value)
            case Block() as body if isinstance(nest := body.parent_op(), tile.WhileOp):
                assert isinstance(value, BlockArgument)
                if (index := value.index - len(nest.steps)) < 0:
                    return
                if nest.is_parallel:
                    yield nest, index
            case _:
                return
        value = nest.inits[index]


def _first_true(mask: NDArray[np.bool_]) -> tuple[int, ...] | None:
    if not mask.any():
        return None
    return tuple(int(n) for n in np.unravel_index(int(mask.argmax()), mask.shape))


def _describe_iteration(nest: tile.WhileOp, point: Sequence[int]) -> str:
    """Format the induction variables of an iteration."""
    pairs = zip(nest.induction_variables, point, strict=True)
    named = [f"%{each.name_hint or each.index} = {value}" for each, value in pairs]
    return f"({', '.join(named)})"
