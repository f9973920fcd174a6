"""
Check the resources of the GPU gate's kernels on a Hopper GPU, without one.

    python bench/gpu_facts.py
    python bench/gpu_facts.py --tier full --jobs 4
    python bench/gpu_facts.py --only attention

Compiles every kernel for sm_90 with its launch options. A kernel must fit into the
shared memory of a program, spill at most 512 bytes per thread in 16 bits and 3072 in
f32, and have valid matrix descriptors. A product in 16 bits must use matrix
instructions if its axes are at least as long as theirs, and if it would take more than
a microsecond on the lanes of the chip. Exits with 1 if a check fails.
"""

from __future__ import annotations

import argparse
import math
import multiprocessing
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from typing import Any, cast

import torch
from gpu_gate_rows import CORE, GateRow, RowWork, gate_rows
from xdsl.dialects.builtin import ModuleOp, StringAttr

from tlf.analysis.tiling.group_members import members_of_group_op
from tlf.compiler.driver.driver import PASSES, new_context
from tlf.compiler.driver.pass_manager import PassManager
from tlf.compiler.driver.pipeline import build_passes
from tlf.dialects import graph
from tlf.dialects.interfaces import ContractionInterface
from tlf.dialects.numerics_attribute import NUMERICS_ATTRIBUTE
from tlf.dialects.target import load_target_spec
from tlf.dialects.types import itemsize_of
from tlf.frontend.torch.export import from_torch
from tlf.lowering.mem_to_triton.triton_target import build_launch_plan
from tlf.lowering.pipelines import PIPELINES
from tlf.planner.cost.gpu.gpu_estimator import GpuEstimator
from tlf.planner.cost.gpu.gpu_parameters import Chip
from tlf.runtime.triton.launch_plan import (
    Plan,
    iterate_launches,
    load_plan,
)
from tlf.runtime.triton.offline_compiler import KernelResources, OfflineCompiler
from tlf.runtime.triton.report import find_kernel_faults

SPILLS = {2: 512, 4: 3072}
"""Maximum number of spilled bytes per thread, by the bytes of an element."""

LANES_MICROSECONDS = 1.0
"""Time limit, in microseconds, of a product without matrix instructions."""

STEP = "graph-select-tile-sizes"


class FactsOptions(argparse.Namespace):
    """Command-line options."""

    tier: str
    only: str
    seed: int
    jobs: int


@dataclass(frozen=True)
class Facts:
    """Resources and faults of the kernels of a row."""

    kernels: tuple[KernelResources, ...]
    faults: tuple[str, ...]

    @property
    def text(self) -> str:
        """Maximum of each resource over the kernels, in one line."""
        assemblies = [each.assembly for each in self.kernels if each.assembly]
        spills = max((each.spilled_bytes for each in assemblies), default=0)
        registers = max((each.registers for each in assemblies), default=0)
        shared = max((each.shared for each in self.kernels), default=0)
        return (
            f"{len(self.kernels)} kernels, {registers} registers, {spills} bytes "
            f"spilled, {shared} shared"
        )


class FunctionModule(torch.nn.Module):
    """Module that wraps a function of tensors."""

    def __init__(self, work: RowWork) -> None:
        super().__init__()
        self.function = work.function

    def forward(self, *arguments: Any) -> Any:
        return self.function(*arguments)


def facts_of(row: GateRow) -> Facts:
    """Compile the kernels of a row, and return their resources and faults."""
    assert row.make is not None
    work = row.make("cpu")
    with torch.no_grad():
        module = from_torch(FunctionModule(work), work.arguments).module
    module.attributes[NUMERICS_ATTRIBUTE] = StringAttr(row.numerics)
    target = load_target_spec("h200")
    target.attach_to_module(module)
    context = new_context()
    before, after = PIPELINES["triton-pipeline"].split(f"{STEP},")
    PassManager(build_passes(f"{before}{STEP}", PASSES, PIPELINES)).run(context, module)
    expected = _count_matrix_products(module)
    PassManager(build_passes(after, PASSES, PIPELINES)).run(context, module)
    plan = load_plan(build_launch_plan(module).json)
    with OfflineCompiler() as compiler:
        kernels = compiler.compile_plan_kernels(plan)
    faults = [each for kernel in kernels for each in check_kernel(kernel, plan)]
    if (count := _count_dots(plan)) < expected:
        faults.append(
            f"{expected - count} of {expected} products use no matrix instructions"
        )
    return Facts(kernels, tuple(faults))


