"""Folding of fills and casts, on facts written by hand."""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from tlf.planner.folding.cast_folding import select_foldable_casts
from tlf.planner.folding.fill_folding import OverwrittenFills, select_overwritten_fills
from tlf.planner.folding.fold_facts import (
    AccumulatedOutput,
    AccumulationFacts,
    FillFacts,
    FoldOperation,
    ProductFacts,
    RoundingFacts,
)

Operation = FoldOperation[str]


def fill(buffer: str, value: float = 0.0, view: str | None = None) -> Operation:
    facts = FillFacts(buffer, view or buffer, value)
    return FoldOperation(f"fill {buffer}", {buffer}, facts)


def accumulation(*buffers: str) -> Operation:
    outputs = [AccumulatedOutput(each, {each}, 0.0) for each in buffers]
    facts = AccumulationFacts({"x"}, outputs)
    return FoldOperation("sum", {"x", *buffers}, accumulation=facts)


def loop(name: str, *body: Operation, has_iterations: bool = True) -> Operation:
    accessed = {buffer for each in body for buffer in each.accessed}
    return FoldOperation(name, accessed, body=body, has_iterations=has_iterations)


def use(*buffers: str) -> Operation:
    return FoldOperation("use", set(buffers))


@pytest.mark.parametrize(
    ("operations", "loops"),
    [
        ([fill("a"), use("b"), accumulation("a")], []),
        ([fill("a"), loop("i", loop("j", accumulation("a")))], ["i", "j"]),
        ([loop("i", fill("a"), accumulation("a"), use("a"))], []),
    ],
)
def test_fills_before_accumulations_are_overwritten(
    operations: Sequence[Operation], loops: Sequence[str]
):
    expected = OverwrittenFills(["fill a"], "sum", loops)
    assert select_overwritten_fills(operations) == [expected]


def test_all_outputs_have_to_be_filled():
    both = [fill("a"), fill("b"), accumulation("a", "b")]
    (found,) = select_overwritten_fills(both)
    assert found.fills == ["fill a", "fill b"]
    assert not select_overwritten_fills(both[1:])
    inner = [fill("a"), loop("i", fill("b"), accumulation("a", "b"))]
    assert not select_overwritten_fills(inner)


@pytest.mark.parametrize(
    "operations",
    [
        [fill("a"), use("a"), accumulation("a")],
        [fill("a"), loop("i", use("a"), accumulation("a"))],
        [fill("a"), loop("i", accumulation("a"), has_iterations=False)],
        [fill("a", 1.0), accumulation("a")],
        [fill("a", view="part of a"), accumulation("a")],
        [fill("x"), accumulation("x")],
        [accumulation("a"), fill("a")],
    ],
)
def test_other_fills_stay(operations: Sequence[Operation]):
    assert not select_overwritten_fills(operations)


PRODUCT = FoldOperation(
    "product", {"x", "wide"}, product=ProductFacts({"x"}, "wide", "f16")
)
CAST = FoldOperation(
    "cast", {"wide", "narrow"}, rounding=RoundingFacts("wide", "narrow", "f16")
)


def test_products_round_their_results():
    operations = [use("narrow"), PRODUCT, use("y"), CAST, use("narrow")]
    assert select_foldable_casts(operations) == [("product", "cast")]
    assert select_foldable_casts([loop("i", PRODUCT, CAST)]) == [("product", "cast")]


@pytest.mark.parametrize(
    "operations",
    [
        [PRODUCT, use("narrow"), CAST],
        [PRODUCT, CAST, use("wide")],
        [PRODUCT, loop("i", CAST)],
        [CAST, PRODUCT],
        [PRODUCT, replace(CAST, rounding=RoundingFacts("wide", "narrow", "bf16"))],
        [PRODUCT, replace(CAST, rounding=RoundingFacts("wide", "x", "f16"))],
        [PRODUCT, replace(CAST, rounding=None)],
    ],
)
def test_other_products_stay_wide(operations: Sequence[Operation]):
    assert not select_foldable_casts(operations)
