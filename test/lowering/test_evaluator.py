"""
Cycles of programs of groups by trial lowering, which does not compile them to the end.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace

import pytest
from optimality_chip import Chip, small_chips
from optimality_graphs import small_network
from xdsl.dialects.builtin import ModuleOp

from tlf.lowering.evaluator import LoweringEvaluator
from tlf.passes.plan import graph_select_tile_sizes
from tlf.planner.cost.program import buffer_sharing
from tlf.planner.settings.search_budgets import REFINEMENT
from tlf.support.allocation import (
    Allocation,
    Buffer,
    BufferUse,
    allocate_program_buffers,
)

CHIP = Chip(small_chips()["near"])

STEPS = 1_000_000


@pytest.mark.parametrize("seed", [3, 104, 125])
def test_tells_what_the_simulator_finds(seed: int, monkeypatch: pytest.MonkeyPatch):
    """
    The inner tiles are those that are fastest by themselves, as the evaluation takes
    them.
    """
    budget = replace(REFINEMENT, tile_evaluations=0)
    monkeypatch.setattr(graph_select_tile_sizes, "REFINEMENT", budget)
    made = CHIP.partition_module(
        CHIP.group_module(small_network(seed)), "max-evaluations=0"
    )
    figures = CHIP.simulate_cached(made)

    assert figures is not None
    found = LoweringEvaluator(CHIP.target, STEPS).evaluate_outermost_groups(
        made.clone()
    )
    assert found == pytest.approx(figures.cycles, rel=0.02)


def test_tells_nothing_of_what_does_not_fit():
    made = CHIP.partition_module(
        CHIP.group_module(small_network(3)), "max-evaluations=0"
    )
    small = CHIP.target.with_capacities({"L1": 64})

    program = made.clone()
    small.attach_to_module(program)
    assert LoweringEvaluator(small, STEPS).evaluate_outermost_groups(program) is None


@pytest.mark.one_in(2)
@pytest.mark.parametrize("seed", [44, 107, 115, 122, 144, 194])
def test_evaluated_plans_are_faster(seed: int):
    """By the formula, which adds up groups, others are the best of these."""
    chip = Chip(list(small_chips().values())[seed % 3])
    grouped = chip.group_module(small_network(seed))
    found = [
        chip.simulate_cached(chip.partition_module(grouped, f"max-evaluations={tries}"))
        for tries in (0, 8)
    ]

    formula, evaluated = (each.cycles for each in found if each is not None)
    assert evaluated < formula


def test_what_was_learned_changes_nothing(draws: Callable[[int], int]):
    """One evaluator of many programs tells of each what one of its own tells."""
    shared = LoweringEvaluator(CHIP.target, STEPS)
    for seed in (3, 104, 125)[: draws(3)]:
        grouped = CHIP.group_module(small_network(seed))
        for options in (
            "max-evaluations=0",
            "strategy=unfused max-evaluations=0",
            "residency=false max-evaluations=0",
        ):
            made = CHIP.partition_module(grouped, options)
            found = shared.evaluate_outermost_groups(made.clone())
            assert found is not None
            assert found == LoweringEvaluator(
                CHIP.target, STEPS
            ).evaluate_outermost_groups(made.clone())
            assert found == shared.evaluate_outermost_groups(made.clone())


def test_buffers_are_allocated_once(monkeypatch: pytest.MonkeyPatch):
    counts: list[int] = []

    def count_buffers(
        buffers: Sequence[Buffer], capacity: int, uses: Sequence[BufferUse]
    ) -> Allocation:
        counts.append(len(buffers))
        return allocate_program_buffers(buffers, capacity, uses)

    monkeypatch.setattr(buffer_sharing, "allocate_program_buffers", count_buffers)
    made = CHIP.partition_module(
        CHIP.group_module(small_network(3)), "max-evaluations=0"
    )
    evaluator = LoweringEvaluator(CHIP.target, STEPS)
    cycles = evaluator.evaluate_outermost_groups(made.clone())
    first = len(counts)

    assert first
    assert cycles == evaluator.evaluate_outermost_groups(made.clone())
    assert len(counts) == first


@pytest.mark.long
def test_instructions_that_are_run_are_limited():
    """Results of earlier evaluations stay available once the limit is reached."""
    made = CHIP.partition_module(
        CHIP.group_module(small_network(3)), "max-evaluations=0"
    )
    cycles = LoweringEvaluator(CHIP.target, STEPS).evaluate_outermost_groups(
        made.clone()
    )
    found = [_evaluate_repeatedly(2**power, made) for power in range(20)]

    assert cycles is not None
    assert all(each == [cycles] * len(each) for each in found)
    numbers = [len(each) for each in found]
    assert numbers == sorted(numbers)
    assert {0, 4} < set(numbers) <= {0, 1, 2, 3, 4}


def _evaluate_repeatedly(steps: int, module: ModuleOp) -> list[int]:
    """
    Return the cycles of a program, evaluated repeatedly within a limit of instructions.
    """
    evaluator = LoweringEvaluator(CHIP.target, steps)
    found = [evaluator.evaluate_outermost_groups(module.clone()) for _ in range(4)]
    return [each for each in found if each is not None]
