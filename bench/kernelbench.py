"""
Count the KernelBench problems that TLF imports, compiles and computes correctly.

    python bench/kernelbench.py CHECKOUT
    python bench/kernelbench.py CHECKOUT --levels 1,2 --target triton --full-size

CHECKOUT is a checkout of https://github.com/ScalingIntelligence/KernelBench. Problems
with even numbers are run, except the problems of level 3 with a recurrent core. A
problem is right if TLF computes all of it, with no operation left to PyTorch, and
agrees with PyTorch within KernelBench's tolerance for f32. A problem outside the
tolerance is unstable if its distance from the result in f64 is at most twice PyTorch's.
"""

from __future__ import annotations

import argparse
import multiprocessing
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from queue import Empty
from typing import Any

from kernelbench_problem import ProblemOutcome, check_problem

LEVELS = 1, 2, 3

RECURRENT = {3: {*range(33, 43), 48, 49}}
"""Excluded problems of each level."""


@dataclass(frozen=True)
class KernelBenchOptions:
    """Command-line options."""

    checkout: Path
    levels: tuple[int, ...]
    target: str
    full_size: bool
    timeout: float
    only: str
    jobs: int


def development_problems(
    checkout: Path, levels: Sequence[int]
) -> Iterator[tuple[int, Path]]:
    """Yield the level and file of each problem of the development half, in order."""
    for level in levels:
        folder = checkout / "KernelBench" / f"level{level}"
        files = {int(file.name.split("_")[0]): file for file in folder.glob("*_*.py")}
        for number in sorted(files):
            if number % 2 == 0 and number not in RECURRENT.get(level, ()):
                yield level, files[number]


def _run_in_process(
    results: multiprocessing.Queue[ProblemOutcome], *arguments: object
) -> None:
    file, target, full_size = arguments
    results.put(check_problem(Path(str(file)), str(target), bool(full_size)))


def run_problem(file: Path, options: KernelBenchOptions) -> ProblemOutcome:
    """Check one problem in its own process."""
    context: Any = multiprocessing.get_context("spawn" if options.full_size else "fork")
    results: multiprocessing.Queue[ProblemOutcome] = context.Queue()
    arguments = (results, file, options.target, options.full_size)
    process = context.Process(target=_run_in_process, args=arguments, daemon=True)
    process.start()
    try:
        return results.get(timeout=options.timeout)
    except Empty:
        return ProblemOutcome("timeout", f"more than {options.timeout:g} s")
    finally:
        process.kill()
        process.join()


def time_problem(
    file: Path, options: KernelBenchOptions
) -> tuple[ProblemOutcome, float]:
    """Check one problem; return its outcome and the elapsed seconds."""
    started = time.perf_counter()
    return run_problem(file, options), time.perf_counter() - started


def report_problems(options: KernelBenchOptions) -> None:
    """Check all problems, print a line for each, and count the outcomes."""
    for level in options.levels:
        counts: Counter[str] = Counter()
        problems = (file for _, file in development_problems(options.checkout, [level]))
        files = [file for file in problems if options.only in file.stem]
        with ThreadPoolExecutor(options.jobs) as pool:
            outcomes = pool.map(partial(time_problem, options=options), files)
            for file, (outcome, seconds) in zip(files, outcomes, strict=True):
                counts[outcome.status] += 1
                line = f"level{level} {file.stem:<64.64} {outcome.status:<8}"
                print(f"{line} {seconds:6.1f} s  {outcome.text}", flush=True)
        parts = ", ".join(f"{count} {name}" for name, count in counts.most_common())
        right = f"{counts['right']} of {len(files)} right"
        print(f"level{level} on {options.target}: {right}; {parts}")


def parse_arguments(arguments: Sequence[str] | None = None) -> KernelBenchOptions:
    """Parse the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").strip().split("\n")[0])
    parser.add_argument("checkout", type=Path)
    parser.add_argument("--levels", default=",".join(map(str, LEVELS)))
    parser.add_argument("--target", default="reference")
    parser.add_argument("--full-size", action="store_true", help="original sizes")
    parser.add_argument(
        "--timeout", type=float, default=300, help="seconds per problem"
    )
    parser.add_argument("--only", default="", help="part of the names of problems")
    parser.add_argument("--jobs", type=int, default=1, help="problems at a time")
    options = parser.parse_args(arguments)
    if not (options.checkout / "KernelBench").is_dir():
        parser.error(f"expected a checkout of KernelBench, got `{options.checkout}`")
    levels = tuple(int(level) for level in options.levels.split(","))
    return KernelBenchOptions(
        options.checkout,
        levels,
        options.target,
        options.full_size,
        options.timeout,
        options.only,
        options.jobs,
    )


if __name__ == "__main__":
    report_problems(parse_arguments())
