"""
Lower bounds over all schedules for the workloads of `zoo.py` on a target.

    python bench/lower_bounds.py --target npu
    python bench/lower_bounds.py --target npu-tiny --only bottleneck --dtype f32

MB are 10^6 bytes to and from the outermost memory: each tensor once, plus traffic that
must be repeated. Times are the maximum over the memory, the matrix engine and the
vector engine, or a bound from the critical path and the capacity of inner memories:
`passes` with products in whole passes of the array, `any` if the vector engine may
compute products too. MAC/B compares with the ridge of the target: above the ridge,
products take longer than memory.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp
from xdsl.utils.exceptions import DiagnosticException
from zoo import WORKLOADS, ZooError, workload

from tlf.analysis.bounds.lower_bounds import LowerBounds, lower_bounds_of
from tlf.analysis.work.engine_throughput import Engines
from tlf.compiler.driver.driver import PASSES, new_context
from tlf.compiler.driver.pass_manager import PassManager, VerifyEach
from tlf.compiler.driver.pipeline import build_passes
from tlf.dialects.target import TargetSpec, load_target_spec
from tlf.dialects.weight_preparation_attributes import is_preparation_function
from tlf.lowering.pipelines import PIPELINES


@dataclass(frozen=True)
class BoundsRow:
    """Workload at one size."""

    name: str
    size: int
    batch: int = 1

    @property
    def title(self) -> str:
        """Title of the row in the table."""
        return f"{self.name} {self.batch}x{self.size}"


VARIANTS = (
    *(BoundsRow("bottleneck", 56, batch) for batch in (1, 32)),
    *(
        BoundsRow("bottleneck", size, batch)
        for size in (224, 1024)
        for batch in (1, 32)
    ),
    *(
        BoundsRow("resnet50", size, batch)
        for size, batch in ((224, 1), (224, 32), (1024, 1))
    ),
    *(BoundsRow("transformer", size) for size in (512, 4096)),
)
ROWS = (
    *VARIANTS,
    *(
        BoundsRow(name, each.size)
        for name, each in WORKLOADS.items()
        if name not in {row.name for row in VARIANTS}
    ),
)


def optimise_function(module: ModuleOp) -> func.FuncOp:
    """
    Return the function that runs on every call, after the passes on whole tensors.
    """
    passes = build_passes("graph-pipeline", PASSES, PIPELINES)
    PassManager(passes, verify_each=VerifyEach.NOTHING).run(new_context(), module)
    (function,) = (
        op
        for op in module.ops
        if isinstance(op, func.FuncOp) and not is_preparation_function(op)
    )
    return function


HEADER = (
    f"{'workload':<24}{'MB':>11}{'bus MB':>11}{'GMAC':>11}{'MAC/B':>9}"
    f"{'us':>12}{'passes':>12}{'any':>12}  binds"
)


def format_line(title: str, bounds: LowerBounds, target: TargetSpec) -> str:
    """Return a line of the table."""

    def microseconds(cycles: int) -> str:
        return f"{cycles / target.clock_ghz / 1e3:>12,.1f}"

    return "".join(
        [
            f"{title:<24}",
            f"{bounds.payload_bytes / 1e6:>11,.2f}",
            f"{bounds.bus_bytes / 1e6:>11,.2f}",
            f"{bounds.macs / 1e9:>11,.3f}",
            f"{bounds.intensity:>9,.1f}",
            microseconds(bounds.cycles),
            microseconds(bounds.cycles_quantised),
            microseconds(bounds.cycles_any_engine),
            f"  {bounds.binding}",
        ]
    )


def ridge(target: TargetSpec, element: str) -> float:
    """Return the multiply-accumulates in the time of moving one byte."""
    return Engines.of(target).macs_per_cycle(element) / target.outermost_level.bandwidth


class BoundsOptions(argparse.Namespace):
    """Command-line options."""

    target: str
    dtype: str
    only: str


def parse_arguments(arguments: Sequence[str] | None) -> BoundsOptions:
    """Parse the command line."""
    text = (__doc__ or "").strip().split("\n")[0]
    parser = argparse.ArgumentParser(prog="bounds", description=text)
    parser.add_argument("--target", default="npu")
    parser.add_argument("--dtype", default="f16")
    parser.add_argument("--only", default="", help="part of the names of workloads")
    return parser.parse_args(arguments, namespace=BoundsOptions())


def print_table(options: BoundsOptions) -> None:
    """Print a line for each workload that has the element type."""
    target = load_target_spec(options.target)
    print(
        f"{target.name}, {options.dtype}: ridge at "
        f"{ridge(target, options.dtype):g} MAC/B, {target.clock_ghz:g} GHz"
    )
    print(HEADER)
    for row in ROWS:
        selected = workload(row.name)
        if options.only not in row.title or options.dtype not in selected.dtypes:
            continue
        module = selected.module(row.size, row.batch, options.dtype)
        bounds = lower_bounds_of(optimise_function(module), target)
        print(format_line(row.title, bounds, target), flush=True)
        for cut in bounds.extra_traffic:
            print(f"  extra traffic: {cut}")
        for each in bounds.binding_stalls:
            print(f"  waits for {each}")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command, and return the exit status."""
    try:
        print_table(parse_arguments(arguments))
    except (ZooError, DiagnosticException) as error:
        print(f"bounds: error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
