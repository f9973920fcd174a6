"""Groups that run as one compute what they did apart."""

import pytest
import zoo
from differential import compiled_results, disagreement, make_case

from tlf.dialects.target import load
from tlf.lowering.pipelines import pipelines_for


def partitioned(target: str, strategy: str) -> str:
    """The pipeline of a target, with groups that may run as one."""
    text = pipelines_for(load(target))["npu-pipeline"]
    options = f"level=L2 strategy={strategy} groups=4"
    assert "graph-partition{level=L2}" in text
    return text.replace("graph-partition{level=L2}", f"graph-partition{{{options}}}")


@pytest.mark.one_in(2)
@pytest.mark.parametrize("target", ["npu-tiny", "npu"])
@pytest.mark.parametrize(
    ("name", "strategy"),
    [
        ("bottleneck", "dp"),
        ("bottleneck", "greedy"),
        ("mbconv", "dp"),
        ("resnet18", "dp"),
        ("transformer", "dp"),
        ("random-dag", "dp"),
        ("random-tree", "dp"),
    ],
)
def test_values(name: str, strategy: str, target: str):
    text = str(zoo.WORKLOADS[name].small_module("f32"))
    case = make_case(text)
    results = compiled_results(text, case.inputs, target, partitioned(target, strategy))
    assert disagreement(case, results) is None
