"""The search of groups starts again with smaller ones where it takes too much."""

from __future__ import annotations

from dataclasses import replace

import pytest
from differential import parsed
from kept_groups import run_passes

from tlf.dialects.target import load_target_spec
from tlf.passes.plan.graph_partition import GraphPartitionPass
from tlf.planner.partition import group_cost_model
from tlf.planner.partition.group_cost_model import GroupCosts
from tlf.planner.settings.search_budgets import PARTITION

LENGTH = 6


def chain() -> str:
    """Products one after the other, that run as one where that is looked at."""
    kind = "tensor<64x64xf32>"
    lines = [
        f"%{n} = graph.matmul %{n - 1 if n else 'x'}, %w : ({kind}, {kind}) -> {kind}"
        for n in range(LENGTH)
    ]
    body = "\n".join(lines)
    arguments = f"%x: {kind}, %w: {kind}"
    return f"""
    func.func @f({arguments}) -> {kind} {{
      {body}
      func.return %{LENGTH - 1} : {kind}
    }}
    """


def group_sizes(max_work: int) -> list[int]:
    """Return the sizes of the groups that a chain is partitioned into."""
    context, module = parsed(chain())
    target = load_target_spec("npu")
    target.attach_to_module(module)
    run_passes(context, module, target, "graph-decompose,graph-group")
    passes = GraphPartitionPass(max_evaluations=0, max_analyzed_operations=max_work)
    (found,) = passes.search_partitions(context, module, target, target.tile_levels[0])
    sizes = [group.bit_count() for group in found.schedule.groups]
    assert sum(sizes) == LENGTH
    return sizes


@pytest.mark.parametrize(("work", "most"), [(300_000, LENGTH), (20, 2)])
def test_groups_are_smaller_with_less_work(work: int, most: int):
    assert max(group_sizes(work)) == most


def test_groups_are_smaller_if_the_projected_work_is_too_much(
    monkeypatch: pytest.MonkeyPatch,
):
    strict = replace(PARTITION, min_projected_work=0.0, max_projected_work=0.0)
    monkeypatch.setattr(group_cost_model, "PARTITION", strict)
    assert max(group_sizes(300_000)) < LENGTH


def test_progress_counts_distinct_operations(monkeypatch: pytest.MonkeyPatch):
    fractions: list[float] = []

    def record(costs: GroupCosts, fraction: float) -> None:
        fractions.append(fraction)

    monkeypatch.setattr(GroupCosts, "report_progress", record)
    group_sizes(300_000)
    assert fractions == sorted(fractions)
    assert 0 < fractions[0] <= fractions[-1] == 1
    # All products between the first and the last are equal.
    assert len(set(fractions)) < LENGTH - 1
