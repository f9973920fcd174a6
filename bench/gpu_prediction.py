"""
Accuracy of the GPU cost model against measured times, kernel by kernel.

    python bench/gpu_prediction.py
    python bench/gpu_prediction.py --out gpu.txt --only matmul --sweep 6

Each case is compiled for Triton with the tile sizes that the cost model selects, timed,
and compared with PyTorch: its result with the result in f64, and its time with eager
mode. `no model` uses the tile sizes selected without a cost model. Times are
microseconds per call of many in a CUDA graph, with inputs that are not in the cache.
Without a GPU, only predictions are printed. `--sweep N` also times N other candidates,
and reports the ratio of the selected time to the best time.
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
"""Maximum distance to the result in f64, relative to its norm."""


@dataclass
class Measurement:
    """Measurements of one case; times in microseconds, `None` if not measured."""

    time: float | None = None
    error: float | None = None
    unguided: float | None = None
    """Time with the tile sizes selected without a cost model."""
    eager: float | None = None
    sweep: tuple[float, ...] = ()
    """Times of other candidates, in the order of their estimates."""
    trouble: list[str] = field(default_factory=list[str])


class GpuBench:
    """Runner of cases on the GPU of this machine."""

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
        """Return the name of the GPU and the version of PyTorch."""
        torch = self.torch
        return f"{torch.cuda.get_device_name()}, PyTorch {torch.__version__}"

    def measure_case(
        self,
        case: KernelCase,
        ways: Sequence[CompiledCase],
        sweep: Sequence[CompiledCase],
    ) -> Measurement:
        """
        Measure a case with each way of tile selection, and with the candidates of a
        sweep.
        """
        try:
            tensor_sets = self.timing.sets(case.arguments, case.element, case.bytes)
        except Exception as error:
            return Measurement(trouble=[_format_error(error)])
        measurement, (chosen, *unguided) = Measurement(), ways
        measurement.time = self._try_run(
            measurement,
            lambda: self._time_compiled(case, chosen, tensor_sets, measurement),
        )
        if unguided:
            measurement.unguided = self._try_run(
                measurement,
                lambda: self._time_compiled(case, unguided[0], tensor_sets, None),
            )
        elif measurement.time is not None:
            measurement.unguided = measurement.time
        peer = partial(case.torch, self.torch)
        measurement.eager = self._try_run(
            measurement, lambda: self.timing.microseconds(peer, tensor_sets)
        )
        sweep_times = (
            self._try_run(
                measurement,
                lambda way=way: self._time_compiled(case, way, tensor_sets, None),
            )
            for way in sweep
        )
        measurement.sweep = tuple(each for each in sweep_times if each is not None)
        return measurement

    def _time_compiled(
        self,
        case: KernelCase,
        way: CompiledCase,
        given: Sequence[list[Any]],
        into: Measurement | None,
    ) -> float:
        """Return the time of a compiled case; record its error in `into`, if given."""
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
            # Errors left by an asynchronous fault surface in the next attempt.
            with suppress(Exception):
                self.torch.cuda.synchronize()
                self.torch.cuda.empty_cache()


def _format_error(error: Exception) -> str:
    """Return an error as one line."""
    return " ".join(f"{type(error).__name__}: {error}".split())[:160]


HEADER = (
    f"{'case':<38}{'kernels':>8}{'predicted':>11}{'measured':>10}{'ratio':>7}"
    f"{'error':>9}{'no model':>10}{'predicted':>11}{'eager':>9}  bound by, tiles"
)


@dataclass
class PredictionTable:
    """Printed table of cases, with the ratios for the summary."""

    outputs: Sequence[io.TextIOBase | Any]
    ratios: list[float] = field(default_factory=list[float])
    gains: list[float] = field(default_factory=list[float])
    peers: list[float] = field(default_factory=list[float])
    regrets: list[float] = field(default_factory=list[float])
    wrong: list[str] = field(default_factory=list[str])

    def print_line(self, line: str) -> None:
        """Print a line to all outputs."""
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
        """Print the summary of all cases."""
        if self.ratios:
            errors = [max(each, 1 / each) for each in self.ratios]
            self.print_line(
                f"predicted and measured differ by a factor of {median(errors):.2f} in "
                f"the median, {max(errors):.2f} at most, over {len(errors)} cases"
            )
        for title, ratios in (
            ("tiles without a model take", self.gains),
            ("PyTorch takes", self.peers),
            ("chosen tiles take, of the best that were timed,", self.regrets),
        ):
            if ratios:
                self.print_line(
                    f"{title} {_geometric_mean(ratios):.2f} times as long in the "
                    "mean, from "
                    f"{min(ratios):.2f} to {max(ratios):.2f}"
                )
        if self.wrong:
            self.print_line(f"wrong results: {', '.join(self.wrong)}")


def _geometric_mean(values: Sequence[float]) -> float:
    """Return the geometric mean."""
    return prod(value ** (1 / len(values)) for value in values)


def _format_number(value: float | None, digits: int = 1) -> str:
    return "-" if value is None else f"{value:.{digits}f}"


class GpuPredictionOptions(argparse.Namespace):
    """Command-line options."""

    target: str
    only: str
    out: str
    sweep: int
    seconds: float


def parse_arguments(arguments: Sequence[str] | None) -> GpuPredictionOptions:
    """Parse the command line."""
    text = (__doc__ or "").strip().split("\n")[0]
    parser = argparse.ArgumentParser(prog="gpu_prediction", description=text)
    parser.add_argument("--target", default="h200", help="the GPU to predict for")
    parser.add_argument("--only", default="", help="part of the names of cases")
    parser.add_argument("--out", default="", help="file for a copy of the table")
    parser.add_argument(
        "--sweep", type=int, default=0, help="number of other tiles to time"
    )
    parser.add_argument(
        "--seconds", type=float, default=270, help="time limit to start a case"
    )
    return parser.parse_args(arguments, namespace=GpuPredictionOptions())


def print_table(options: GpuPredictionOptions, outputs: Sequence[Any]) -> bool:
    """Print a line for each case; return `True` if all results are correct."""
    started, table = time.perf_counter(), PredictionTable(outputs)
    compiler = CaseCompiler(load_target_spec(options.target))
    bench = GpuBench() if GpuBench.is_available() else None
    if bench is None:
        table.print_line("no GPU found: predictions only")
    else:
        table.print_line(bench.describe_gpu())
    table.print_line(HEADER)
    for case in all_cases():
        if options.only not in case.name:
            continue
        if time.perf_counter() - started > options.seconds:
            table.print_line(
                f"{case.name:<38} skipped: time limit of {options.seconds:g} s"
            )
            continue
        variants = [compiler.compile_case(case)]
        unguided = compiler.compile_case(case, "{strategy=largest}")
        if unguided.tiles != variants[0].tiles:
            variants.append(unguided)
        candidates = (
            compiler.candidate_tiles(case)[1 : 1 + options.sweep]
            if options.sweep
            else []
        )
        sweep = [compiler.compile_case(case, choice=each) for each in candidates]
        measurement = (
            bench.measure_case(case, variants, sweep) if bench else Measurement()
        )
        table.add_case(case, variants, measurement)
    table.print_summary()
    table.print_line(f"{time.perf_counter() - started:.0f} s in all")
    return not table.wrong


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command, and return the exit status."""
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
