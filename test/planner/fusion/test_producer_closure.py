"""
Groups that lead to a group: the nearest of those it needs, however long the program is.
"""

from collections.abc import Sequence

import pytest
from differential import parsed
from xdsl.dialects import func
from xdsl.ir import Operation

from tlf.dialects.interfaces import TilingInterface
from tlf.planner.fusion.producer_closure import Part, operands_of, producer_closure_of
from tlf.planner.settings.search_budgets import PARTITION

MATRIX = "tensor<4x4xf32>"


def chain(count: int, size: int) -> list[Part]:
    """Groups of so many operations each, one after the other."""
    lines = [
        f"%{n} = graph.exp %{'x' if not n else n - 1} : {MATRIX}"
        for n in range(count * size)
    ]
    ops = operations_of(lines, f"%{count * size - 1}")
    return [ops[at : at + size] for at in range(0, len(ops), size)]


def operations_of(lines: Sequence[str], result: str) -> list[TilingInterface]:
    """Operations of a function of the matrix `%x`."""
    body = "\n".join([*lines, f"func.return {result} : {MATRIX}"])
    _, module = parsed(f"func.func @f(%x: {MATRIX}) -> {MATRIX} {{\n{body}\n}}")
    function = module.body.block.first_op
    assert isinstance(function, func.FuncOp)
    return [op for op in function.body.block.ops if isinstance(op, TilingInterface)]


@pytest.mark.parametrize(
    ("size", "count"),
    [
        (1, PARTITION.max_closure_depth + 1),
        (5, PARTITION.max_closure_depth + 1),
        (20, 2),
        (PARTITION.max_closure_operations, 1),
        (60, 1),
    ],
)
def test_the_nearest_groups_are_found(size: int, count: int):
    parts = chain(12, size)
    groups: dict[Operation, Part] = {op: part for part in parts for op in part}
    *_, last = parts

    found = producer_closure_of(last, operands_of(last), groups)

    assert found == parts[: -count - 1 : -1]


def test_the_number_of_groups_is_limited():
    inputs = [f"%{n} = graph.exp %x : {MATRIX}" for n in range(20)]
    types = f"({MATRIX}, {MATRIX}) -> {MATRIX}"
    sums = [
        f"%s{n} = graph.add %{f's{n - 1}' if n else 0}, %{n} : {types}"
        for n in range(20)
    ]
    operations = operations_of([*inputs, *sums], "%s19")
    *producers, last = [*([op] for op in operations[:20]), operations[20:]]
    groups: dict[Operation, Part] = {
        op: part for part in (*producers, last) for op in part
    }

    found = producer_closure_of(last, operands_of(last), groups)

    assert found[0] == last
    assert len(found) == PARTITION.max_closure_groups
