"""The search of groups starts again with smaller ones where it takes too much."""

from __future__ import annotations

import pytest
from differential import parsed
from kept_groups import run_passes

from tlf.dialects.target import load_target_spec
from tlf.passes.plan.graph_partition import GraphPartitionPass

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


@pytest.mark.parametrize(("work", "most"), [(300_000, LENGTH), (20, 2)])
def test_groups_are_smaller_with_less_work(work: int, most: int):
    context, module = parsed(chain())
    target = load_target_spec("npu")
    target.attach_to_module(module)
    run_passes(context, module, target, "graph-decompose,graph-group")
    passes = GraphPartitionPass(max_evaluations=0, max_analyzed_operations=work)
    (found,) = passes.search_partitions(context, module, target, target.tile_levels[0])
    sizes = [group.bit_count() for group in found.schedule.groups]
    assert sum(sizes) == LENGTH
    assert max(sizes) == most
