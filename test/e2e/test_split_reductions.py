"""Reductions of parts of an axis compute what PyTorch does, on all targets."""

from collections.abc import Sequence
from dataclasses import replace
from math import inf

import pytest

pytest.importorskip("torch")

from cascade_cases import CascadeSizes
from cascade_form_runs import TOLERANCES, compare

from tlf.passes.graph import graph_split_k_reductions
from tlf.passes.graph.reassociate.change_evaluation import BlockChange, ChangeEvaluator
from tlf.passes.graph.split_reductions import split_counts
from tlf.passes.graph.split_reductions.reduction_splitting import SplittableReductions
from tlf.passes.graph.split_reductions.split_savings import SplitSavings
from tlf.planner.fusion.producer_closure import Part
from tlf.planner.settings.search_budgets import PARTITION, REASSOCIATION

FORMS = (
    "padding",
    "alibi",
    "differential",
    "sink",
    "log_sum_exp",
    "softmax_product",
    "unit_product",
)
SIZES = CascadeSizes(b=1, h=2, s=36, d=8, rows=6, k=24, n=42)


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Whatever may be split is, into as many parts as there may be: these numbers."""
    found, split = list[int](), SplittableReductions.split_into_parts

    def saved(self: ChangeEvaluator, parts: Sequence[Part], change: BlockChange) -> int:
        return int(getattr(change, "count", 0))

    def counting(self: SplittableReductions, parts: int) -> bool:
        found.append(parts)
        return split(self, parts)

    monkeypatch.setattr(SplittableReductions, "split_into_parts", counting)

    def count_one_tile(self: ChangeEvaluator, group: Part) -> int:
        return 1

    def bound_nothing(self: SplitSavings, part_count: int) -> float:
        return inf

    monkeypatch.setattr(ChangeEvaluator, "cycles_saved_by_change", saved)
    monkeypatch.setattr(ChangeEvaluator, "tile_count_of_group", count_one_tile)
    monkeypatch.setattr(SplitSavings, "max_cycles_saved", bound_nothing)
    small = replace(REASSOCIATION, min_part_extent=3)
    monkeypatch.setattr(split_counts, "REASSOCIATION", small)
    large = replace(PARTITION, max_closure_operations=1000)
    monkeypatch.setattr(graph_split_k_reductions, "PARTITION", large)
    return found


@pytest.mark.one_in(12)
@pytest.mark.parametrize("name", FORMS)
@pytest.mark.parametrize("target", ["h200", "npu-tiny:cores=3"])
@pytest.mark.parametrize("dtype", TOLERANCES)
def test_forms(dtype: str, target: str, name: str, counted: list[int]):
    compare(name, SIZES, target, dtype)

    assert max(counted) > 1


@pytest.mark.one_in(2)
@pytest.mark.parametrize("dtype", TOLERANCES)
def test_gathered(dtype: str, counted: list[int]):
    """Values gathered from a product are summed along with its rows."""
    compare("cross_entropy", SIZES, "h200", dtype)

    assert max(counted) > 1
