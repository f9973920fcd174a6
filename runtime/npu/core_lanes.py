"""
Lanes: cores that execute a block together, their registers as columns.

The rows of a column are the runs of a block. Where a core is not active its registers
are those of one that is, so that nothing is computed that no core computes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from tlf.runtime.npu.scalar_arithmetic import Column, Numbers


@dataclass(frozen=True)
class Lane:
    """One core, or what is in no `cores`."""

    core: int | None
    columns: dict[str, Column]
    """Its registers."""
    active: Column = 1
    """1 where the core takes part, by row; 0 elsewhere."""


@dataclass(frozen=True)
class LoopRun:
    """Executions of a loop by one core, a row for each."""

    core: int | None
    active: Column
    trips: Column
    step: Column
    inputs: dict[str, Column]
    """The registers that matter; the loop's own has its lower bound."""

    def distinguishing_columns(self) -> list[Column]:
        """All that makes runs differ."""
        return [self.active, self.trips, self.step, *self.inputs.values()]

    def select_rows(self, rows: Numbers) -> LoopRun:
        """Some of the runs."""
        return LoopRun(
            self.core,
            _select(self.active, rows),
            _select(self.trips, rows),
            _select(self.step, rows),
            _select_columns(self.inputs, rows),
        )

    def lane_of(self, rows: Numbers) -> Lane:
        """The core in the loops of some rows, whose iterations are alike."""
        return Lane(
            self.core, _select_columns(self.inputs, rows), _select(self.active, rows)
        )

    def lane_at_iteration(self, register: str, rows: Numbers, number: Numbers) -> Lane:
        """The core in iterations of the loops of some rows."""
        columns = _select_columns(self.inputs, rows)
        if register in columns:
            columns[register] = columns[register] + number * _select(self.step, rows)
        if self.core is None:
            return Lane(None, columns)
        goes_on = (number < _select(self.trips, rows)).astype(np.int64)
        return Lane(self.core, columns, _select(self.active, rows) * goes_on)


def fill_inactive_lanes(lanes: Sequence[Lane]) -> Sequence[Lane]:
    """
    Return the lanes with the registers of inactive cores copied from an active one.
    """
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


def _select(column: Column, rows: Numbers) -> Column:
    return column if isinstance(column, int) else column[rows]


def _select_columns(columns: dict[str, Column], rows: Numbers) -> dict[str, Column]:
    return {name: _select(column, rows) for name, column in columns.items()}
