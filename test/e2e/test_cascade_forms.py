"""Reductions in one loop compute what PyTorch does, wherever one loop is legal."""

from collections.abc import Sequence

import pytest

pytest.importorskip("torch")

from cascade_cases import CASES, CascadeSizes
from cascade_form_runs import TOLERANCES, compare

from tlf.analysis.tiling.group_analysis import GroupMembers
from tlf.passes.graph.reassociate.cascade_rewriting import ReassociationChange
from tlf.passes.graph.reassociate.change_evaluation import BlockChange, ChangeEvaluator
from tlf.planner.fusion.cascade_fusion import CascadeFusion
from tlf.planner.fusion.producer_closure import Part

SIZES = (
    CascadeSizes(b=1, h=2, s=40, d=8, rows=12, k=24, n=40),
    CascadeSizes(b=2, h=2, s=33, d=5, rows=7, k=19, n=45),
)


@pytest.fixture(autouse=True)
def eager(monkeypatch: pytest.MonkeyPatch):
    """Whatever may run in one loop does."""

    def pays(self: CascadeFusion, members: GroupMembers, parts: Sequence[Part]) -> bool:
        return self.estimator.estimate_cycles(members) is not None

    def saved(self: ChangeEvaluator, parts: Sequence[Part], change: BlockChange) -> int:
        return (
            1 if isinstance(change, ReassociationChange) else price(self, parts, change)
        )

    price = ChangeEvaluator.cycles_saved_by_change
    monkeypatch.setattr(CascadeFusion, "is_fusion_profitable", pays)
    monkeypatch.setattr(ChangeEvaluator, "cycles_saved_by_change", saved)


@pytest.mark.one_in(20)
@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("target", ["h200", "npu"])
@pytest.mark.parametrize("sizes", SIZES)
@pytest.mark.parametrize("dtype", TOLERANCES)
def test_forms(dtype: str, sizes: CascadeSizes, target: str, name: str):
    compare(name, sizes, target, dtype)


@pytest.mark.one_in(2)
@pytest.mark.parametrize("name", ["log_sum_exp", "cross_entropy"])
@pytest.mark.parametrize("dtype", TOLERANCES)
def test_long_products(dtype: str, name: str):
    """Scores have a loop of their own, over the sum that they are."""
    compare(name, CascadeSizes(rows=21, k=601, n=150), "h200", dtype)
