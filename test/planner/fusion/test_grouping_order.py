"""Operations are looked at once, however many groups they are tried in."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable
from itertools import combinations

from differential import parsed
from xdsl.ir import Operation

from tlf.analysis.operations.op_kinds import OpKinds
from tlf.analysis.tiling.group_results import results_used_outside
from tlf.analysis.tiling.structural_keys import StructuralKeys
from tlf.planner.fusion.group_convexity import DependenceOrder

LENGTH = 12
TYPE = "tensor<4x8xf32>"


def chain() -> str:
    """Elementwise operations one after the other, some of which are read twice."""
    lines = [
        f"%{n} = graph.add %{n - 1 if n else 'x'}, %{n // 2 if n > 1 else 'x'} : {TYPE}"
        for n in range(LENGTH)
    ]
    body = "\n".join(lines)
    last = f"func.return %{LENGTH - 1} : {TYPE}"
    return f"func.func @f(%x: {TYPE}) -> {TYPE} {{\n{body}\n{last}\n}}"


class CountedKinds(OpKinds):
    """Kinds that count how often each operation is asked for."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: Counter[Operation] = Counter()

    def kind_of(self, op: Operation) -> int:
        self.asked[op] += 1
        return super().kind_of(op)


def test_parts_of_a_block_have_results_and_structures():
    _, module = parsed(chain())
    (function,) = module.body.block.ops
    block = function.regions[0].block
    *ops, _ = block.ops
    kinds, structures = CountedKinds(), StructuralKeys()
    order = DependenceOrder(block, kinds)
    spans = combinations(range(LENGTH + 1), 2)
    parts = [ops[first:last] for first, last in spans]
    keys: set[tuple[Hashable, Hashable]] = set()
    for part in parts:
        results = order.externally_used_results_of(part)
        assert results == results_used_outside(part)
        keys.add(
            (
                order.structural_key_of(part, results),
                structures.structural_key_of(part, results),
            )
        )
    assert len({key for key, _ in keys}) == len(keys) == len({key for _, key in keys})
    assert 1 < len(keys) < len(parts)
    assert set(kinds.asked.values()) == {1}
