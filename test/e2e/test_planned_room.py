"""What the choice of plans takes to fit in L2 has a place there."""

import numpy as np
import pytest
import zoo
from differential import compiled_results, disagreement, make_case, new_context
from kept_groups import groups_of, run_passes, ungrouped

from tlf.dialects.target import load
from tlf.lowering.pipelines import pipelines_for

ENDS = "mem-plan"
"""The pass that says whether buffers fit."""


@pytest.mark.parametrize("room", ["8K", "16K"])
@pytest.mark.parametrize("seed", range(6))
def test_planned_room(seed: int, room: str) -> None:
    context, target = new_context(), load(f"npu-tiny:L2={room}")
    module = ungrouped(context, np.random.default_rng(seed))
    target.attach(module)
    passes = pipelines_for(target)["npu-pipeline"]
    first, rest = passes.split("dce,graph-mark-in-place", 1)
    run_passes(context, module, target, f"{first}dce")
    assert all(group.plan is not None for group in groups_of(module))
    run_passes(
        context, module, target, f"graph-mark-in-place{rest.split(',' + ENDS)[0]}"
    )
    run_passes(context, module, target, ENDS)


def test_room_of_what_moves_out() -> None:
    """A result moves out while the next group needs all that there is of L2."""
    case = make_case(str(zoo.WORKLOADS["random-dag"].small_module("f32")))
    results = compiled_results(case.text, case.inputs, "npu-tiny:L2=2K,L1=1K")
    assert disagreement(case, results) is None


def test_room_of_what_several_groups_read() -> None:
    """Groups load a tensor each by itself, where no plan keeps it near."""
    case = make_case(str(zoo.WORKLOADS["transformer"].small_module("f32")))
    results = compiled_results(case.text, case.inputs, "npu-tiny:L2=8K,L1=2K")
    assert disagreement(case, results) is None
