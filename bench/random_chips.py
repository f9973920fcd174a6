"""
Accuracy of the NPU cost model, and its effect on plans, on random chips.

    python bench/random_chips.py
    python bench/random_chips.py --chips 10 --seed 100 --programs matmul,gemv --jobs 2

`predicted` are the cycles by the event model on the loops over tiles, `formula` those
of the formula that groups and outer tiles are searched with; `err` are their errors.
`gap` is the simulated time divided by the lower bound; above 1.5, the resource of the
bound and the longest wait follow. With each program, some resources of the chip are
doubled: `slower` lists those with which the program takes more than 1 % longer.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from random import Random
from statistics import median

from chip_measurement import ChipMeasurement, measure_on_chip, simulate_on_chip
from process_map import map_in_processes
from random_chip import RESOURCES, describe_chip, double_resource, draw_chip
from random_chip_programs import PROGRAMS
from xdsl.utils.exceptions import DiagnosticException, PassFailedException

from tlf.compiler.driver.diagnostics import CompileError

GAP = 1.5
"""Ratio to the lower bound above which a row states what binds."""

TOLERANCE = 1.01
"""Accepted ratio of the time with more of a resource to the time with less."""

HEADER = (
    f"{'chip':>4} {'program':<13}{'formula':>10}{'err':>7}{'predicted':>11}"
    f"{'simulated':>11}{'err':>8}{'bound':>10}{'gap':>7}  binds"
)


@dataclass(frozen=True)
class ChipTask:
    """A chip by its seed, a program by its name, and the resources to double."""

    seed: int
    program: str
    doubled: tuple[str, ...]


@dataclass(frozen=True)
class ChipRow:
    """Results of a program on a chip."""

    task: ChipTask
    found: ChipMeasurement | None
    """`None` if the program does not compile for the chip."""
    cycles_when_doubled: Mapping[str, int]
    """Simulated cycles with a resource doubled, by its name."""

    @property
    def slowdowns(self) -> dict[str, float]:
        """Ratios of the time with more of a resource, where it is longer."""
        if self.found is None:
            return {}
        ratios = {
            name: cycles / self.found.simulated
            for name, cycles in self.cycles_when_doubled.items()
        }
        return {name: ratio for name, ratio in ratios.items() if ratio > TOLERANCE}

    def __str__(self) -> str:
        title = f"{self.task.seed:>4} {self.task.program:<13}"
        if (found := self.found) is None:
            return f"{title}does not compile"
        known = found.predicted is not None and found.error is not None
        predicted = f"{found.predicted:>11,}" if known else f"{'-':>11}"
        error = f"{found.error:>7.2f}%" if known else f"{'-':>8}"
        slower = "".join(
            f"; slower {ratio:.2f}x with twice the {name}"
            for name, ratio in self.slowdowns.items()
        )
        binds = f"{found.bound_by}; {found.limits}" if found.gap > GAP else ""
        return (
            f"{title}{found.formula:>10,}{found.formula_error:>6.0f}%{predicted}"
            f"{found.simulated:>11,}{error}{found.bound:>10,}{found.gap:>6.2f}x"
            f"  {binds}{slower}"
        )


def measure_row(task: ChipTask) -> ChipRow:
    """Measure a program on a chip, and on the chip with resources doubled."""
    build, target = PROGRAMS[task.program], draw_chip(task.seed)
    try:
        found = measure_on_chip(build(), target)
        doubled = {
            name: simulate_on_chip(build(), double_resource(target, name))
            for name in task.doubled
        }
    except (CompileError, DiagnosticException, PassFailedException):
        return ChipRow(task, None, {})
    return ChipRow(task, found, doubled)


def list_tasks(
    seed: int, chips: int, programs: Sequence[str], doublings: int
) -> list[ChipTask]:
    """
    Return the tasks of chips from a seed on; each doubles other resources, so that all
    of them are doubled on some chip with each program.
    """
    tasks: list[ChipTask] = []
    for chip in range(seed, seed + chips):
        order = Random(chip).sample(RESOURCES, len(RESOURCES))
        for number, program in enumerate(programs):
            chosen = [
                order[(number * doublings + step) % len(order)]
                for step in range(doublings)
            ]
            tasks.append(ChipTask(chip, program, tuple(dict.fromkeys(chosen))))
    return tasks


def format_summary(rows: Sequence[ChipRow]) -> str:
    """Return the errors, the gap and the slowdowns of all rows."""
    found = [row.found for row in rows if row.found is not None]
    errors = [abs(each.error) for each in found if each.error is not None]
    doubled = sum(len(row.cycles_when_doubled) for row in rows)
    slowdowns = [ratio for row in rows for ratio in row.slowdowns.values()]
    lines = [
        f"{len(rows)} programs, {len(rows) - len(found)} do not compile",
        _format_errors("predicted", errors),
        _format_errors("formula", [abs(each.formula_error) for each in found]),
    ]
    if found:
        gaps = [each.gap for each in found]
        lines.append(f"gap: median {median(gaps):.2f}x, worst {max(gaps):.2f}x")
    lines.append(
        f"slower with more of a resource: {len(slowdowns)} of {doubled}"
        + (f", worst {max(slowdowns):.2f}x" if slowdowns else "")
    )
    return "\n".join(lines)


def _format_errors(name: str, errors: Sequence[float]) -> str:
    """Return the median and the worst of some errors."""
    if not errors:
        return f"{name}: no errors known"
    within = sum(each <= 10 for each in errors)
    return (
        f"{name}: median {median(errors):.2f}%, worst {max(errors):.2f}%, "
        f"{within} of {len(errors)} within 10%"
    )


class RandomChipOptions(argparse.Namespace):
    """Command-line options."""

    chips: int
    seed: int
    programs: str
    doublings: int
    jobs: int


def parse_arguments(arguments: Sequence[str] | None) -> RandomChipOptions:
    """Parse the command line."""
    text = (__doc__ or "").strip().split("\n")[0]
    parser = argparse.ArgumentParser(prog="random_chips", description=text)
    parser.add_argument("--chips", type=int, default=60)
    parser.add_argument("--seed", type=int, default=0, help="of the first chip")
    parser.add_argument("--programs", default=",".join(PROGRAMS))
    parser.add_argument(
        "--doublings",
        type=int,
        default=1,
        help="resources of the chip to double for each program",
    )
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    return parser.parse_args(arguments, namespace=RandomChipOptions())


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command, and return the exit status."""
    options = parse_arguments(arguments)
    programs = options.programs.split(",")
    for name in programs:
        if name not in PROGRAMS:
            known = ", ".join(PROGRAMS)
            print(
                f"random_chips: error: expected programs among {known}, got {name}",
                file=sys.stderr,
            )
            return 1
    tasks = list_tasks(options.seed, options.chips, programs, options.doublings)
    print(HEADER)
    rows: list[ChipRow] = []
    for row in map_in_processes(measure_row, tasks, options.jobs):
        if not rows or rows[-1].task.seed != row.task.seed:
            print(f"  {describe_chip(draw_chip(row.task.seed))}")
        rows.append(row)
        print(row, flush=True)
    print(format_summary(rows))
    return 0


if __name__ == "__main__":
    sys.exit(main())
