"""The search of groups looks at no more than its program asks for."""

from itertools import pairwise

import compile_time
import pytest
import zoo
from xdsl.dialects.builtin import ModuleOp

from tlf.dialects.target import load

NPU = load("npu")


def layers(count: int) -> ModuleOp:
    """A transformer of so many layers."""
    return zoo.WORKLOADS["transformer"].module(16, divisor=4, layers=count)


@pytest.fixture(scope="module")
def efforts() -> list[compile_time.Effort]:
    """What transformers of 3, 4 and 5 layers take."""
    found = [compile_time.efforts(layers(count), NPU) for count in (3, 4, 5)]
    assert [len(each) for each in found] == [1] * len(found)
    return [each for (each,) in found]


def test_equal_layers_are_priced_once(efforts: list[compile_time.Effort]) -> None:
    assert len({each.priced for each in efforts}) == 1
    assert len({each.statistics.asked for each in efforts}) == 1


@pytest.mark.parametrize("count", ["downsets", "states", "candidates"])
def test_effort_is_linear_in_depth(
    efforts: list[compile_time.Effort], count: str
) -> None:
    found = [getattr(each.statistics, count) for each in efforts]
    assert len({after - before for before, after in pairwise(found)}) == 1


def test_nothing_is_left_out_but_large_groups(
    efforts: list[compile_time.Effort],
) -> None:
    """Two small layers would be one group of 18."""
    reasons = {each.statistics.reason for each in efforts}
    assert reasons == {"groups of more than 12 operations were left out"}


def test_few_groups_are_priced_for_what_is_compared():
    """Bounds settle most of what may be in memory around groups, and of their tiles."""
    module = zoo.WORKLOADS["resnet18"].module(32, divisor=4)
    (effort,) = compile_time.efforts(module, NPU)

    assert effort.statistics.asked < 900
    assert effort.tilings < 1300
