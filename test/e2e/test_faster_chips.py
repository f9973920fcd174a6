"""Small programs never get slower where a part of the chip gets faster."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from itertools import pairwise
from pathlib import Path

import pytest
from chip_measurement import simulate_on_chip
from optimality_chip import Chip, small_chips, with_level
from optimality_graphs import small_network
from optimised import modelled, with_engine
from random_chip import double_resource, draw_chip
from random_chip_programs import PROGRAMS

from tlf.compiler.driver.driver import TARGETS, emit_text, new_context
from tlf.compiler.driver.pipeline import build_target
from tlf.dialects.target import TargetSpec
from tlf.dialects.target.description import target_from_data
from tlf.dialects.target.npu_machine import build_npu_machine
from tlf.runtime import npu

pytestmark = pytest.mark.searched

SEEDS = (4, 8)
BASE = small_chips()["near"]
FASTER: Mapping[str, Sequence[TargetSpec]] = {
    "L3 bandwidth": [with_level(BASE, "L3", bandwidth=each) for each in (1, 4, 16)],
    "L2 bandwidth": [with_level(BASE, "L2", bandwidth=each) for each in (4, 16, 64)],
    "L1 bandwidth": [with_level(BASE, "L1", bandwidth=each) for each in (4, 16, 64)],
    "L3 latency": [with_level(BASE, "L3", latency=each) for each in (400, 100, 25)],
    "L2 latency": [with_level(BASE, "L2", latency=each) for each in (40, 10, 2)],
    "L1 latency": [with_level(BASE, "L1", latency=each) for each in (8, 2, 0)],
    "L3 queues": [with_level(BASE, "L3", shared=each) for each in (True, False)],
    "L2 queues": [with_level(BASE, "L2", shared=each) for each in (True, False)],
    "L2 size": [with_level(BASE, "L2", capacity=each) for each in (2048, 4096, 16384)],
    "lanes": [with_engine(BASE, "vector", lanes=each) for each in (16, 64, 256)],
    "array": [with_engine(BASE, "matrix", rows=each, cols=each) for each in (2, 4, 8)],
}
"""Chips by what gets faster. A level that is not shared serves each queue by itself."""


@cache
def program(seed: int) -> npu.Program:
    """A random network, compiled for the chip that others are variants of."""
    on = Chip(BASE)
    module = on.partition_module(on.group_module(small_network(seed)))
    on.run_passes(on.program_passes, module)
    text = emit_text(new_context(), module, build_target("npu", TARGETS))
    return npu.parse(text, Path())


@pytest.mark.one_in(2)
@pytest.mark.parametrize("part", FASTER)
def test_best_schedules(part: str):
    """Schedules are searched anew for each chip, and priced by the cost model."""
    for seed in SEEDS:
        chips = [Chip(each) for each in FASTER[part]]
        module = small_network(seed)
        times = [modelled(each, each.group_module(module), "dp") for each in chips]
        assert all(0 < after <= before for before, after in pairwise(times)), times


@pytest.mark.parametrize("part", FASTER)
def test_one_program(part: str):
    """One program, compiled once, runs on each chip."""
    machines = [build_npu_machine(each) for each in FASTER[part]]
    for seed in SEEDS:
        variants = [replace(program(seed), machine=each) for each in machines]
        times = [npu.run(each, {}, functional=False).cycles for each in variants]
        assert all(0 < after <= before for before, after in pairwise(times)), times


def test_more_cores():
    """The event model selects plans that share the port of the cores well."""
    data = draw_chip(46).data
    chips = [target_from_data({**data, "cores": cores}) for cores in (1, 2, 4)]
    times = [simulate_on_chip(PROGRAMS["gemv"](), each) for each in chips]
    assert all(0 < after <= before for before, after in pairwise(times)), times


@pytest.mark.parametrize(
    ("seed", "name", "resource"),
    [
        pytest.param(3, "softmax", "L1 capacity", id="little-work"),
        pytest.param(39, "softmax", "vector lanes", id="more-in-flight"),
        pytest.param(37, "gemv", "L1 capacity", id="larger-tiles"),
    ],
)
def test_more_of_a_resource_in_short_programs(seed: int, name: str, resource: str):
    """
    Nests of little work are divided, more tiles are in flight than by the formula, and
    tiles of equal time are large, whatever fits.
    """
    chip = draw_chip(seed)
    chips = (chip, double_resource(chip, resource))
    before, after = (simulate_on_chip(PROGRAMS[name](), each) for each in chips)
    assert after <= 1.01 * before


@pytest.mark.long
@pytest.mark.parametrize(
    ("seed", "name", "resource"),
    [
        (21, "bottleneck", "L2 bandwidth"),
        (28, "bottleneck", "vector lanes"),
        (52, "residual-mlp", "L2 bandwidth"),
        (58, "bottleneck", "L1 capacity"),
    ],
)
def test_more_of_a_resource(seed: int, name: str, resource: str):
    """Plans for less of it are compared by the event model, also for two cores."""
    chip = draw_chip(seed)
    chips = (chip, double_resource(chip, resource))
    before, after = (simulate_on_chip(PROGRAMS[name](), each) for each in chips)
    assert after <= 1.01 * before
