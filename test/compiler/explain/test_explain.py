"""Report of groups: memory, recomputation, and why groups are apart."""

from collections.abc import Callable
from dataclasses import replace
from math import prod

import pytest
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.rewriter import InsertPoint, Rewriter

from tlf.compiler.driver.driver import PASSES, new_context, parse_module
from tlf.compiler.driver.pass_manager import PassManager
from tlf.compiler.driver.pipeline import build_passes
from tlf.compiler.driver.source import Source
from tlf.compiler.explain.cost_estimates import GroupEstimator
from tlf.compiler.explain.partition_choices import (
    Cost,
    PartitionChoice,
    RecordingPartitionPass,
)
from tlf.compiler.explain.peak_memory import MemoryUse
from tlf.compiler.explain.plan_report import FunctionReport, report_functions
from tlf.compiler.explain.why_not_fused import (
    BindingConstraint,
    FusionVerdict,
    explain_why_not_fused,
)
from tlf.dialects import graph
from tlf.dialects.interfaces import ContractionInterface, ElementwiseInterface
from tlf.dialects.target import load_target_spec
from tlf.lowering.pipelines import PIPELINES
from tlf.passes.plan.graph_partition import GraphPartitionPass
from tlf.planner.layout.declared_layouts import values_of_any_layout
from tlf.planner.partition.block_problem import partition_problems_of
from tlf.planner.partition.merged_group import MergedGroup
from tlf.planner.partition.schedule_refinement import EvaluatedTimes
from tlf.support.partition import search_schedule

PAIR = """
  func.func @f(%x: tensor<1x8x20x16xf32>, %w: tensor<8x8x3x3xf32> {tlf.parameter},
      %v: tensor<8x8x3x3xf32> {tlf.parameter}) -> tensor<1x8x20x16xf32> {
    %a = graph.conv2d %x, %w padding [1, 1, 1, 1]
        : (tensor<1x8x20x16xf32>, tensor<8x8x3x3xf32>) -> tensor<1x8x20x16xf32>
    %b = graph.conv2d %a, %v padding [1, 1, 1, 1]
        : (tensor<1x8x20x16xf32>, tensor<8x8x3x3xf32>) -> tensor<1x8x20x16xf32>
    %y = graph.add %b, %x
        : (tensor<1x8x20x16xf32>, tensor<1x8x20x16xf32>) -> tensor<1x8x20x16xf32>
    func.return %y : tensor<1x8x20x16xf32>
  }
"""
APART = """
  func.func @f(%x: tensor<64x64xf32>, %z: tensor<64x64xf32>)
      -> (tensor<64x64xf32>, tensor<64x64xf32>) {
    %a = graph.exp %x : tensor<64x64xf32>
    %b = graph.exp %z : tensor<64x64xf32>
    func.return %a, %b : tensor<64x64xf32>, tensor<64x64xf32>
  }
"""
WHOLE = """
  func.func @f(%x: tensor<64x64xf32>, %w: tensor<64x64xf32>, %v: tensor<64x64xf32>)
      -> tensor<64x64xf32> {
    %a = graph.matmul %x, %w : (tensor<64x64xf32>, tensor<64x64xf32>)
        -> tensor<64x64xf32>
    %b = graph.matmul %a, %v : (tensor<64x64xf32>, tensor<64x64xf32>)
        -> tensor<64x64xf32>
    func.return %b : tensor<64x64xf32>
  }
"""


def grouped(program: str, target: str, passes: str = "") -> ModuleOp:
    """A program after `graph-group` and other passes."""
    context = new_context()
    module = parse_module(context, Source(program, "program.mlir"))
    load_target_spec(target).attach_to_module(module)
    pipeline = f"graph-pipeline,graph-group{{level=L2}}{passes}"
    PassManager(build_passes(pipeline, PASSES, PIPELINES)).run(context, module)
    return module


def plan_of(rows: int, stages: int = 1, roll: tuple[int, ...] = ()) -> graph.PlanAttr:
    """A plan for `PAIR` in one group: tiles of so many rows."""
    return graph.PlanAttr("L2", (1, 8, rows, 16), stages=stages, sliding=roll)


