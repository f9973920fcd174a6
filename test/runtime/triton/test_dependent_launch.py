"""Kernels that wait for the one before, and GPUs without dependent launches."""

import json

import pytest
from differential import parsed

from tlf.compiler.driver.driver import PASSES
from tlf.compiler.driver.pass_manager import PassManager
from tlf.compiler.driver.pipeline import build_passes
from tlf.dialects.target import load_target_spec
from tlf.lowering.mem_to_triton.triton_target import build_launch_plan
from tlf.lowering.pipelines import PIPELINES
from tlf.runtime.triton.dependent_launch import adapt_to_capability
from tlf.runtime.triton.launch_plan import Plan, load_plan
from tlf.runtime.triton.offline_compiler import OfflineCompiler

PROGRAM = """
func.func @f(%x: tensor<64x64xf32>) -> tensor<64x64xf32> {
  %y = graph.exp %x : tensor<64x64xf32>
  func.return %y : tensor<64x64xf32>
}
"""


@pytest.fixture(scope="module")
def plan() -> Plan:
    """A plan for an H200."""
    context, module = parsed(PROGRAM)
    load_target_spec("h200").attach_to_module(module)
    passes = build_passes("triton-pipeline", PASSES, PIPELINES)
    PassManager(passes).run(context, module)
    return load_plan(json.dumps(build_launch_plan(module).json))


def test_kernels_wait_only_where_gpus_can(plan: Plan) -> None:
    assert adapt_to_capability(plan, 90) is plan
    assert adapt_to_capability(plan, 100) is plan
    assert all(each.is_dependent for each in plan.kernels)
    older = adapt_to_capability(plan, 89)
    for kernel, other in zip(plan.kernels, older.kernels, strict=True):
        assert not other.is_dependent
        assert other.sha256 != kernel.sha256
        lines = zip(kernel.source.split("\n"), other.source.split("\n"), strict=True)
        changed = [b.strip() for a, b in lines if a != b]
        assert changed == ["pass", "pass"]
    assert older.steps == plan.steps


@pytest.mark.parametrize("capability", [80, 90])
def test_gpus_have_the_instructions_of_a_plan(plan: Plan, capability: int) -> None:
    with OfflineCompiler(capability) as compiler:
        (resources,) = compiler.compile_plan_kernels(plan)
    assert resources.assembly is not None
    assert resources.assembly.registers > 0
