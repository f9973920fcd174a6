"""Splat constants that affect no plan: groups that differ in them have equal keys."""

from __future__ import annotations

from collections.abc import Hashable

import pytest
from differential import parsed

from tlf.analysis.tiling.arbitrary_splats import label_arbitrary_splats
from tlf.analysis.tiling.structural_keys import structural_key_of
from tlf.dialects import graph
from tlf.dialects.graph import ConstantOp

KIND = "tensor<4x8xf32>"


def group_with(body: list[str]) -> graph.GroupOp:
    """Return a group with some lines that compute %y from %x."""
    lines = "\n".join(body)
    _, module = parsed(f"""
func.func @main(%t: {KIND}) -> {KIND} {{
  %z = graph.group ins(%x = %t : {KIND}) -> ({KIND}) {{
    {lines}
    graph.yield %y : {KIND}
  }}
  func.return %z : {KIND}
}}""")
    return next(op for op in module.walk() if isinstance(op, graph.GroupOp))


def scaled(first: str, second: str) -> Hashable:
    """Return the key of a group that scales by a constant and adds another."""
    group = group_with(
        [
            f"%a = graph.constant dense<{first}> : {KIND}",
            f"%b = graph.constant dense<{second}> : {KIND}",
            f"%s = graph.mul %x, %a : ({KIND}, {KIND}) -> {KIND}",
            f"%y = graph.add %s, %b : ({KIND}, {KIND}) -> {KIND}",
        ]
    )
    operations = list(group.body.block.ops)[:-1]
    return structural_key_of(operations, [operations[-1].results[0]])


@pytest.mark.parametrize(
    "others", [("2.5", "3.5"), ("0.5", "2.0"), ("100.0", "99.0"), ("7.0", "1.5")]
)
def test_other_numbers_have_the_same_key(others: tuple[str, str]):
    assert scaled(*others) == scaled("3.0", "5.0")


@pytest.mark.parametrize(
    "others",
    [
        ("3.0", "3.0"),
        ("3.0", "-5.0"),
        ("0.0", "5.0"),
        ("1.0", "5.0"),
        ("-1.0", "5.0"),
        ("3.0", "0x7F800000"),
    ],
)
def test_equal_special_and_negative_numbers_are_distinguished(others: tuple[str, str]):
    assert scaled(*others) != scaled("3.0", "5.0")


def test_constants_read_with_the_result_of_a_reduction_are_not_arbitrary():
    row = "tensor<4x1xf32>"
    group = group_with(
        [
            f"%a = graph.constant dense<3.0> : {KIND}",
            f"%b = graph.constant dense<5.0> : {row}",
            f"%c = graph.constant dense<7.0> : {row}",
            f"%s = graph.mul %x, %a : ({KIND}, {KIND}) -> {KIND}",
            f"%m = graph.reduce %s <max> axes [1] keepdims : ({KIND}) -> {row}",
            f"%n = graph.mul %m, %b : ({row}, {row}) -> {row}",
            f"%o = graph.add %c, %n : ({row}, {row}) -> {row}",
            f"%y = graph.sub %s, %o : ({KIND}, {row}) -> {KIND}",
        ]
    )
    labels = label_arbitrary_splats(list(group.body.block.ops))

    assert [op.results[0].name_hint for op in labels if isinstance(op, ConstantOp)] == [
        "a"
    ]
