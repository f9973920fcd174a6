"""Targets with half of a resource."""

from tlf.dialects.target import TargetSpec, load_target_spec
from tlf.planner.restricted_targets import targets_with_half_a_resource


def figures_of(target: TargetSpec) -> dict[str, object]:
    """Return the figures that may be halved, by name."""
    inner, outer, outermost = target.levels.values()
    matrix, vector = target.engines["matrix"], target.engines["vector"]
    return {
        "capacity": inner.capacity,
        "outermost bandwidth": outermost.bandwidth,
        "outer bandwidth": outer.bandwidth,
        "bandwidth": inner.bandwidth,
        "array": (matrix["rows"], matrix["cols"]),
        "lanes": vector["lanes"],
    }


def changed_figures(target: TargetSpec, level: str) -> list[set[str]]:
    """Return the names of the figures that each restricted target changes."""
    before = figures_of(target)
    return [
        {name for name, value in figures_of(each).items() if value != before[name]}
        for each in targets_with_half_a_resource(target, target.levels[level])
    ]


def test_each_target_has_half_of_one_resource():
    target = load_target_spec("npu-tiny")
    assert changed_figures(target, "L2") == [{name} for name in figures_of(target)]
    (smaller, *_) = targets_with_half_a_resource(target, target.levels["L1"])
    assert 2 * smaller.levels["L1"].capacity == target.levels["L1"].capacity


def test_odd_figures_are_not_halved():
    target = load_target_spec("npu-tiny").with_capacities({"L1": 8191})
    assert {"capacity"} not in changed_figures(target, "L1")


def test_inner_tiles_do_not_depend_on_the_outermost_memory():
    target = load_target_spec("npu-tiny")
    names = [{name} for name in figures_of(target) if name != "outermost bandwidth"]
    assert changed_figures(target, "L1") == names
