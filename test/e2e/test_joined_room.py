"""Concat operands computed long before the concatenation find room in L2."""

import pytest
from differential import parsed
from kept_groups import run_passes
from skipping_programs import skipping_program

from tlf.dialects.target import load_target_spec
from tlf.lowering.pipelines import pipelines_for

PARTITION = "graph-partition{level=L2}"


def is_copied(text: str, target_name: str) -> bool:
    """
    Return `True` if something is copied for want of room. Raises where buffers do not
    fit, for the schedules that are the best by the formula.
    """
    context, module = parsed(text)
    target = load_target_spec(target_name)
    target.attach_to_module(module)
    passes = pipelines_for(target)["npu-pipeline"].split(",convert-mem-to-npu")[0]
    assert PARTITION in passes
    first = PARTITION.replace("}", " max-evaluations=1}")
    run_passes(context, module, target, passes.replace(PARTITION, first))
    return "the level has no room for the result" in str(module)


@pytest.mark.long
@pytest.mark.one_in(3)
@pytest.mark.parametrize(("seed", "room"), [(4, "4K"), (7, "8K"), (9, "6K")])
def test_whole_has_no_room(seed: int, room: str):
    """All that is joined has no room from when its first part is made."""
    assert is_copied(skipping_program(seed), f"npu-tiny:L2={room},L1=2K")


@pytest.mark.long
@pytest.mark.one_in(32)
@pytest.mark.parametrize("room", ["4K", "6K", "8K", "10K"])
@pytest.mark.parametrize("seed", range(10, 26))
def test_joined_room(seed: int, room: str):
    is_copied(skipping_program(seed), f"npu-tiny:L2={room},L1=2K")
