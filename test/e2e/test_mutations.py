"""
A run notices planted faults: every one ends in an error, a trap or a wrong result.
"""

from collections import Counter
from pathlib import Path

import graph_mutations
import group_mutations
import mem_mutations
import npu_mutations
import pytest
import tile_mutations
import triton_mutations
from mutations import Kind, Mutation, Program, Stage, interpreted, outcome, text_at

MUTATIONS = (
    *graph_mutations.FAULTS.planted,
    *group_mutations.FAULTS.planted,
    *tile_mutations.FAULTS.planted,
    *mem_mutations.FAULTS.planted,
    *mem_mutations.PLANNED.planted,
    *npu_mutations.FAULTS.planted,
    *triton_mutations.FAULTS.planted,
)

PLACES = tuple(dict.fromkeys((each.program, each.stage) for each in MUTATIONS))
"""Programs and stages where faults are planted."""

INTERPRETED = tuple(each for each in MUTATIONS if each.stage in (Stage.TILE, Stage.MEM))
"""Those in programs that an interpreter runs."""


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TLF_CACHE_DIR", str(tmp_path))


@pytest.mark.one_in(3)
@pytest.mark.parametrize(("program", "stage"), PLACES, ids=str)
def test_correct_programs_are_right(program: Program, stage: Stage) -> None:
    text = text_at(program, stage)
    kind, message = outcome(program, stage, text)
    assert kind is Kind.RIGHT, message
    if stage in (Stage.TILE, Stage.MEM):
        kind, message = interpreted(program, text)
        assert kind is Kind.RIGHT, message


@pytest.mark.one_in(12)
@pytest.mark.parametrize("mutation", MUTATIONS, ids=str)
def test_faults_are_noticed(mutation: Mutation) -> None:
    before = text_at(mutation.program, mutation.stage)
    after = mutation.change(before)
    assert after.split() != before.split()
    kind, message = outcome(mutation.program, mutation.stage, after)
    assert kind is mutation.kind, message
    assert mutation.says in message


@pytest.mark.one_in(2)
@pytest.mark.parametrize("mutation", INTERPRETED, ids=str)
def test_faults_are_noticed_by_interpreters(mutation: Mutation) -> None:
    after = mutation.change(text_at(mutation.program, mutation.stage))
    kind, message = interpreted(mutation.program, after)
    assert kind is not Kind.RIGHT, message


def test_faults_of_every_stage_and_kind() -> None:
    stages = Counter(mutation.stage for mutation in MUTATIONS)
    kinds = Counter(mutation.kind for mutation in MUTATIONS)
    assert set(stages) == set(Stage)
    assert set(kinds) == set(Kind) - {Kind.RIGHT}
    assert len({str(mutation) for mutation in MUTATIONS}) == len(MUTATIONS) >= 36
