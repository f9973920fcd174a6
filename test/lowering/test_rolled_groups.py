"""Groups whose tiles roll, on the NPU: windows are rings, and nothing is copied."""

import numpy as np
import pytest
from differential import (
    PASSES,
    PassManager,
    build_passes,
    new_context,
    pipelines_for,
    run_lowered,
)
from random_stacks import stack
from tiled_groups import arguments_of
from xdsl.dialects import func
from xdsl.parser import Parser

from tlf.analysis.operations.op_facts import OpFacts
from tlf.analysis.tiling.group_members import members_of_group_op
from tlf.dialects import graph, tile
from tlf.dialects.interpreters.interpret import interpret
from tlf.dialects.target import load_target_spec

TILES = (
    "convert-graph-to-tile,graph-decompose,tidy,graph-group{level=L1},"
    "graph-select-tile-sizes{level=L1},dce,convert-graph-to-tile,tidy"
)
BUFFERS = "convert-tile-to-mem,tidy"
INSTRUCTIONS = "mem-pipeline,mem-split-maps,mem-plan,convert-mem-to-npu,tidy"


@pytest.mark.one_in(1 / 2)
@pytest.mark.parametrize("lead", range(2))
@pytest.mark.parametrize("seed", range(12))
def test_rolled_groups(seed: int, lead: int) -> None:
    rng = np.random.default_rng(seed)
    context = new_context()
    module = Parser(context, stack(rng)).parse_module()
    (group,) = (op for op in module.walk() if isinstance(op, graph.GroupOp))
    *outer, rows, columns = OpFacts(members_of_group_op(group).root).parallel_extents
    sizes = [*outer, int(rng.integers(1, rows + 1)), columns]
    stages = int(rng.integers(1, 4))
    group.plan = graph.PlanAttr(
        "L2", sizes, stages=stages, sliding=[2], prefetch_distance=lead
    )
    module.verify()
    arguments = arguments_of(module, rng)
    expected = interpret(module, arguments)
    target = load_target_spec("npu-tiny")
    target.attach_to_module(module)

    def run(passes: str) -> None:
        made = build_passes(passes, PASSES, pipelines_for(target))
        PassManager(made).run(context, module)

    run(TILES)
    rolls = any(isinstance(op, tile.RollOp) for op in module.walk())
    run(BUFFERS)
    (function,) = (op for op in module.walk() if isinstance(op, func.FuncOp))
    remarks = [str(each) for each in graph.remarks_of(function)]
    assert not [each for each in remarks if "convert-tile-to-mem: missed" in each]
    assert ("mem.window" in str(module)) == rolls
    run(INSTRUCTIONS)
    results = run_lowered(context, module, target, arguments)
    for found, wanted in zip(results, expected, strict=True):
        bound = 2e-2 * np.abs(wanted.astype(float)).max()
        np.testing.assert_allclose(found.astype(float), wanted.astype(float), 0, bound)
