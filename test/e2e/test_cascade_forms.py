"""Reductions in one loop compute what PyTorch does, wherever one loop is legal."""

from collections.abc import Sequence

import pytest

pytest.importorskip("torch")

from cascade_form_runs import TOLERANCES, compare
from cascade_forms import CASES, Sizes

from tlf.analysis.tiling.group import Members
from tlf.passes.graph.reassociate.exposing import Rewriting
from tlf.passes.graph.reassociate.trial import Change, Trial
from tlf.planner.fusion.cascades import Cascades
from tlf.planner.fusion.leading import Part

SIZES = (
    Sizes(b=1, h=2, s=40, d=8, rows=12, k=24, n=40),
    Sizes(b=2, h=2, s=33, d=5, rows=7, k=19, n=45),
)


@pytest.fixture(autouse=True)
def eager(monkeypatch: pytest.MonkeyPatch):
    """Whatever may run in one loop does."""

    def pays(self: Cascades, members: Members, parts: Sequence[Part]) -> bool:
        return self.estimator.fastest(members) is not None

    def saved(self: Trial, parts: Sequence[Part], change: Change) -> int:
        return 1 if isinstance(change, Rewriting) else price(self, parts, change)

    price = Trial.saved
    monkeypatch.setattr(Cascades, "pay", pays)
    monkeypatch.setattr(Trial, "saved", saved)


@pytest.mark.one_in(20)
@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("target", ["h200", "npu"])
@pytest.mark.parametrize("sizes", SIZES)
@pytest.mark.parametrize("dtype", TOLERANCES)
def test_forms(dtype: str, sizes: Sizes, target: str, name: str):
    compare(name, sizes, target, dtype)


@pytest.mark.one_in(2)
@pytest.mark.parametrize("name", ["log_sum_exp", "cross_entropy"])
@pytest.mark.parametrize("dtype", TOLERANCES)
def test_long_products(dtype: str, name: str):
    """Scores have a loop of their own, over the sum that they are."""
    compare(name, Sizes(rows=21, k=601, n=150), "h200", dtype)