def one_group(plan: graph.PlanAttr) -> FunctionReport:
    """The report on `PAIR` on `npu`, in one group with a plan."""
    module = grouped(PAIR, "npu")
    first, second = (op for op in module.walk() if isinstance(op, graph.GroupOp))
    merged = MergedGroup([first, second]).to_group_operation()
    merged.plan = plan
    Rewriter.insert_op(merged, InsertPoint.after(second))
    second.results[0].replace_all_uses_with(merged.results[0])
    Rewriter.erase_op(second)
    Rewriter.erase_op(first)
    (report,) = report_functions(module)
    return report


def test_the_parts_of_a_peak_make_up_what_is_live():
    # One tile needs the weights of one product after the other, loops need all.
    for plan, count in (plan_of(5, 2, (2,)), 2), (plan_of(5, 2), 2), (plan_of(20), 1):
        (group,) = one_group(plan).groups
        peak = group.peak

        assert sum(peak.uses.values()) == peak.live
        assert peak.live <= peak.height == peak.live + peak.fragmentation
        assert peak.uses[MemoryUse.WEIGHTS] == count * 8 * 8 * 9 * 4


def test_what_overlaps_is_halo_and_what_waits_is_a_skip():
    uses = one_group(plan_of(5, 2, (2,))).groups[0].peak.uses
    row = 8 * 16 * 4

    # Of the image, nine rows are read for a tile of five, and five of them are new; the
    # first nest reads it, and the second one, that adds.
    assert uses[MemoryUse.HALO] >= 2 * row
    assert uses[MemoryUse.OUTPUTS] == 5 * row
    assert uses[MemoryUse.DOUBLE_BUFFERS] > uses[MemoryUse.OUTPUTS]
    assert uses[MemoryUse.RESIDENT] == 0


def brute(report: FunctionReport, of: type[object]) -> tuple[int, int]:
    """Return the work of all iterations, counted one by one, and the least possible."""
    price = report.groups[0].estimate
    done = once = 0
    loops = list(price.tiling.loops.values())
    assert len(loops) == 1
    for tiled in price.tiling.tiles.values():
        if not isinstance(tiled.op, of):
            continue
        terms = 72 if isinstance(tiled.op, ContractionInterface) else 1
        for trip in range(loops[0].trips):
            done += terms * prod(
                max(0, min(first + each.size, extent) - max(first, 0))
                for each, extent in zip(tiled.computed_box, (1, 8, 20, 16), strict=True)
                for first in [
                    each.offset.constant
                    + sum(f * trip * loops[0].tile for _, f in each.offset.terms)
                ]
            )
        once += terms * 8 * 20 * 16
    return done, once


@pytest.mark.parametrize("rows", [5, 7])
def test_what_is_computed_again_is_counted(rows: int):
    report = one_group(plan_of(rows))
    found = report.groups[0].recomputation

    assert (found.products, found.distinct_products) == brute(
        report, ContractionInterface
    )
    assert (found.elements, found.distinct_elements) == brute(
        report, ElementwiseInterface
    )
    assert 0 < found.product_share < 0.5
    assert found.element_share == 0


def test_nothing_is_computed_again_where_tiles_roll():
    for plan in plan_of(5, 1, (2,)), plan_of(20):
        assert one_group(plan).groups[0].recomputation.product_share == 0


def test_bounds_of_groups_leave_out_what_stays_near():
    module = grouped(WHOLE, "npu", ",graph-partition{level=L2 strategy=unfused}")
    first, second = (op for op in module.walk() if isinstance(op, graph.GroupOp))
    assert first.plan is not None
    tensor = 64 * 64 * 4
    pricing = GroupEstimator(load_target_spec("npu"))
    apart = [pricing.estimate_group(each) for each in (first, second)]
    first.plan = graph.PlanAttr("L2", first.plan.tile_sizes, retain=[0])
    second.plan = graph.PlanAttr("L2", first.plan.tile_sizes, resident=[0])
    near = [pricing.estimate_group(each) for each in (first, second)]

    assert [p.bounds.payload_bytes for p in apart if p] == [3 * tensor, 3 * tensor]
    assert [p.bounds.payload_bytes for p in near if p] == [2 * tensor, 2 * tensor]
    assert [p.predicted.bytes for p in near if p] == [2 * tensor, 2 * tensor]
    (report,) = report_functions(module)
    assert [each.peak.uses[MemoryUse.RESIDENT] for each in report.groups] == [
        tensor,
        tensor,
    ]
    assert report.bounds.payload_bytes == report.bytes == 4 * tensor


