"""Properties of `graph-partition`, over small random networks and simulated cycles."""

from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from optimality import measure_row
from optimality_chip import Chip, functions_of, small_chips, with_level
from optimality_exhaustive import PlanCache
from optimality_graphs import small_network
from optimality_search_space import ProgramNodes, enumerate_partitions
from optimised import chip, cycles, grouped, modelled, reordered, with_engine
from zoo_builder import GraphBuilder, WorkloadSizes

from tlf.analysis.bounds.lower_bounds import lower_bounds_of
from tlf.compiler.driver.driver import TARGETS, emit_text, new_context
from tlf.compiler.driver.pipeline import build_target
from tlf.dialects import graph
from tlf.dialects.graph import remarks_of
from tlf.passes.report.mem_report_copies import NO_COPIES, MemReportCopiesPass
from tlf.passes.report.tile_verify_coverage import ATTRIBUTE, TileVerifyCoveragePass
from tlf.runtime import npu
from tlf.runtime.npu.dtypes import DTYPES
from tlf.support.partition import STRATEGIES

pytestmark = pytest.mark.searched

SEEDS = (4, 3, 5, 6, 7)
CHIPS = ("roomy", "near")
SLACK = 1.08
"""By how much the model may be wrong on programs whose moves take little time."""


def chain(*channels: int):
    """Convolutions of one tap, one after the other."""
    builder = GraphBuilder(WorkloadSizes(1))
    x = builder.input("x", (1, channels[0], 8, 8))
    for number, count in enumerate(channels[1:]):
        x = builder.conv(f"conv{number}", x, count)
    return builder.build_module("chain", x)


@pytest.mark.one_in(12)
@pytest.mark.parametrize("name", CHIPS)
@pytest.mark.parametrize("seed", SEEDS)
def test_no_strategy_is_better(seed: int, name: str):
    module = grouped(seed, name)
    others = [each for each in STRATEGIES if each != "dp"]

    best = modelled(chip(name), module, "dp")
    assert all(best <= modelled(chip(name), module, each) for each in others)
    found = cycles(chip(name), module)
    for each in others:
        assert found <= SLACK * cycles(chip(name), module, f"strategy={each}")


@pytest.mark.one_in(1 / 4)
@pytest.mark.parametrize("seed", [7, 4])
def test_as_good_as_the_best_of_all(seed: int):
    found = measure_row(seed, "roomy", chip("roomy"), PlanCache())

    (function,) = functions_of(grouped(seed, "roomy"))
    assert (
        lower_bounds_of(function, chip("roomy").target).cycles_quantised <= found.best
    )
    assert found.gap is not None
    assert found.gap <= 0.05


def test_all_partitions_are_tried():
    nodes = ProgramNodes(chip("roomy").group_module(chain(4, 4, 4, 4, 4)))

    assert len(nodes.operations) == 4
    assert len(set(enumerate_partitions(nodes))) == 2**3


@pytest.mark.long
def test_cut_that_loses_at_once_wins_later():
    """The middle value is the largest, but to cut there saves two others."""
    on = chip("roomy")
    module = on.group_module(chain(4, 8, 12, 8, 4))

    def groups(strategy: str) -> list[int]:
        made = on.partition_module(
            module, f"strategy={strategy} residency=false max-group-size=2"
        )
        return [
            sum(isinstance(op, graph.Conv2dOp) for op in group.body.block.ops)
            for group in made.walk()
            if isinstance(group, graph.GroupOp)
        ]

    assert groups("greedy") == [1, 2, 1]
    assert groups("dp") == [2, 2]
    limits = "residency=false max-group-size=2"
    assert cycles(on, module, limits) < cycles(on, module, f"{limits} strategy=greedy")


@pytest.mark.one_in(2)
@pytest.mark.parametrize("seed", [7, 4, 3])
def test_faster_chips_are_not_slower(seed: int):
    base = small_chips()["near"]
    series = [
        [with_level(base, "L3", bandwidth=each) for each in (1, 4, 16)],
        [with_engine(base, "vector", lanes=each) for each in (16, 64, 256)],
        [with_engine(base, "matrix", rows=each, cols=each) for each in (2, 4, 8)],
        [with_level(base, "L2", capacity=each) for each in (2048, 4096, 16384)],
    ]
    for targets in series:
        chips = [Chip(each) for each in targets]
        times = [cycles(each, each.group_module(small_network(seed))) for each in chips]
        assert all(after <= 1.02 * before for before, after in pairwise(times))


@pytest.mark.long
@pytest.mark.one_in(6)
@pytest.mark.parametrize("name", CHIPS)
@pytest.mark.parametrize("seed", [1, 2, 3, 5])
def test_order_of_operations_decides_nothing(seed: int, name: str):
    module = small_network(seed)
    moved = chip(name).group_module(reordered(module, seed))

    assert modelled(chip(name), moved, "dp") == modelled(
        chip(name), grouped(seed, name), "dp"
    )
    found, expected = (
        cycles(chip(name), each) for each in (moved, grouped(seed, name))
    )
    assert abs(found - expected) <= 0.05 * expected


@pytest.mark.one_in(4)
@pytest.mark.parametrize("name", CHIPS)
@pytest.mark.parametrize("seed", SEEDS)
def test_once_is_enough(seed: int, name: str):
    made = chip(name).partition_module(grouped(seed, name))

    assert str(chip(name).partition_module(made)) == str(made)


@pytest.mark.one_in(4)
@pytest.mark.parametrize("name", CHIPS)
@pytest.mark.parametrize("seed", SEEDS)
def test_tiles_are_put_together_without_copies(seed: int, name: str):
    """
    Results are written once, as the simulator sees it, and proven to be covered but
    where a value that stays near is made of several tiles.
    """
    on = chip(name)
    module = on.partition_module(grouped(seed, name))
    groups = [each for each in module.walk() if isinstance(each, graph.GroupOp)]
    kept = any(each.plan is not None and each.plan.retain for each in groups)
    names = [each.name for each in on.program_passes]
    tiles, last = names.index("convert-tile-to-mem"), names.index("convert-mem-to-npu")

    on.run_passes(on.program_passes[:tiles], module)
    TileVerifyCoveragePass().apply(new_context(), module)
    on.run_passes(on.program_passes[tiles:last], module)
    MemReportCopiesPass().apply(new_context(), module)
    (function,) = functions_of(module)
    copies = [
        each.text.data
        for each in remarks_of(function)
        if each.source.data == "mem-report-copies"
    ]
    assert copies == [NO_COPIES]
    assert kept or ATTRIBUTE in function.attributes

    on.run_passes(on.program_passes[last:], module)
    text = emit_text(new_context(), module, build_target("npu", TARGETS))
    program = npu.parse(text, Path())
    generator = np.random.default_rng(seed)
    inputs = {
        each: generator.random(buffer.shape).astype(DTYPES[buffer.dtype])
        for each, buffer in program.inputs.items()
    }
    npu.run(program, inputs, exactly_once=True)
