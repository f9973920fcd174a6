"""
Accuracy of the NPU cost model against the simulator, on the workloads of `zoo.py`.

    python bench/prediction.py
    python bench/prediction.py --target npu-tiny --only bottleneck

Cycles are estimated by `tile-estimate-cycles` from the tile loops selected by
`npu-pipeline`, before buffers, addresses or instructions exist, and simulated with the
program that the rest of the pipeline emits. MB are 10^6 bytes from and to the outermost
memory; `ms` is the time of the estimate.
"""

from __future__ import annotations

import argparse
import io
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import median

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.utils.exceptions import DiagnosticException, PassFailedException
from zoo import ZooError, workload

from tlf.compiler.driver.diagnostics import CompileError
from tlf.compiler.driver.driver import PASSES, new_context
from tlf.compiler.driver.pass_manager import PassManager, VerifyEach
from tlf.compiler.driver.pipeline import build_passes
from tlf.compiler.experiments.measurement import main_function_of
from tlf.dialects.target import TargetSpec, load_target_spec
from tlf.lowering.mem_to_npu.npu_target import NpuTarget
from tlf.lowering.pipelines import PIPELINES, pipelines_for
from tlf.planner.cost.program.cycle_estimate import (
    CycleEstimate,
    estimate_function_cycles,
)
from tlf.runtime import npu

BUFFERS = "convert-tile-to-mem"
"""First pass after the estimate."""


@dataclass(frozen=True)
class PredictionRow:
    """Workload at one size, with its channels divided, on a target."""

    name: str
    size: int
    target: str = "npu"
    divisor: int = 1
    batch: int = 1
    dtype: str = "f16"

    @property
    def title(self) -> str:
        """Title of the row in the table."""
        parts = [self.name, str(self.size)]
        parts += [f"/{self.divisor}"] if self.divisor > 1 else []
        parts += [f"x{self.batch}"] if self.batch > 1 else []
        return " ".join([*parts, self.dtype])

    def module(self) -> ModuleOp:
        """Return the program, with the target attached."""
        selected = workload(self.name)
        module = selected.module(self.size, self.batch, self.dtype, self.divisor)
        load_target_spec(self.target).attach_to_module(module)
        return module


ROWS = (
    PredictionRow("bottleneck", 32),
    PredictionRow("bottleneck", 56),
    PredictionRow("bottleneck", 56, batch=4),
    PredictionRow("bottleneck", 224),
    PredictionRow("bottleneck", 28, "u85-like", 2),
    PredictionRow("bottleneck", 56, "bm1684x-like"),
    PredictionRow("bottleneck", 17, "npu-tiny", 8),
    PredictionRow("resnet18", 64, divisor=4),
    PredictionRow("mobilenet-v2", 64, divisor=4),
    PredictionRow("mbconv", 28),
    PredictionRow("mbconv", 28, "bm1684x-like"),
    PredictionRow("mbconv", 28, "u85-like", 2),
    PredictionRow("mbconv", 14, "npu-tiny", 8, dtype="f32"),
    PredictionRow("vgg16-head", 56),
    PredictionRow("unet", 64, divisor=4),
    PredictionRow("fsrcnn", 56),
    PredictionRow("fsrcnn", 14, "npu-tiny", dtype="f32"),
    PredictionRow("transformer", 64, divisor=4),
    PredictionRow("swiglu", 64, divisor=8),
    PredictionRow("gemv", 1024),
    PredictionRow("gemv", 256, "npu-tiny", dtype="f32"),
    PredictionRow("random-tree", 24),
    PredictionRow("random-dag", 24),
    PredictionRow("random-dag", 24, "npu-tiny", dtype="f32"),
)


@dataclass(frozen=True)
class CycleComparison:
    """Estimated and simulated cycles and bytes."""

    predicted: CycleEstimate
    cycles: int
    bytes: int
    seconds: float
    """Time of the estimate."""

    @property
    def difference(self) -> float:
        """Relative error of the estimated cycles, in percent."""
        return 100 * (self.predicted.cycles - self.cycles) / self.cycles


def split_pipeline(target: TargetSpec) -> tuple[str, str]:
    """Return the passes up to tile loops, and the passes after them."""
    pipeline = pipelines_for(target)["npu-pipeline"]
    first, rest = pipeline.split(f",{BUFFERS},")
    return first, f"{BUFFERS},{rest}"


def compare_cycles(module: ModuleOp, first: str | None = None) -> CycleComparison:
    """Compile a program, estimate its cycles from its tile loops, and simulate it."""
    target = TargetSpec.read_from_module(module)
    before, after = split_pipeline(target)
    context = new_context()
    _run_pipeline(context, module, before if first is None else first)
    start = time.perf_counter()
    predicted = estimate_function_cycles(main_function_of(module), target)
    seconds = time.perf_counter() - start
    _run_pipeline(context, module, after)
    text = io.StringIO()
    NpuTarget().emit(context, module, text)
    report = npu.run(npu.parse(text.getvalue(), base_dir="."), {}, functional=False)
    traffic = report.traffic[target.outermost_level.name].payload
    return CycleComparison(predicted, report.cycles, traffic, seconds)


def _run_pipeline(context: Context, module: ModuleOp, pipeline: str) -> None:
    passes = build_passes(pipeline, PASSES, PIPELINES)
    PassManager(passes, verify_each=VerifyEach.NOTHING).run(context, module)


HEADER = (
    f"{'workload':<28}{'target':<12}{'predicted':>12}{'simulated':>12}{'differs':>9}"
    f"{'MB':>9}{'MB sim.':>9}{'ms':>7}"
)


def format_line(title: str, target: str, found: CycleComparison) -> str:
    """Return a line of the table."""
    return "".join(
        [
            f"{title:<28}{target:<12}",
            f"{found.predicted.cycles:>12,}{found.cycles:>12,}",
            f"{found.difference:>8.2f}%",
            f"{found.predicted.outer_bytes / 1e6:>9.3f}{found.bytes / 1e6:>9.3f}",
            f"{1e3 * found.seconds:>7.0f}",
        ]
    )


def compare_rows(
    rows: Sequence[PredictionRow],
) -> Iterator[tuple[PredictionRow, CycleComparison]]:
    """Yield each workload with its comparison."""
    for row in rows:
        yield row, compare_cycles(row.module())


class PredictionOptions(argparse.Namespace):
    """Command-line options."""

    target: str
    only: str


def parse_arguments(arguments: Sequence[str] | None) -> PredictionOptions:
    """Parse the command line."""
    text = (__doc__ or "").strip().split("\n")[0]
    parser = argparse.ArgumentParser(prog="prediction", description=text)
    parser.add_argument("--target", default="", help="only rows of this target")
    parser.add_argument("--only", default="", help="part of the names of workloads")
    return parser.parse_args(arguments, namespace=PredictionOptions())


def print_table(options: PredictionOptions) -> None:
    """Print a line for each workload, and a summary of the errors."""
    print(HEADER)
    rows = [
        row
        for row in ROWS
        if options.only in row.title and options.target in ("", row.target)
    ]
    differences: list[float] = []
    for row, comparison in compare_rows(rows):
        print(format_line(row.title, row.target, comparison), flush=True)
        differences.append(abs(comparison.difference))
    if differences:
        print(f"median {median(differences):.2f}%, worst {max(differences):.2f}%")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command, and return the exit status."""
    try:
        print_table(parse_arguments(arguments))
    except (
        ZooError,
        CompileError,
        DiagnosticException,
        PassFailedException,
    ) as error:
        print(f"prediction: error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
