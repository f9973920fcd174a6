"""
Reference interpretation of parallel loop nests of the `tile` dialect: check that
iterations write disjoint elements.
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
    """
    Record of one execution of a parallel loop nest: its iterations and their writes.
    """

    induction_values: list[Point] = field(default_factory=list[Point])
    """Induction variables of the iterations so far."""
    writing_iterations: dict[int, NDArray[np.int64]] = field(
        default_factory=dict[int, NDArray[np.int64]]
    )
    """
    Iteration that wrote each element, counted from 1, by the index of the carried
    value; 0 for elements that have not been written.
    """


@dataclass
class ParallelWriteChecker:
    """
    Checker that iterations of running parallel `tile` nests write disjoint elements.
    """

    _nest_executions: dict[tile.WhileOp, _NestExecution] = field(
        default_factory=dict[tile.WhileOp, _NestExecution]
    )

    def begin_nest(self, nest: tile.WhileOp) -> None:
        """
        Begin an execution of a nest, if its iterations must write disjoint elements.
        """
        if nest.is_parallel:
            self._nest_executions[nest] = _NestExecution()

    def begin_iteration(self, nest: tile.WhileOp, induction_values: Point) -> None:
        """Begin an iteration."""
        if nest in self._nest_executions:
            self._nest_executions[nest].induction_values.append(induction_values)

    def record_tile_write(self, op: tile.DesliceOp, box: Slices) -> None:
        """
        Record the elements that a tile is written to. Raises `InterpretationError` if
        another iteration has written one of them.
        """
        for nest, carried in _carried_values_modified_by_write(op.destination):
            if (run := self._nest_executions.get(nest)) is None:
                continue
            if carried not in run.writing_iterations:
                shape = tensor_type(op.destination).get_shape()
                run.writing_iterations[carried] = np.zeros(shape, np.int64)
            writers, current = (
                run.writing_iterations[carried][(*box, ...)],
                len(run.induction_values),
            )
            if (
                conflict := _first_true_index((writers != 0) & (writers != current))
            ) is not None:
                earlier = int(writers[conflict])
                starts = [each.start for each in box]
                index = [n + start for n, start in zip(conflict, starts, strict=True)]
                raise InterpretationError(
                    f"{op.name}: expected iterations that write disjoint elements, "
                    "got: iterations "
                    f"{_describe_iteration(nest, run.induction_values[-1])} and "
                    f"{_describe_iteration(nest, run.induction_values[earlier - 1])} "
                    "write the "
                    f"element {index}"
                )
            writers[...] = current


def _carried_values_modified_by_write(
    value: SSAValue,
) -> Iterator[tuple[tile.WhileOp, int]]:
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


def _first_true_index(mask: NDArray[np.bool_]) -> tuple[int, ...] | None:
    if not mask.any():
        return None
    return tuple(int(n) for n in np.unravel_index(int(mask.argmax()), mask.shape))


def _describe_iteration(nest: tile.WhileOp, induction_values: Sequence[int]) -> str:
    """Format the induction variables of an iteration."""
    pairs = zip(nest.induction_variables, induction_values, strict=True)
    named = [f"%{each.name_hint or each.index} = {value}" for each, value in pairs]
    return f"({', '.join(named)})"
