"""
Simulator: lanes, which are cores in lockstep, with their registers as columns.

The rows of a column are the executions of a block. Registers of inactive cores are
copied from an active one, so that no values are computed that no core computes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from tlf.runtime.npu.scalar_arithmetic import Column, Numbers


@dataclass(frozen=True)
class CoreLane:
    """Registers of one core, or of the code outside of `cores`, as columns."""

    core: int | None
    columns: dict[str, Column]
    """Registers of the lane."""
    active: Column = 1
    """1 in rows in which the core is active, else 0."""


@dataclass(frozen=True)
class LoopExecutions:
    """All executions of one loop by one core, as columns with one row per execution."""

    core: int | None
    active: Column
    trips: Column
    step: Column
    inputs: dict[str, Column]
    """Registers that matter; the induction register has the lower bound of the loop."""

    def distinguishing_columns(self) -> list[Column]:
        """Return all columns in which executions can differ."""
        return [self.active, self.trips, self.step, *self.inputs.values()]

    def select_execution_rows(self, rows: Numbers) -> LoopExecutions:
        """
        Return new `LoopExecutions` of the executions with the row numbers `rows`, in
        order.
        """
        return LoopExecutions(
            self.core,
            _select_column_rows(self.active, rows),
            _select_column_rows(self.trips, rows),
            _select_column_rows(self.step, rows),
            _select_rows_of_columns(self.inputs, rows),
        )

    def lane_of_uniform_iterations(self, rows: Numbers) -> CoreLane:
        """
        Return the lane of the core in loops whose iterations are alike, for some rows.
        """
        return CoreLane(
            self.core,
            _select_rows_of_columns(self.inputs, rows),
            _select_column_rows(self.active, rows),
        )

    def lane_at_iteration(
        self, register: str, rows: Numbers, iteration: Numbers
    ) -> CoreLane:
        """Return the lane of the core in iterations of the loops of some rows."""
        columns = _select_rows_of_columns(self.inputs, rows)
        if register in columns:
            columns[register] = columns[register] + iteration * _select_column_rows(
                self.step, rows
            )
        if self.core is None:
            return CoreLane(None, columns)
        is_running = (iteration < _select_column_rows(self.trips, rows)).astype(
            np.int64
        )
        return CoreLane(
            self.core, columns, _select_column_rows(self.active, rows) * is_running
        )


def copy_registers_to_inactive_lanes(lanes: Sequence[CoreLane]) -> Sequence[CoreLane]:
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


def _select_column_rows(column: Column, rows: Numbers) -> Column:
    return column if isinstance(column, int) else column[rows]


def _select_rows_of_columns(
    columns: dict[str, Column], rows: Numbers
) -> dict[str, Column]:
    return {name: _select_column_rows(column, rows) for name, column in columns.items()}
