"""
Command `tlf-plan`: static allocation of buffers with lifetimes in a memory, without IR.

Reads and writes comma-separated values, see `plan_csv`. Errors are one line on stderr,
and the exit status is 1; files are written atomically.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING

from tlf.tools.define_tool import define_tool
from tlf.tools.plan_options import PlanOptions, parse_arguments

if TYPE_CHECKING:
    from tlf.support.allocation import Allocation
    from tlf.tools.plan_csv import AllocationProblem

UNLIMITED = 1 << 62
"""Number of visits of a search that is limited by time only."""


@define_tool("tlf-plan")
def main(arguments: Sequence[str] | None, tool: str) -> None:
    """Run the `tlf-plan` command."""
    options = parse_arguments(arguments, tool)
    problem = _read_csv(options)
    start = monotonic()
    placement = _allocate_buffers(options, problem)
    seconds = monotonic() - start
    if options.out is not None:
        _write_file(
            options, options.out, problem.format_with_offsets(placement.offsets)
        )
    if options.render is not None:
        from tlf.tools.plan_svg import render_allocation

        picture = render_allocation(
            problem.names, problem.buffers, placement, options.capacity
        )
        _write_file(options, options.render, picture)
    for title, value in _report_rows(options, problem, placement, seconds).items():
        print(f"{title:<13}  {value}")


def _read_csv(options: PlanOptions) -> AllocationProblem:
    """Return the problem in the file; exit with a located error if it is invalid."""
    from tlf.tools.plan_csv import CSVError, read_problem

    try:
        text = options.csv.read_text(encoding="utf-8-sig")
        return read_problem(text, options.alignment, options.replan)
    except CSVError as error:
        options.exit_with_error(
            str(error), f"{options.csv}:{error.line}:{error.column}"
        )
    except UnicodeDecodeError:
        options.exit_with_error("expected text in UTF-8", str(options.csv))
    except OSError as error:
        options.exit_with_error(f"cannot read `{error.filename}`: {error.strerror}")


def _allocate_buffers(options: PlanOptions, problem: AllocationProblem) -> Allocation:
    """Return a verified allocation that fits; exit with an error if there is none."""
    from tlf.support.allocation import (
        AllocationFault,
        VisitBudget,
        find_offset_faults,
        max_live_bytes,
        pack_to_lowest_peak,
    )
    from tlf.support.progress import report_step

    sufficient_peak = None if options.minimize else options.capacity
    budget = VisitBudget(UNLIMITED, monotonic() + options.budget)
    try:
        with report_step("search for the lowest peak"):
            placement = pack_to_lowest_peak(problem.buffers, budget, sufficient_peak)
    except AllocationFault as fault:
        line = max((problem.line_numbers[index] for index in fault.buffers), default=1)
        options.exit_with_error(
            fault.format_with_names(problem.names), f"{options.csv}:{line}:1"
        )
    if fault := next(find_offset_faults(problem.buffers, placement.offsets), None):
        options.exit_with_error(f"internal error: {fault}", str(options.csv))
    if options.capacity is not None and placement.peak > options.capacity:
        cause = (
            "which is below the lower bound"
            if placement.bound > options.capacity
            else "none found within the time limit"
        )
        options.exit_with_error(
            f"expected an allocation within {options.capacity} bytes, {cause}: "
            f"got a peak of {placement.peak} bytes "
            f"({max_live_bytes(problem.buffers)} live at once)",
            str(options.csv),
        )
    return placement


def _report_rows(
    options: PlanOptions,
    problem: AllocationProblem,
    placement: Allocation,
    seconds: float,
) -> dict[str, str]:
    """Return the peak, live bytes, fragmentation and search time by title."""
    from tlf.support.allocation import max_live_bytes

    live = max_live_bytes(problem.buffers)
    ratio = placement.peak / live if live else 1.0
    optimality = f"{'' if placement.is_optimal else 'not '}proven optimal"
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


def _write_file(options: PlanOptions, file: Path, text: str) -> None:
    """Write `text` atomically; exit with an error if that fails."""
    from tlf.compiler.driver.atomic_write import write_atomically

    try:
        write_atomically(file, lambda path: path.write_text(text, encoding="utf-8"))
    except OSError as error:
        options.exit_with_error(f"cannot write `{error.filename}`: {error.strerror}")


if __name__ == "__main__":
    main()
