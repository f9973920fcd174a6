"""
The cores that do a block together, each with registers of its own, as columns.

The rows of a column are the runs of a block. Where a core is not active its registers
are those of one that is, so that nothing is computed that no core computes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from tlf.runtime.npu.scalars import Column, Numbers


@dataclass(frozen=True)
class Lane:
    """One core, or what is in no `cores`."""

    core: int | None
    columns: dict[str, Column]
    """Its registers."""
    active: Column = 1
    """1 where the core takes part, by row; 0 elsewhere."""


@dataclass(frozen=True)
class Run:
    """Executions of a loop by one core, a row for each."""

    core: int | None
    active: Column
    trips: Column
    step: Column
    inputs: dict[str, Column]
    """The registers that matter; the loop's own has its lower bound."""

    def slots(self) -> list[Column]:
        """All that makes runs differ."""
        return [self.active, self.trips, self.step, *self.inputs.values()]

    def of(self, rows: Numbers) -> Run:
        """Some of the runs."""
        return Run(
            self.core,
            _pick(self.active, rows),
            _pick(self.trips, rows),
            _pick(self.step, rows),
            _picked(self.inputs, rows),
        )

    def lane(self, rows: Numbers) -> Lane:
        """The core in the loops of some rows, whose iterations are alike."""
        return Lane(self.core, _picked(self.inputs, rows), _pick(self.active, rows))

    def iteration(self, register: str, rows: Numbers, number: Numbers) -> Lane:
        """The core in iterations of the loops of some rows."""
        columns = _picked(self.inputs, rows)
        if register in columns:
            columns[register] = columns[register] + number * _pick(self.step, rows)
        if self.core is None:
            return Lane(None, columns)
        goes_on = (number < _pick(self.trips, rows)).astype(np.int64)
        return Lane(self.core, columns, _pick(self.active, rows) * goes_on)


def together(lanes: Sequence[Lane]) -> Sequence[Lane]:
    """Give cores that are not active the registers of one that is."""
    actives = [lane.active for lane in lanes]
    if all(np.all(active) for active in actives):
        return lanes
    columns: dict[str, Column] = {}
    for name in lanes[0].columns:
        column = lanes[-1].columns[name]
        for lane in reversed(lanes):
            column = np.where(lane.active, lane.columns[name], column)
        columns[name] = column
    return [
        replace(
            lane,
            columns={
                name: np.where(lane.active, column, columns[name])
                for name, column in lane.columns.items()
            },
        )
        for lane in lanes
    ]


def _pick(column: Column, rows: Numbers) -> Column:
    return column if isinstance(column, int) else column[rows]


def _picked(columns: dict[str, Column], rows: Numbers) -> dict[str, Column]:
    return {name: _pick(column, rows) for name, column in columns.items()}
