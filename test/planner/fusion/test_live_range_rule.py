"""Groups are not fused if more operands are kept than results need not be stored."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from differential import parsed
from xdsl.ir import Operation

from tlf.dialects.interfaces import TilingInterface
from tlf.planner.fusion.live_range_rule import KEPT, LiveRangeRule
from tlf.planner.fusion.producer_closure import Part

TEXT = """
func.func @f(%x: tensor<8x16xf32>, %a: tensor<16x{n}xf32>) -> tensor<8x{n}xf32> {{
  %0 = graph.exp %x : tensor<8x16xf32>
  %1 = graph.matmul {first}, %a
      : (tensor<8x16xf32>, tensor<16x{n}xf32>) -> tensor<8x{n}xf32>
  %2 = graph.tanh {between} : tensor<8x16xf32>
  %3 = graph.matmul {second}, %a
      : (tensor<8x16xf32>, tensor<16x{n}xf32>) -> tensor<8x{n}xf32>
  %4 = graph.add %1, %3 : (tensor<8x{n}xf32>, tensor<8x{n}xf32>) -> tensor<8x{n}xf32>
  func.return {result} : tensor<8x{n}xf32>
}}
"""
"""Two products, the second of which is added to the first one, and a group between."""

NAMES = {"n": 8, "first": "%0", "between": "%x", "second": "%2", "result": "%4"}


def test_operands_of_the_first_product_are_kept() -> None:
    assert objection_to_one_loop(NAMES) == KEPT


@pytest.mark.parametrize(
    "change",
    [
        # The result that need not be stored is as large.
        {"n": 16},
        # The second product reads what is kept, too, or it is an argument.
        {"second": "%0"},
        {"first": "%x"},
        # The group between them runs behind, as it reads the result of the first.
        {"n": 16, "between": "%1", "second": "%x", "result": "%2"},
    ],
)
def test_no_more_is_kept(change: dict[str, object]) -> None:
    assert objection_to_one_loop({**NAMES, **change}) is None


def test_nothing_runs_between() -> None:
    names = {**NAMES, "second": "%x"}
    assert objection_to_one_loop(names) == KEPT
    assert objection_to_one_loop(names, has_group_between=False) is None


def objection_to_one_loop(
    names: Mapping[str, object], has_group_between: bool = True
) -> str | None:
    """Return the objection to a loop of both products and their sum."""
    _, module = parsed(TEXT.format(**names))
    (function,) = module.body.block.ops
    block = function.regions[0].block
    ops = [op for op in block.ops if isinstance(op, TilingInterface)]
    if not has_group_between:
        (unused,) = (op for op in ops if op.name == "graph.tanh")
        ops.remove(unused)
    _, first, *_, second, total = ops
    parts: list[Part] = [[first], [second, total]]
    groups: dict[Operation, Part] = {op: [op] for op in ops}
    groups.update((op, part) for part in parts for op in part)
    position = {op: number for number, op in enumerate(block.ops)}
    rule = LiveRangeRule(block, position)
    return rule.live_range_objection(parts, groups)
