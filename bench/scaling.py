"""
Growth of compile time with program size, step by step.

    python bench/scaling.py
    python bench/scaling.py --programs chain,shared --sizes 1000,4000 --runs 3

Times are microseconds per operation, so a step of linear time has the same time for
every size. The last column is the factor of growth when the program doubles: 1.00 is
linear, 2.00 is quadratic. Times are CPU times with the garbage collector off, the
minimum of all runs.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from math import log2

from scaling_programs import PROGRAMS
from scaling_steps import best_of

SIZES = (1000, 2000, 5000, 10000, 50000)


def growth(sizes: Sequence[int], figures: Sequence[float]) -> float:
    """Return the growth factor per doubling between the first and the last time."""
    doublings = log2(sizes[-1] / sizes[0])
    if doublings == 0 or figures[0] <= 0:
        return 1.0
    return (figures[-1] / figures[0]) ** (1 / doublings)


def format_report(name: str, sizes: Sequence[int], runs: int) -> list[str]:
    """Return the table of one program; large sizes run once."""
    results = [best_of(name, size, runs if size < 10000 else 1) for size in sizes]
    return format_table(
        name, [count for count, _ in results], [each for _, each in results]
    )


def format_table(
    name: str, counts: Sequence[int], found: Sequence[Mapping[str, float]]
) -> list[str]:
    """
    Return the microseconds per operation of each step, a column per operation count.
    """
    title = "".join(f"{count:>10,}" for count in counts)
    lines = [f"{name + ', operations':36}{title}  doubling"]
    figures = {step: [each[step] for each in found] for step in found[0]}
    for step, values in figures.items():
        columns = "".join(f"{value:10.1f}" for value in values)
        lines.append(f"  {step:34}{columns}  {growth(counts, values):8.2f}")
    totals = [sum(each.values()) for each in found]
    columns = "".join(f"{value:10.1f}" for value in totals)
    lines.append(f"  {'all':34}{columns}  {growth(counts, totals):8.2f}")
    return lines


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").strip().split("\n")[0])
    parser.add_argument("--programs", default=",".join(PROGRAMS))
    parser.add_argument("--sizes", default=",".join(map(str, SIZES)))
    parser.add_argument("--runs", type=int, default=2)
    options = parser.parse_args(arguments)
    names = options.programs.split(",")
    if unknown := [name for name in names if name not in PROGRAMS]:
        known = ", ".join(PROGRAMS)
        parser.error(f"expected programs among {known}, got {', '.join(unknown)}")
    sizes = [int(size) for size in options.sizes.split(",")]
    for name in names:
        print(
            "\n".join(format_report(name, sizes, options.runs)), end="\n\n", flush=True
        )


if __name__ == "__main__":
    main()
