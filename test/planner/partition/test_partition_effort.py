"""The search of groups looks at no more than its program asks for."""

from itertools import pairwise

import compile_time
import pytest
import zoo
from xdsl.dialects.builtin import ModuleOp
from zoo_builder import GraphBuilder, WorkloadSizes
from zoo_language import layer_norm

from tlf.dialects import graph
from tlf.dialects.target import load_target_spec

NPU = load_target_spec("npu")

LAYERS = {"plain": (6, 7, 8), "attention": (4, 5, 6)}
"""Numbers of layers of the programs of each kind."""


def layers(kind: str, count: int) -> ModuleOp:
    """A transformer of so many layers, or what is in them beside attention."""
    if kind == "attention":
        return zoo.WORKLOADS["transformer"].module(16, divisor=4, layers=count)
    builder = GraphBuilder(WorkloadSizes(8))
    x = builder.input("x", (8, 48))
    for number in range(count):
        inside = layer_norm(builder, f"norm{number}", x)
        value = builder.linear(f"first{number}", inside, 4 * 48)
        value = builder.emit(graph.GeluOp(value))
        x = builder.add(x, builder.linear(f"second{number}", value, 48))
    return builder.build_module("layers", x)


@pytest.fixture(scope="module", params=LAYERS)
def efforts(request: pytest.FixtureRequest) -> list[compile_time.SearchEffort]:
    """Return the efforts for programs of three numbers of layers."""
    kind = request.param
    found = [
        compile_time.measure_search(layers(kind, each), NPU) for each in LAYERS[kind]
    ]
    assert [len(each) for each in found] == [1] * len(found)
    return [each for (each,) in found]


@pytest.mark.long
@pytest.mark.long
def test_equal_layers_are_priced_once(efforts: list[compile_time.SearchEffort]) -> None:
    assert len({each.priced for each in efforts}) == 1
    assert len({each.statistics.queries for each in efforts}) == 1


@pytest.mark.long
def test_effort_is_linear_in_depth(efforts: list[compile_time.SearchEffort]) -> None:
    for count in ("downsets", "states", "candidates"):
        found = [getattr(each.statistics, count) for each in efforts]
        assert len({after - before for before, after in pairwise(found)}) == 1


@pytest.mark.long
def test_nothing_is_left_out_but_large_groups(
    efforts: list[compile_time.SearchEffort],
) -> None:
    """Fewer layers would be one group."""
    reasons = {each.statistics.reason for each in efforts}
    assert reasons == {"groups of more than 12 operations were left out"}


def test_few_groups_are_priced_for_what_is_compared():
    """Bounds settle most of what may be in memory around groups, and of their tiles."""
    module = zoo.WORKLOADS["resnet18"].module(32, divisor=4)
    (effort,) = compile_time.measure_search(module, NPU)

    assert effort.statistics.queries < 900
    assert effort.tilings < 1300
