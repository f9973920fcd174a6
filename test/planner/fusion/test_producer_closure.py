"""
Groups that lead to a group: the nearest of those it needs, however long the program is.
"""

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
    text = f"func.func @f(%x: {MATRIX}) -> {MATRIX} {{\n" + "\n".join(lines)
    _, module = parsed(f"{text}\nfunc.return %{count * size - 1} : {MATRIX}\n}}")
    function = module.body.block.first_op
    assert isinstance(function, func.FuncOp)
    ops = [op for op in function.body.block.ops if isinstance(op, TilingInterface)]
    return [ops[at : at + size] for at in range(0, len(ops), size)]


@pytest.mark.parametrize(
    ("size", "count"),
    [
        (1, PARTITION.max_closure_groups),
        (5, PARTITION.max_closure_groups),
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
