"""Map of a function over tasks in several processes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from typing import TypeVar

Task = TypeVar("Task")
Row = TypeVar("Row")


def map_in_processes(
    function: Callable[[Task], Row], tasks: Sequence[Task], jobs: int
) -> Iterator[Row]:
    """Yield the results of tasks, in order, from `jobs` processes; one is this one."""
    if jobs < 2:
        yield from map(function, tasks)
        return
    with ProcessPoolExecutor(jobs) as pool:
        yield from pool.map(function, tasks)
