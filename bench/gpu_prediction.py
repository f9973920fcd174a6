"""
Accuracy of the GPU cost model against measured times, kernel by kernel.

    python bench/gpu_prediction.py
    python bench/gpu_prediction.py --out gpu.txt --only matmul --sweep 6

Each case is compiled for Triton with the tiles that the model chooses, timed, and
compared with PyTorch: its result, in f64, and its time, operation by operation as it is
without a compiler. `no model` are the tiles that are taken where nothing prices them.
Times are microseconds of one call among many in a graph of calls, with inputs that are
not in the cache. Without a GPU there are predictions alone. With `--sweep N`, so many
other tiles are timed, too: how much longer than the best of all the chosen ones take.
"""

from __future__ import annotations

import argparse
import io
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from importlib import import_module
from math import prod
from pathlib import Path
from statistics import median
from typing import Any

from gpu_cases import KernelCase, all_cases
from gpu_compiler import CaseCompiler, CompiledCase
from xdsl.utils.exceptions import DiagnosticException, PassFailedException

from tlf.compiler.driver.diagnostics import CompileError
from tlf.dialects.target import load_target_spec

TOLERANCE = {"f32": 1e-5, "f16": 4e-3, "bf16": 2e-2}
"""Of the distance to a result in f64, relative to its size."""


@dataclass
class Measurement:
    """One case on a GPU. Times are microseconds, None where they are not known."""

    time: float | None = None
    error: float | None = None
    unguided: float | None = None
    """With the tiles that are taken without a model."""
    eager: float | None = None
    sweep: tuple[float, ...] = ()
    """With other tiles, those that are to be fastest first."""
    trouble: list[str] = field(default_factory=list[str])


class GpuBench:
    """Runs cases on the GPU of this machine."""

    def __init__(self) -> None:
        self.torch: Any = import_module("torch")
        self.timing: Any = import_module("gpu_timing")
        self.triton: Any = import_module("tlf.runtime.triton")

    @staticmethod
    def is_available() -> bool:
        """Return `True` if there is a GPU that PyTorch can use."""
        try:
            torch: Any = import_module("torch")
        except ImportError:
            return False
        return bool(torch.cuda.is_available())

    def describe_gpu(self) -> str:
        """The GPU, and what runs it."""
        torch = self.torch
        return f"{torch.cuda.get_device_name()}, PyTorch {torch.__version__}"

    def measure_case(
        self,
        case: KernelCase,
        ways: Sequence[CompiledCase],
        sweep: Sequence[CompiledCase],
    ) -> Measurement:
        """A case with the model's tiles, without, and with those of a sweep."""
        try:
            given = self.timing.sets(case.arguments, case.element, case.bytes)
        except Exception as error:
            return Measurement(trouble=[_format_error(error)])
        found, (chosen, *others) = Measurement(), ways
        found.time = self._try_run(
            found, lambda: self._time_compiled(case, chosen, given, found)
        )
        if others:
            found.unguided = self._try_run(
                found, lambda: self._time_compiled(case, others[0], given, None)
            )
        elif found.time is not None:
            found.unguided = found.time
        peer = partial(case.torch, self.torch)
        found.eager = self._try_run(
            found, lambda: self.timing.microseconds(peer, given)
        )
        timed = (
            self._try_run(
                found, lambda way=way: self._time_compiled(case, way, given, None)
            )
            for way in sweep
        )
        found.sweep = tuple(each for each in timed if each is not None)
        return found

    def _time_compiled(
        self,
        case: KernelCase,
        way: CompiledCase,
        given: Sequence[list[Any]],
        into: Measurement | None,
    ) -> float:
        """The time of a compiled case; its error goes `into` what was measured."""
        executable = self.triton.prepare(way.plan)
        name = executable.plan.results[0]
        result = executable(given[0])[name]
        if into is not None:
            wide = [each.double() for each in given[0]]
            into.error = self.timing.error(result, case.torch(self.torch, wide))
        return self.timing.microseconds(executable, given)

    def _try_run(self, found: Measurement, run: Callable[[], float]) -> float | None:
        try:
            return run()
        except Exception as error:
            found.trouble.append(_format_error(error))
            return None
        finally:
            # What a fault leaves behind is told by the next attempt.
            with suppress(Exception):
                self.torch.cuda.synchronize()
                self.torch.cuda.empty_cache()


def _format_error(error: Exception) -> str:
    """An error in a line."""
    return " ".join(f"{type(error).__name__}: {error}".split())[:160]


HEADER = (
    f"{'case':<38}{'kernels':>8}{'predicted':>11}{'measured':>10}{'ratio':>7}"
    f"{'error':>9}{'no model':>10}{'predicted':>11}{'eager':>9}  bound by, tiles"
)


