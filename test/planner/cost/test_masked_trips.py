"""Iterations under masks in the cost model of a GPU."""

from __future__ import annotations

from dataclasses import replace

import pytest
from gpu_programs import H200
from masked_programs import MaskedProgram, parse_group, tile_sizes_of

from tlf.analysis.tiling.group_analysis import tile_rules_of
from tlf.analysis.tiling.group_tiling import GroupTiling
from tlf.planner.cost.gpu.gpu_parameters import Chip
from tlf.planner.cost.gpu.kernel_cost import KernelCost
from tlf.planner.cost.gpu.kernel_model import KernelModel
from tlf.planner.cost.loop_ranges import count_reduction_trips

CAUSAL = MaskedProgram("causal", 4096, 4096, depth=64, element="bf16", batch=64)


def tiling_of(program: MaskedProgram) -> GroupTiling:
    """Return the tiles of a program, of 64 rows and 64 columns."""
    _, _, members = parse_group(program.text())
    rules = tile_rules_of(H200, "L1")
    return members.analyze_tiles_of_sizes(tile_sizes_of(members, 64), (64,), rules)


def price(program: MaskedProgram) -> KernelCost:
    """Return the estimated cost of a program as one kernel."""
    chip = Chip.from_target(H200)
    assert chip is not None
    return KernelModel(chip, H200).estimate_cost(tiling_of(program))


def test_trips_of_a_causal_mask():
    """Tile n of the rows has n iterations without a mask, and one with a mask."""
    trips = count_reduction_trips(tiling_of(replace(CAUSAL, rows=512, columns=512)))
    assert trips.whole.mean == (1 + 8) / 2
    assert trips.whole.greatest == 8
    assert trips.loop_count == 1
    trips = count_reduction_trips(tiling_of(CAUSAL))
    assert trips.whole.mean == (1 + 64) / 2
    assert trips.loop_count == 2
    assert trips.mean_with_masks == 1
    names = {op.name for op in trips.mask_operations}
    assert {"graph.compare", "graph.select"} <= names
    assert not {"graph.matmul", "graph.exp", "graph.reduce"} & names


def test_trips_without_a_mask():
    """A mask that hides nothing bounds no loop."""
    trips = count_reduction_trips(tiling_of(replace(CAUSAL, ahead=4096)))
    assert (trips.whole.mean, trips.whole.greatest) == (64, 64)
    assert not trips.mask_operations


def test_causal_attention_takes_about_half():
    shown = price(replace(CAUSAL, ahead=4096))
    causal = price(CAUSAL)
    assert 0.45 < causal.cycles / shown.cycles < 0.6
    for resource in ("matrix", "cache", "shared"):
        times = [each.time_by_resource[resource] for each in (causal, shown)]
        assert times[0] / times[1] == pytest.approx(0.51, abs=0.03)


@pytest.mark.parametrize("before", [0, 128, 512])
def test_shorter_windows_take_less(before: int):
    """Cycles grow with the window, and are below those of the causal mask."""
    window = replace(CAUSAL, mask="window")
    cycles = [
        price(replace(window, before=each)).cycles for each in (before, 2 * before + 64)
    ]
    assert cycles[0] < cycles[1] < price(CAUSAL).cycles


def test_the_longest_program_ends_last():
    """With few programs, the longest of them decides."""
    few = replace(CAUSAL, batch=2)
    causal, shown = price(few), price(replace(few, ahead=4096))
    assert 0.8 < causal.cycles / shown.cycles <= 1
