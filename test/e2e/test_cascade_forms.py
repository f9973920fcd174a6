"""Reductions in one loop compute what PyTorch does, wherever one loop is legal."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

pytest.importorskip("torch")

import cascades
from attention import Tensor
from cascade_forms import CASES, Case, Sizes, T
from differential import compiled_results
from torch_check import tensors

from tlf.dialects.interfaces import Array
from tlf.passes.fusion.cascades import Cascades
from tlf.passes.fusion.leading import Part
from tlf.passes.sums.trial import Trial
from tlf.passes.tiling.group import Members

SIZES = (
    Sizes(b=1, h=2, s=40, d=8, rows=12, k=24, n=40),
    Sizes(b=2, h=2, s=33, d=5, rows=7, k=19, n=45),
)
TOLERANCES = {"float32": 2e-5, "bfloat16": 3e-2}


@pytest.fixture(autouse=True)
def eager(monkeypatch: pytest.MonkeyPatch):
    """Whatever may run in one loop does."""

    def pays(self: Cascades, members: Members, parts: Sequence[Part]) -> bool:
        return self.estimator.fastest(members) is not None

    def always(*_: object) -> bool:
        return True

    monkeypatch.setattr(Cascades, "pay", pays)
    monkeypatch.setattr(Trial, "pays", always)


def named(case: Case, inputs: Sequence[Tensor]) -> dict[str, Array]:
    """The inputs of a program as arrays, by the names of its arguments."""
    given = [e for place, e in enumerate(inputs) if place not in case.weights]
    known = {f"w{place}": inputs[place] for place in case.weights}
    every = known | {f"given{place}": each for place, each in enumerate(given)}
    return {name: array_of(each) for name, each in every.items()}


def array_of(tensor: Any) -> Array:
    if tensor.dtype is not T.bfloat16:
        return tensor.numpy()
    return tensor.float().numpy().astype("bfloat16")


def wide(tensor: Any) -> Any:
    return tensor.double() if tensor.is_floating_point() else tensor


@pytest.mark.one_in(10)
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


def compare(name: str, sizes: Sizes, target: str, dtype: str) -> None:
    """Run a form, and compare with PyTorch in f64."""
    case = CASES[name]
    inputs = case.inputs(sizes, getattr(T, dtype), seed=1)
    text = str(cascades.imported(case, inputs))

    found = compiled_results(text, named(case, inputs), target)

    wanted = tensors(case.form(*map(wide, inputs)))
    for mine, theirs in zip(found, wanted, strict=True):
        right = theirs.numpy()
        error = np.abs(mine.astype(np.float64) - right).max()
        assert mine.shape == right.shape
        assert error <= TOLERANCES[dtype] * max(1.0, np.abs(right).max())
