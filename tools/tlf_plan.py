"""
`tlf-plan`: static allocation of buffers with lifetimes in a memory.

Reads and writes comma-separated values, see `plan_csv`. Errors are one line on stderr,
and the exit status is 1; files are written atomically.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING

from tlf.runtime.broken_pipe import exit_on_broken_pipe
from tlf.tools.plan_options import PlanOptions, fail, parse_arguments

if TYPE_CHECKING:
    from tlf.support.allocation import Allocation
    from tlf.tools.plan_csv import Problem

UNLIMITED = 1 << 62
"""Number of visits of a search that is limited by time only."""


@exit_on_broken_pipe()
def main(arguments: Sequence[str] | None = None) -> None:
    """Run the `tlf-plan` command."""
    options = parse_arguments(arguments)
    problem = _read_csv(options)
    start = monotonic()
    placement = _allocate(options, problem)
    seconds = monotonic() - start
    if options.out is not None:
        _write_file(options.out, problem.with_offsets(placement.offsets))
    if options.render is not None:
        from tlf.tools.plan_svg import render_allocation

        picture = render_allocation(
            problem.names, problem.buffers, placement, options.capacity
        )
        _write_file(options.render, picture)
    for title, value in _report_rows(options, problem, placement, seconds).items():
        print(f"{title:<13}  {value}")


def _read_csv(options: PlanOptions) -> Problem:
    from tlf.tools.plan_csv import CSVError, read_problem

    try:
        text = options.csv.read_text(encoding="utf-8-sig")
        return read_problem(text, options.alignment, options.replan)
    except CSVError as error:
        fail(str(error), f"{options.csv}:{error.line}:{error.column}")
    except UnicodeDecodeError:
        fail("expected text in UTF-8", str(options.csv))
    except OSError as error:
        fail(f"cannot read `{error.filename}`: {error.strerror}")


def _allocate(options: PlanOptions, problem: Problem) -> Allocation:
    """Return a verified allocation that fits; exit with an error if there is none."""
    from tlf.support.allocation import Budget, Fault, find_faults, max_live_bytes, pack

    sufficient_peak = None if options.minimize else options.capacity
    budget = Budget(UNLIMITED, monotonic() + options.budget)
    try:
        placement = pack(problem.buffers, budget, sufficient_peak)
    except Fault as fault:
        line = max((problem.line_numbers[index] for index in fault.buffers), default=1)
        fail(fault.format_with_names(problem.names), f"{options.csv}:{line}:1")
    if fault := next(find_faults(problem.buffers, placement.offsets), None):
        fail(f"internal error: {fault}", str(options.csv))
    if options.capacity is not None and placement.peak > options.capacity:
        cause = (
            "which is too little" if placement.bound > options.capacity else "so far"
        )
        fail(
            f"expected a placement within {options.capacity} bytes, {cause}: "
            f"got a peak of {placement.peak} bytes "
            f"({max_live_bytes(problem.buffers)} live at once)",
            str(options.csv),
        )
    return placement


def _report_rows(
    options: PlanOptions, problem: Problem, placement: Allocation, seconds: float
) -> dict[str, str]:
    from tlf.support.allocation import max_live_bytes

    live = max_live_bytes(problem.buffers)
    ratio = placement.peak / live if live else 1.0
    optimality = f"{'' if placement.is_optimal else 'not '}known to be the least"
    if placement.method == "given":
        optimality = "as the file says"
    rows: dict[str, str] = {}
    if options.capacity is not None:
        rows["capacity"] = f"{options.capacity:,} bytes"
    rows["buffers"] = f"{len(problem.buffers):,}"
    rows["live at once"] = f"{live:,} bytes"
    rows["arena"] = f"{placement.peak:,} bytes, {optimality}"
    rows["arena / live"] = f"{ratio:.4f}"
    rows["fragmentation"] = f"{placement.peak - live:,} bytes"
    rows["method"] = placement.method
    rows["time"] = f"{seconds:.2f} s"
    return rows


def _write_file(file: Path, text: str) -> None:
    from tlf.compiler.driver.atomic_write import write_atomically

    try:
        write_atomically(file, lambda path: path.write_text(text, encoding="utf-8"))
    except OSError as error:
        fail(f"cannot write `{error.filename}`: {error.strerror}")


if __name__ == "__main__":
    main()
