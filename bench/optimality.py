"""
Optimality gap of `graph-partition` on small random programs.

    python bench/optimality.py --graphs 200 --jobs 2
    python bench/optimality.py --graphs 20 --chips tight --operations 1

Prints, for each graph, the simulated cycles of the compiled program by strategy, and
the cycles of the best program over all partitions, tile sizes, halo policies, stage
counts and resident values, found by an independent exhaustive search
(`optimality_exhaustive.py`). `gap` is the relative excess of the compiled program over
the best. With `--operations 1`, every operation is its own group before groups are
merged.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from statistics import mean, median, quantiles
from typing import TypeAlias

from optimality_chip import Chip, small_chips
from optimality_exhaustive import ExhaustiveSearch, PlanCache
from optimality_graphs import small_network
from optimality_search_space import ProgramNodes
from process_map import map_in_processes

from tlf.dialects.target import TargetSpec
from tlf.support.partition import STRATEGIES

HEADER = (
    f"{'graph':>5} {'chip':<6}{'nodes':>6}"
    + "".join(f"{name:>10}" for name in STRATEGIES)
    + f"{'best':>10}{'gap %':>8}  {'won':<9}search"
)


OPTIONS = "max-group-size=8 max-contractions=8 traffic-weight=1000"
"""Options that allow groups of all operations and rank by time only, as `best` does."""


@dataclass(frozen=True)
class OptimalityRow:
    """Results of one graph."""

    seed: int
    chip: str
    nodes: int
    cycles: dict[str, int | None]
    """Cycles by strategy; `None` if the program was refused."""
    best: int
    beam: bool
    """True if the search fell back to a beam search."""

    @property
    def gap(self) -> float | None:
        """Relative excess of the compiled program over the best; 0 is optimal."""
        compiled = self.cycles["dp"]
        return None if compiled is None else compiled / self.best - 1

    @property
    def winner(self) -> str:
        """First strategy with the fewest cycles."""
        cycles = {name: each for name, each in self.cycles.items() if each is not None}
        return min(cycles, key=lambda name: cycles[name], default="none")

    def __str__(self) -> str:
        texts = ["-" if each is None else f"{each:,}" for each in self.cycles.values()]
        gap = "-" if self.gap is None else f"{100 * self.gap:.2f}"
        return (
            f"{self.seed:>5} {self.chip:<6}{self.nodes:>6}"
            + "".join(f"{text:>10}" for text in texts)
            + f"{self.best:>10,}{gap:>8}  "
            f"{self.winner:<9}{'beam' if self.beam else 'dp'}"
        )


def measure_row(
    seed: int, name: str, chip: Chip, known: PlanCache, tries: int | None = None
) -> OptimalityRow:
    """
    Compile a graph with each strategy, and search for the best program.

    `tries` limits the evaluations of `graph-partition`, if given.
    """
    grouped = chip.group_module(small_network(seed))
    limits = OPTIONS if tries is None else f"{OPTIONS} max-evaluations={tries}"
    cycles: dict[str, int | None] = {}
    for strategy in STRATEGIES:
        partitioned = chip.partition_module(grouped, f"strategy={strategy} {limits}")
        run = chip.simulate_cached(partitioned)
        cycles[strategy] = None if run is None else run.cycles
    best = ExhaustiveSearch(chip, known).find_best(grouped).cycles
    fewest = min([best, *(each for each in cycles.values() if each is not None)])
    beam = any(
        result.statistics.strategy == "beam"
        for result in chip.search_partitions(grouped)
    )
    return OptimalityRow(
        seed, name, len(ProgramNodes(grouped).operations), cycles, fewest, beam
    )


def format_summary(rows: Sequence[OptimalityRow]) -> str:
    """Return a summary of the rows."""
    gaps = [each.gap for each in rows if each.gap is not None]
    refused = len(rows) - len(gaps)
    beams = sum(each.beam for each in rows)
    lines = [f"{len(rows)} graphs, {refused} refused, {beams} by a beam"]
    if gaps:
        lines.append(
            f"gap: mean {100 * mean(gaps):.2f} %, median {100 * median(gaps):.2f} %, "
            f"90th percentile {100 * _ninetieth_percentile(gaps):.2f} %, "
            f"largest {100 * max(gaps):.2f} %; "
            f"none in {sum(gap == 0 for gap in gaps)}, "
            f"at most 2 % in {sum(gap <= 0.02 for gap in gaps)}"
        )
    wins = {name: sum(each.winner == name for each in rows) for name in STRATEGIES}
    lines.append("won: " + ", ".join(f"{name} {count}" for name, count in wins.items()))
    return "\n".join(lines)


def _ninetieth_percentile(figures: Sequence[float]) -> float:
    """Return the 90th percentile of some figures."""
    if len(figures) < 2:
        return max(figures)
    return quantiles(figures, n=10, method="inclusive")[-1]


def chips_of(names: Sequence[str]) -> dict[str, TargetSpec]:
    """Return chips by name; exit with a message if a name is unknown."""
    known = small_chips()
    for name in names:
        if name not in known:
            sys.exit(f"expected chips among {', '.join(known)}, got {name}")
    return {name: known[name] for name in names}


Task: TypeAlias = tuple[int, str, int | None, int | None]
"""
Seed, name of a chip, maximum number of operations per initial group, and maximum number
of evaluations; `None` selects the compiler's default.
"""


def task_row(task: Task) -> OptimalityRow:
    """Return the row of one graph; a process caches the plans of groups."""
    seed, name, operations, tries = task
    chip, known = _chip_and_cache(name, operations)
    return measure_row(seed, name, chip, known, tries)


@cache
def _chip_and_cache(name: str, operations: int | None) -> tuple[Chip, PlanCache]:
    return Chip(chips_of([name])[name], operations), PlanCache()


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the table, each line as soon as it is computed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--graphs", type=int, default=200)
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--chips", default=",".join(small_chips()))
    parser.add_argument("--operations", type=int, help="operations of a group")
    parser.add_argument("--tries", type=int, help="evaluations of graph-partition")
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    options = parser.parse_args(arguments)
    names = options.chips.split(",")
    chips_of(names)
    seeds = range(options.first, options.first + options.graphs)
    limits = options.operations, options.tries
    tasks = [(seed, names[seed % len(names)], *limits) for seed in seeds]
    print(HEADER)
    rows: list[OptimalityRow] = []
    for row in map_in_processes(task_row, tasks, options.jobs):
        rows.append(row)
        print(row, flush=True)
    print(format_summary(rows))


if __name__ == "__main__":
    main()
