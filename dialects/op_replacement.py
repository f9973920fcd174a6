"""Replacement of an operation by several simpler ones."""

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
    The operations on whole tensors that nothing uses, those that come last first, so
    that whoever erases them gets what only they used.
    """
    for op in reversed(list(module.walk())):
        if op.name.startswith("graph.") and is_trivially_dead(op):
            yield op


def build_program(
    op: Operation,
    rewriter: PatternRewriter,
    program: Callable[[Builder], Sequence[SSAValue]],
) -> tuple[Sequence[Operation], Sequence[SSAValue]]:
    """
    Build a program in front of an operation, each step at its location; return the
    steps, and the values that stand for its results.
    """
    before = op.prev_op
    results = program(rewriter)
    steps = list(operations_between(before, op))
    for new in steps:
        new.location = op.location
    return steps, results


def replace_by_program(
    op: Operation,
    rewriter: PatternRewriter,
    program: Callable[[Builder], Sequence[SSAValue]],
) -> None:
    """Use the values that a program returns for the results of an operation."""
    _, results = build_program(op, rewriter, program)
    rewriter.replace(op, [], results)


def operations_between(first: Operation | None, last: Operation) -> Iterator[Operation]:
    """The operations of `last`'s block after `first` and before `last`."""
    op = last.prev_op
    while op is not None and op is not first:
        yield op
        op = op.prev_op