def verdict(
    program: str, target: str, of: Callable[[Operation], bool], **options: int
) -> FusionVerdict:
    """Return the verdict on why the first two operations of a kind are apart."""
    module = grouped(program, target)
    first, second, *_ = [op for op in module.walk() if of(op)]
    partitioner = replace(GraphPartitionPass(level="L2"), **options)
    return explain_why_not_fused(
        module, (first, second), load_target_spec(target), partitioner
    )


@pytest.mark.parametrize("is_chosen", [True, False])
def test_what_the_event_model_decided(is_chosen: bool):
    """It may choose what is not the best by the formula."""
    module = grouped(PAIR, "npu")
    first, second, *_ = (op for op in module.walk() if is_product(op))
    target = load_target_spec("npu")
    (function,) = (op for op in module.walk() if isinstance(op, func.FuncOp))
    free = frozenset(values_of_any_layout(function))
    (stated,) = partition_problems_of(function.body.block, target.levels["L2"], free)
    partitioner = GraphPartitionPass(level="L2")
    costs = partitioner.cost_model_of(stated, target, target.levels["L2"])
    best, apart = (
        search_schedule(stated.problem, costs, each) for each in ("dp", "unfused")
    )
    chosen = best.schedule if is_chosen else apart.schedule
    cost = Cost(chosen.time, chosen.bytes)
    told = EvaluatedTimes(5, 100, 120)
    choice = PartitionChoice(
        (), (), cost, None, best.statistics, stated.problem, chosen, told
    )
    found = explain_why_not_fused(
        module, (first, second), target, partitioner, [choice]
    )

    if is_chosen:
        assert found.binding is BindingConstraint.NOTHING
        return
    assert found.binding is BindingConstraint.COST
    assert "another of 5 evaluated schedules" in found.reason
    assert found.cycle_difference == 20
    assert found.change is not None
    assert found.change.text == "graph-partition{max-evaluations=0}"


def is_product(op: Operation) -> bool:
    return isinstance(op, ContractionInterface)


def test_no_search_covers_both():
    found = verdict(APART, "npu", lambda op: op.name == "graph.exp")

    assert found.binding is BindingConstraint.LEGALITY
    assert found.cycle_difference is None


def test_a_limit_of_the_search():
    found = verdict(PAIR, "npu:L2=16K", is_product, max_contractions=1)

    assert found.binding is BindingConstraint.LIMIT
    assert found.change is not None
    assert found.change.text == "graph-partition{max-group-size=2 max-contractions=2}"


def test_a_capacity_that_is_too_small():
    found = verdict(PAIR, "npu:L2=4800", is_product)

    assert found.binding is BindingConstraint.CAPACITY
    assert "bytes of L2" in found.reason
    if found.change is not None:
        assert found.change.after.cycles < found.change.before.cycles


def test_cost_and_the_capacity_with_which_it_pays():
    found = verdict(PAIR, "npu:L2=16K", is_product)

    assert found.binding is BindingConstraint.COST
    assert found.best is not None
    assert found.fused is not None
    assert found.cycle_difference == found.fused.cycles - found.best.cycles > 0


def test_what_was_evaluated():
    """
    The event model's choice is reported as the fastest, though it is not by the
    formula.
    """
    module = grouped(PAIR, "npu:L2=16K")
    recording = RecordingPartitionPass.with_options_of(GraphPartitionPass(level="L2"))
    PassManager([recording]).run(new_context(), module)
    (choice,) = recording.choices

    assert choice.evaluation is not None
    assert choice.evaluation.selected_cycles < choice.evaluation.analytic_best_cycles
    assert choice.evaluation.program_count > 2


def test_what_was_chosen_from():
    module = grouped(PAIR, "npu:L2=16K")
    recording = RecordingPartitionPass.with_options_of(
        GraphPartitionPass(level="L2", max_evaluations=0)
    )
    PassManager([recording]).run(new_context(), module)
    (choice,) = recording.choices

    assert choice.unfused_cost is not None
    assert choice.cost.cycles <= choice.unfused_cost.cycles
    assert all(
        choice.cost.cycles <= other.cost.cycles
        for others in choice.alternatives
        for other in others
    )
    (report,) = report_functions(module)
    assert report.cycles == choice.cost.cycles
    assert report.bytes == choice.cost.bytes
