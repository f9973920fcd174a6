"""
Quality of the static allocator on a folder of problems, as a table.

    python bench/allocation_quality.py FOLDER --capacity 1048576
    python bench/allocation_quality.py FOLDER --budget 300

Every `.csv` file of the folder is solved as by `tlf-plan`: within the capacity, or,
without a capacity, for the lowest peak within the time budget. The challenging problems
of MiniMalloc are in `benchmarks/challenging` of https://github.com/google/minimalloc.
Times are seconds of wall time and of CPU time.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from time import monotonic, process_time

from tlf.support.allocation import (
    VisitBudget,
    find_offset_faults,
    max_live_bytes,
    pack_to_lowest_peak,
)
from tlf.tools.plan_csv import AllocationProblem, read_problem

COLUMNS = (
    "problem",
    "buffers",
    "live at once",
    "first fit",
    "arena",
    "arena / live",
    "within",
    "wall",
    "CPU",
)


def measure_problem(
    name: str, problem: AllocationProblem, capacity: int | None, budget: float
) -> list[str]:
    """Return the table row of one problem."""
    live = max_live_bytes(problem.buffers)
    simple = pack_to_lowest_peak(problem.buffers, VisitBudget(0))
    wall, cpu = monotonic(), process_time()
    placement = pack_to_lowest_peak(
        problem.buffers, VisitBudget(1 << 62, wall + budget), capacity
    )
    seconds = monotonic() - wall, process_time() - cpu
    assert not list(find_offset_faults(problem.buffers, placement.offsets))
    fits = capacity is None or placement.peak <= capacity
    return [
        name,
        f"{len(problem.buffers)}",
        f"{live:,}",
        f"{simple.peak / live:.3f}",
        f"{placement.peak:,}",
        f"{placement.peak / live:.3f}",
        "yes" if fits else "no",
        *(f"{each:.1f}" for each in seconds),
    ]


def main() -> None:
    """Print the table of a folder."""
    parser = argparse.ArgumentParser(description="Figures of the memory planner.")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--capacity", type=int)
    parser.add_argument("--budget", type=float, default=60.0)
    options = parser.parse_args()
    print("| " + " | ".join(COLUMNS) + " |", "|" + "---|" * len(COLUMNS), sep="\n")
    for file in sorted(options.folder.glob("*.csv")):
        problem = read_problem(file.read_text(encoding="utf-8"))
        cells = measure_problem(
            file.name.split(".")[0], problem, options.capacity, options.budget
        )
        print("| " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
