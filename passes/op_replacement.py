"""IR utility: replace an operation of the graph dialect by several simpler ones."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from xdsl.builder import Builder
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue
from xdsl.pattern_rewriter import PatternRewriter
from xdsl.transforms.dead_code_elimination import is_trivially_dead

from tlf.dialects import graph


def is_in_planned_group(op: Operation) -> bool:
    """Return `True` if an operation must stay because a plan counts its iterators."""
    parent = op.parent_op()
    return isinstance(parent, graph.GroupOp) and parent.plan is not None


def dead_operations(module: ModuleOp) -> Iterator[Operation]:
    """
    Iterate over the unused `graph` operations of a module in reverse order. If each is
    erased immediately, producers that only it used follow.
    """
    for op in reversed(list(module.walk())):
        if op.name.startswith("graph.") and is_trivially_dead(op):
            yield op


def build_operations_before(
    op: Operation,
    rewriter: PatternRewriter,
    build_values: Callable[[Builder], Sequence[SSAValue]],
) -> tuple[Sequence[Operation], Sequence[SSAValue]]:
    """
    Build a program in front of an operation, with its location. Return the new
    operations, and the values that replace the results.
    """
    before = op.prev_op
    results = build_values(rewriter)
    steps = list(operations_between(before, op))
    for new in steps:
        new.location = op.location
    return steps, results


def replace_by_built_values(
    op: Operation,
    rewriter: PatternRewriter,
    build_values: Callable[[Builder], Sequence[SSAValue]],
) -> None:
    """Replace the results of an operation by the values that a program returns."""
    _, results = build_operations_before(op, rewriter, build_values)
    rewriter.replace(op, [], results)


def operations_between(first: Operation | None, last: Operation) -> Iterator[Operation]:
    """
    Iterate, in reverse, over the operations of a block between `first` and `last`.
    """
    op = last.prev_op
    while op is not None and op is not first:
        yield op
        op = op.prev_op