def _count_matrix_products(module: ModuleOp) -> int:
    """Return the number of 16-bit products that must use matrix instructions."""
    target = load_target_spec("h200")
    estimator, chip = (
        GpuEstimator.create_for_level(target, target.tile_levels[0]),
        Chip.from_target(target),
    )
    assert estimator is not None
    assert chip is not None
    limit = (
        LANES_MICROSECONDS * 1e3 * target.clock_ghz * chip.lane_rate * chip.processors
    )
    count = 0
    for group in module.walk():
        if isinstance(group, graph.GroupOp):
            members = members_of_group_op(group)
            count += sum(
                estimator.has_mma_shape(members, op)
                and itemsize_of(op.operands[0]) == 2
                and math.prod(members.op_facts.facts_of(op).extents) > limit
                for op in members.operations
                if isinstance(op, ContractionInterface)
            )
    return count


def _count_dots(plan: Plan) -> int:
    sources = {kernel.name: kernel.source for kernel in plan.kernels}
    return sum(
        sources[each.kernel].count("tl.dot(") for each in iterate_launches(plan.steps)
    )


def check_kernel(found: KernelResources, plan: Plan) -> Iterator[str]:
    """Yield the faults of one kernel."""
    (kernel,) = (each for each in plan.kernels if each.name == found.kernel)
    is_narrow = any(f"tl.{name}" in kernel.source for name in ("float16", "bfloat16"))
    for fault in find_kernel_faults(found):
        spilled = found.facts.spilled
        if "spills" not in fault or spilled > SPILLS[2 if is_narrow else 4]:
            yield fault
    assembly = found.assembly
    if assembly is not None and is_narrow and "tl.dot(" in kernel.source:
        if not assembly.wgmma + assembly.mma:
            yield f"kernel '{found.kernel}' has no matrix instructions"


def check_row(name: str, seed: int) -> tuple[str, str, tuple[str, ...]]:
    """Return the name of a row, a summary of its resources, and its faults."""
    (row,) = (row for row in gate_rows(seed) if row.name == name)
    try:
        facts = facts_of(row)
    except Exception as error:
        text = " ".join(str(error).split())
        return name, "", (f"{type(error).__name__}: {text[:200]}",)
    return name, facts.text, facts.faults


def main(arguments: Sequence[str] | None = None) -> int:
    """Compile the rows, and return the exit status."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").strip().split("\n")[0])
    parser.add_argument("--tier", default="core", choices=("core", "full"))
    parser.add_argument("--only", default="", help="part of the names of rows")
    parser.add_argument("--seed", type=int, default=0, help="of drawn sizes")
    parser.add_argument("--jobs", type=int, default=1, help="rows at a time")
    options = parser.parse_args(arguments, namespace=FactsOptions())
    names = [
        row.name
        for row in gate_rows(options.seed)
        if row.make is not None
        and options.only in row.name
        and (options.tier != CORE or row.tier == CORE)
    ]
    count = 0
    context: Any = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(options.jobs, mp_context=context) as pool:
        seeds = [options.seed] * len(names)
        for name, text, faults in pool.map(check_row, names, seeds):
            print(f"{name:<40} {text}", flush=True)
            for each in faults:
                print(f"  {each}", flush=True)
            count += len(cast(Sequence[str], faults))
    print(f"{len(names)} rows, {count} faults")
    return int(bool(count))


if __name__ == "__main__":
    sys.exit(main())
