"""Kernels of the GPU gate take what a Hopper GPU has, and say so where they do not."""

from dataclasses import replace

import gpu_facts
import pytest
from gpu_gate_rows import GateRow, gate_rows

from tlf.runtime.triton.kernel_admission import KernelFacts
from tlf.runtime.triton.launch_plan import Kernel, Plan
from tlf.runtime.triton.offline_compiler import KernelResources
from tlf.runtime.triton.ptx_statistics import read_ptx_statistics

SAMPLE = (
    "add + layer norm bf16",
    "matmul gelu 8192x4096x4096",
    "attention 4x16x4096x64",
    "bottleneck 32x1024x14",
    "decode 4096",
)
"""Rows that compile in seconds, one of each kind."""


def row(name: str) -> GateRow:
    (found,) = (row for row in gate_rows(0) if row.name == name)
    return found


@pytest.mark.one_in(2)
@pytest.mark.parametrize("name", SAMPLE)
def test_kernels_hold_the_limits(name: str) -> None:
    found = gpu_facts.facts_of(row(name))
    assert found.kernels
    assert not found.faults


KERNEL = Kernel("f", "", "x = tl.dot(a.to(tl.float16), b)", (1,), 4, 3, ())

PLAN = Plan("main", (KERNEL,), (), 0, (), (), ())


@pytest.mark.parametrize(
    ("facts", "said"),
    [
        (KernelFacts(0, 512), []),
        (KernelFacts(0, 520), ["kernel 'f' spills 520 bytes"]),
        (
            KernelFacts(232456, 0),
            ["kernel 'f' takes 232456 bytes of shared memory, more than 232448"],
        ),
        (KernelFacts(0, 0, ("UR4",)), ["kernel 'f' is assembled wrongly: UR4"]),
    ],
)
def test_objections(facts: KernelFacts, said: list[str]) -> None:
    assembly = read_ptx_statistics(
        "wgmma.mma_async",
        f"Used 8 registers, {facts.spilled} bytes spill stores, 0 bytes spill loads",
    )
    found = KernelResources(
        "f", (1,), 4, 3, facts.shared, assembly, facts.wrong_descriptors
    )
    assert list(gpu_facts.check_kernel(found, PLAN)) == said
    bare = replace(found, assembly=replace(assembly, wgmma=0))
    last = "kernel 'f' has no matrix instructions"
    assert list(gpu_facts.check_kernel(bare, PLAN)) == [*said, last]