@dataclass
class PredictionTable:
    """Prints a line for each case, and keeps what is to be said of all."""

    outputs: Sequence[io.TextIOBase | Any]
    ratios: list[float] = field(default_factory=list[float])
    gains: list[float] = field(default_factory=list[float])
    peers: list[float] = field(default_factory=list[float])
    regrets: list[float] = field(default_factory=list[float])
    wrong: list[str] = field(default_factory=list[str])

    def print_line(self, line: str) -> None:
        """Print a line everywhere."""
        for output in self.outputs:
            print(line, file=output, flush=True)

    def add_case(
        self, case: KernelCase, ways: Sequence[CompiledCase], found: Measurement
    ) -> None:
        """Print the line of a case."""
        chosen, unguided = ways[0], ways[-1]
        bound = ", ".join(dict.fromkeys(each.bottleneck for each in chosen.estimates))
        ratio = chosen.microseconds / found.time if found.time else None
        error = f"{found.error:.0e}" if found.error is not None else "-"
        self.print_line(
            f"{case.name:<38}{len(chosen.estimates):>8}{chosen.microseconds:>11.1f}"
            f"{_format_number(found.time):>10}{_format_number(ratio, 2):>7}{error:>9}"
            f"{_format_number(found.unguided):>10}{unguided.microseconds:>11.1f}"
            f"{_format_number(found.eager):>9}  {bound}: {chosen.tiles}"
        )
        for each in found.trouble:
            self.print_line(f"    {each}")
        self._record_ratios(case, found, ratio)

    def _record_ratios(
        self, case: KernelCase, found: Measurement, ratio: float | None
    ) -> None:
        if found.error is not None and not found.error <= TOLERANCE[case.element]:
            self.wrong.append(case.name)
        if found.time is None or ratio is None:
            return
        self.ratios.append(ratio)
        if found.unguided is not None:
            self.gains.append(found.unguided / found.time)
        if found.eager is not None:
            self.peers.append(found.eager / found.time)
        if found.sweep:
            best = min(found.sweep)
            self.regrets.append(found.time / min(best, found.time))
            times = ", ".join(f"{each:.1f}" for each in found.sweep)
            self.print_line(f"    other tiles, best predicted first: {times}")

    def print_summary(self) -> None:
        """Print what is to be said of all."""
        if self.ratios:
            off = [max(each, 1 / each) for each in self.ratios]
            self.print_line(
                f"predicted and measured differ by a factor of {median(off):.2f} in "
                f"the median, {max(off):.2f} at most, over {len(off)} cases"
            )
        for title, found in (
            ("tiles without a model take", self.gains),
            ("PyTorch takes", self.peers),
            ("chosen tiles take, of the best that were timed,", self.regrets),
        ):
            if found:
                self.print_line(
                    f"{title} {_geometric_mean(found):.2f} times as long in the "
                    "mean, from "
                    f"{min(found):.2f} to {max(found):.2f}"
                )
        if self.wrong:
            self.print_line(f"wrong results: {', '.join(self.wrong)}")


def _geometric_mean(values: Sequence[float]) -> float:
    """The geometric mean."""
    return prod(value ** (1 / len(values)) for value in values)


def _format_number(value: float | None, digits: int = 1) -> str:
    return "-" if value is None else f"{value:.{digits}f}"


class GpuPredictionOptions(argparse.Namespace):
    """The command line."""

    target: str
    only: str
    out: str
    sweep: int
    seconds: float


def parse_arguments(arguments: Sequence[str] | None) -> GpuPredictionOptions:
    """The command line, read."""
    text = (__doc__ or "").strip().split("\n")[0]
    parser = argparse.ArgumentParser(prog="gpu_prediction", description=text)
    parser.add_argument("--target", default="h200", help="the GPU to predict for")
    parser.add_argument("--only", default="", help="part of the names of cases")
    parser.add_argument("--out", default="", help="a file for the table, too")
    parser.add_argument("--sweep", type=int, default=0, help="other tiles to be timed")
    parser.add_argument(
        "--seconds", type=float, default=270, help="after which no case is begun"
    )
    return parser.parse_args(arguments, namespace=GpuPredictionOptions())


def print_table(options: GpuPredictionOptions, outputs: Sequence[Any]) -> bool:
    """Print a line for each case; whether all results are right."""
    started, table = time.perf_counter(), PredictionTable(outputs)
    compiler = CaseCompiler(load_target_spec(options.target))
    bench = GpuBench() if GpuBench.is_available() else None
    if bench is None:
        table.print_line("no GPU here: predictions alone")
    else:
        table.print_line(bench.describe_gpu())
    table.print_line(HEADER)
    for case in all_cases():
        if options.only not in case.name:
            continue
        if time.perf_counter() - started > options.seconds:
            table.print_line(
                f"{case.name:<38} not begun: {options.seconds:g} s are over"
            )
            continue
        ways = [compiler.compile_case(case)]
        unguided = compiler.compile_case(case, "{strategy=largest}")
        if unguided.tiles != ways[0].tiles:
            ways.append(unguided)
        others = (
            compiler.candidate_tiles(case)[1 : 1 + options.sweep]
            if options.sweep
            else []
        )
        sweep = [compiler.compile_case(case, choice=each) for each in others]
        found = bench.measure_case(case, ways, sweep) if bench else Measurement()
        table.add_case(case, ways, found)
    table.print_summary()
    table.print_line(f"{time.perf_counter() - started:.0f} s in all")
    return not table.wrong


def main(arguments: Sequence[str] | None = None) -> int:
    """The command."""
    options = parse_arguments(arguments)
    try:
        if not options.out:
            return int(not print_table(options, [sys.stdout]))
        with Path(options.out).open("w", encoding="utf-8") as file:
            return int(not print_table(options, [sys.stdout, file]))
    except (CompileError, DiagnosticException, PassFailedException, OSError) as error:
        print(f"gpu_prediction: error: {error}", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
