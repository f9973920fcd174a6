"""Functions of several groups with values resident in L2, with random plans."""

from collections.abc import Iterator, Sequence

import numpy as np
from differential import Array, Arrays, run_lowered
from numpy.random import Generator
from random_stacks import stack
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue
from xdsl.parser import Parser

from tlf.analysis.tiling.group_analysis import tile_rules_of
from tlf.analysis.tiling.group_members import members_of_group_op
from tlf.analysis.tiling.group_tiling import TilingError
from tlf.analysis.tiling.tile_rules import TileRules
from tlf.compiler.driver.driver import PASSES
from tlf.compiler.driver.pass_manager import PassManager
from tlf.compiler.driver.pipeline import build_passes
from tlf.dialects import graph
from tlf.dialects.interpreters.interpret import interpret
from tlf.dialects.target import TargetSpec
from tlf.lowering.pipelines import pipelines_for

TILES = (
    "graph-mark-in-place,convert-graph-to-tile,graph-decompose,tidy,"
    "graph-group{level=L1},graph-select-tile-sizes{level=L1},dce,convert-graph-to-tile,tidy"
)
BUFFERS = "convert-tile-to-mem,tidy,mem-fold-fills,mem-pipeline,mem-split-maps"
INSTRUCTIONS = "mem-plan,convert-mem-to-npu,tidy"


def run_passes(
    context: Context, module: ModuleOp, target: TargetSpec, passes: str
) -> None:
    instances = build_passes(passes, PASSES, pipelines_for(target))
    PassManager(instances).run(context, module)


def ungrouped(context: Context, rng: Generator, results: int = 1) -> ModuleOp:
    """
    Return a random stack of operations on whole tensors, with at most `results`
    results.
    """
    module = Parser(context, stack(rng, results)).parse_module()
    (group,) = groups_of(module)
    values = dict[SSAValue, SSAValue](
        zip(group.body.block.args, group.inputs, strict=True)
    )
    block = group.parent
    assert block is not None
    for op in group.body.block.ops:
        if not isinstance(op, graph.YieldOp):
            block.insert_op_before(op.clone(values), group)
    for result, value in zip(group.results, group.yielded_values, strict=True):
        result.replace_all_uses_with(values[value])
    group.detach()
    group.erase()
    return module


def groups_of(module: ModuleOp) -> list[graph.GroupOp]:
    return [op for op in module.walk() if isinstance(op, graph.GroupOp)]


def plan_all(module: ModuleOp, target: TargetSpec, rng: Generator) -> int:
    """
    Assign random plans for L2 to all groups. Returns the number of retained results.
    """
    count = 0
    for group in groups_of(module):
        group.plan = next(_plans(group, tile_rules_of(target, "L2"), rng))
        count += len(group.plan.retained_results)
    return count


def _plans(
    group: graph.GroupOp, rules: TileRules, rng: Generator
) -> Iterator[graph.PlanAttr]:
    """Yield random legal plans."""
    members = members_of_group_op(group)
    axes = members.tileable_axes(rules)
    retained = [
        index
        for index, result in enumerate(group.results)
        if any(isinstance(use.operation, graph.GroupOp) for use in result.uses)
        and rng.random() < 0.8
    ]
    while True:
        sizes = [
            int(rng.integers(1, extent + 1)) if free and rng.random() < 0.7 else extent
            for extent, free in zip(axes.parallel, axes.free, strict=True)
        ]
        resident = [n for n in range(len(group.inputs)) if rng.random() < 0.6]
        reloaded = [n for n in resident if rng.random() < 0.2]
        roll = [2] if len(sizes) == 4 and rng.random() < 0.3 else []
        stages = int(rng.integers(1, 4))
        plan = graph.PlanAttr(
            "L2",
            sizes,
            stages=stages,
            sliding=roll,
            retain=retained,
            resident=resident,
            reload=reloaded,
        )
        try:
            members.analyze_tiles_of_sizes(sizes, (), rules)
        except TilingError:
            continue
        yield plan


def lowered(
    context: Context,
    module: ModuleOp,
    target: TargetSpec,
    arguments: Arrays,
    expected: Sequence[Array],
) -> Iterator[None]:
    """
    Lower planned groups to tiles, to buffers and to instructions.

    Yields after each step; resuming compares the results of the step with the expected
    ones.
    """
    for passes in (TILES, BUFFERS, INSTRUCTIONS):
        run_passes(context, module, target, passes)
        yield
        if passes == INSTRUCTIONS:
            results = run_lowered(context, module, target, arguments)
        else:
            results = tuple(interpret(module, arguments))
        for actual, reference in zip(results, expected, strict=True):
            bound = 2e-2 * np.abs(reference.astype(float)).max()
            np.testing.assert_allclose(
                actual.astype(float), reference.astype(float), 0, bound
            )
