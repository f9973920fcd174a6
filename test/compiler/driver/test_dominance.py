"""The dominance check against the definition of dominance, on random programs."""

import random
from collections.abc import Mapping, Sequence

import pytest
from xdsl.dialects import test
from xdsl.dialects.builtin import i32
from xdsl.ir import Block, Region
from xdsl.utils.exceptions import VerifyException

from tlf.compiler.driver.diagnostics import attach_operations_to_errors
from tlf.compiler.driver.dominance import verify_dominance

Graph = Mapping[int, Sequence[int]]


def reachable(graph: Graph, without: int | None = None) -> set[int]:
    """The blocks that can be reached from block 0 without passing through one."""
    seen: set[int] = set()
    todo = [0]
    while todo:
        block = todo.pop()
        if block not in seen and block != without:
            seen.add(block)
            todo.extend(graph[block])
    return seen


def dominates(graph: Graph, a: int, b: int) -> bool:
    """Return `True` if every path from block 0 to `b` passes through `a`."""
    return b not in reachable(graph, without=a)


def program(
    graph: Graph, defined_in: int, used_in: int, use_is_nested: bool
) -> test.TestOp:
    """A region with `graph` as its blocks, where one uses a value of another."""
    definition = test.TestOp(result_types=[i32])
    use = test.TestOp(operands=[definition.results[0]])
    if use_is_nested:
        use = test.TestOp(regions=[Region(Block([use]))])
    blocks = [Block() for _ in graph]
    for number, block in enumerate(blocks):
        if number == defined_in:
            block.add_op(definition)
        if number == used_in:
            block.add_op(use)
        block.add_op(
            test.TestTermOp(successors=[blocks[next] for next in graph[number]])
        )
    return test.TestOp(regions=[Region(blocks)])


@pytest.mark.one_in(1 / 2)
@pytest.mark.parametrize("seed", range(200))
def test_agrees_with_the_definition(seed: int):
    draw = random.Random(seed)
    size = draw.randint(1, 7)
    graph = {
        block: [draw.randint(1, size - 1) for _ in range(draw.randint(0, 2))]
        if size > 1
        else []
        for block in range(size)
    }
    a, b = draw.randrange(size), draw.randrange(size)
    op = program(graph, a, b, use_is_nested=draw.random() < 0.3)

    if b not in reachable(graph) or dominates(graph, a, b):
        verify_dominance(op)
        return
    with (
        attach_operations_to_errors(),
        pytest.raises(VerifyException, match="does not dominate this use"),
    ):
        verify_dominance(op)


def test_many_blocks_in_a_row():
    """Neither depth nor length of the graph of blocks is limited by recursion."""
    size = 5000
    graph = {block: [block + 1] if block + 1 < size else [] for block in range(size)}

    verify_dominance(program(graph, 0, size - 1, use_is_nested=False))
