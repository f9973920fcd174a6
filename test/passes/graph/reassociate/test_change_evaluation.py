"""Evaluation of rewrites on clones of groups."""

from collections.abc import Sequence
from dataclasses import dataclass

import pytest
from gpu_programs import H200, parsed, product

from tlf.compiler.driver.driver import new_context
from tlf.dialects import graph
from tlf.dialects.interfaces import TilingInterface
from tlf.passes.graph.reassociate.change_evaluation import ChangeEvaluator
from tlf.passes.graph.split_reductions.reduction_splitting import (
    SplittableReductions,
)


@dataclass(frozen=True)
class _Split:
    """A split into `count` parts, under some name."""

    name: str
    count: int

    def __call__(self, operations: Sequence[TilingInterface]) -> bool:
        reductions = SplittableReductions.find_in_group(operations, operations)
        return reductions is not None and reductions.split_into_parts(self.count)


def _evaluator_and_group(text: str) -> tuple[ChangeEvaluator, list[graph.MatmulOp]]:
    module = parsed(text)
    H200.attach_to_module(module)
    evaluator = ChangeEvaluator.create_for_target(new_context(), H200)
    assert evaluator is not None
    return evaluator, [op for op in module.walk() if isinstance(op, graph.MatmulOp)]


def test_changes_to_the_same_operations_are_grouped_once(
    monkeypatch: pytest.MonkeyPatch,
):
    evaluator, group = _evaluator_and_group(product(64, 64, 16384))
    saved = evaluator.cycles_saved_by_change([group], _Split("one", 32))
    assert saved > 0
    fewer = evaluator.cycles_saved_by_change([group], _Split("one", 2))
    assert 0 < fewer < saved
    monkeypatch.delattr(ChangeEvaluator, "groups_of_block")
    assert evaluator.cycles_saved_by_change([group], _Split("other", 32)) == saved
    with pytest.raises(AttributeError):
        evaluator.cycles_saved_by_change([group], _Split("other", 64))


@pytest.mark.parametrize("count", [2, 8, 32, 64])
@pytest.mark.parametrize("shape", [(64, 64, 16384), (64, 1024, 4096), (512, 512, 4096)])
def test_splits_save_no_more_than_their_bound(shape: tuple[int, int, int], count: int):
    evaluator, group = _evaluator_and_group(product(*shape))
    saved = evaluator.cycles_saved_by_change([group], _Split("split", count))
    assert saved <= evaluator.max_cycles_saved_by_split([group], [group], count)


def test_a_copy_of_a_factor_cannot_pay_for_a_short_product():
    evaluator, group = _evaluator_and_group(product(64, 64, 64, "f32"))
    assert evaluator.max_cycles_saved_by_copy(group) <= 0
    evaluator, group = _evaluator_and_group(product(64, 64, 16384, "f32"))
    assert evaluator.max_cycles_saved_by_copy(group) > 0


def test_operations_after_a_change_are_those_of_equal_groups(
    monkeypatch: pytest.MonkeyPatch,
):
    evaluator, group = _evaluator_and_group(product(64, 64, 16384))
    after = evaluator.operations_after_change([group], _Split("split", 32))
    assert after is not None
    products = [op for op in after if isinstance(op, graph.ContractOp)]
    assert [len(op.result.type.get_shape()) for op in products] == [3]
    monkeypatch.delattr(SplittableReductions, "split_into_parts")
    assert evaluator.operations_after_change([group], _Split("split", 32)) is after
