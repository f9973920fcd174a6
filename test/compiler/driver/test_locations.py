"""Locations through every way in which a rewrite may bring in operations."""

from collections.abc import Callable

import pytest
from xdsl.context import Context
from xdsl.dialects import arith, test
from xdsl.dialects.builtin import FileLineColLoc, ModuleOp, i32
from xdsl.ir import Block, Operation, Region
from xdsl.passes import ModulePass
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern
from xdsl.rewriter import InsertPoint

from tlf.compiler.driver.driver import PASSES, new_context, parse_module
from tlf.compiler.driver.pass_manager import PassManager
from tlf.compiler.driver.pipeline import build_passes
from tlf.compiler.driver.source import Source
from tlf.dialects.located_rewriting import replace_op, rewrite_module

SOURCE = Source(
    """
"test.op"() : () -> ()
%0 = arith.constant 1 : i32
%1 = arith.addi %0, %0 : i32
""",
    "source.mlir",
)
"""An operation on line 4 to be replaced, with others before it."""

Rewrite = Callable[[Operation, PatternRewriter], None]


def nested() -> test.TestOp:
    """A new operation with another inside, neither located."""
    inside = test.TestTermOp(result_types=[i32])
    return test.TestOp(result_types=[i32], regions=[Region(Block([inside]))])


def replace(op: Operation, rewriter: PatternRewriter) -> None:
    rewriter.replace(op, nested())


def replace_by_several(op: Operation, rewriter: PatternRewriter) -> None:
    rewriter.replace(op, [nested(), nested()])


def insert_then_replace(op: Operation, rewriter: PatternRewriter) -> None:
    new = rewriter.insert(nested())
    rewriter.replace(op, (), new.results)


def insert_elsewhere(op: Operation, rewriter: PatternRewriter) -> None:
    first = op
    while first.prev_op is not None:
        first = first.prev_op
    rewriter.insert(nested(), InsertPoint.before(first))


def replace_without_pattern(op: Operation, rewriter: PatternRewriter) -> None:
    replace_op(op, nested())


def lines(rewrite: Rewrite) -> list[int]:
    """The lines that the `test.op`s come from after `rewrite` of the addition."""

    class Pattern(RewritePattern):
        def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter) -> None:
            if isinstance(op, arith.AddiOp):
                rewrite(op, rewriter)

    class Pass(ModulePass):
        name = "rewrite"

        def apply(self, ctx: Context, op: ModuleOp) -> None:
            rewrite_module(op, Pattern(), is_recursive=False)

    context = new_context()
    module = parse_module(context, SOURCE)
    PassManager([Pass()]).run(context, module)
    found: list[int] = []
    for op in module.walk():
        assert isinstance(op.location, FileLineColLoc)
        if isinstance(op, test.TestOp | test.TestTermOp):
            found.append(op.location.line.data)
    return found


@pytest.mark.parametrize(
    ("rewrite", "expected"),
    [
        (replace, [2, 4, 4]),
        (replace_by_several, [2, 4, 4, 4, 4]),
        (insert_then_replace, [2, 4, 4]),
        (insert_elsewhere, [4, 4, 2]),
        (replace_without_pattern, [2, 4, 4]),
    ],
)
def test_new_operations_inherit(rewrite: Rewrite, expected: list[int]):
    assert lines(rewrite) == expected


FOLDED = Source(
    """
func.func @f(%x: i32) -> i32 {
  %0 = arith.constant 0 : i32
  %1 = arith.constant 2 : i32
  %2 = arith.addi %1, %1 : i32
  %3 = arith.muli %x, %2 : i32
  func.return %3 : i32
}
""",
    "folded.mlir",
)


def test_what_canonicalization_makes_inherits():
    context = new_context()
    module = parse_module(context, FOLDED)
    PassManager(build_passes("canonicalize", PASSES, {})).run(context, module)
    (made,) = (op for op in module.walk() if isinstance(op, arith.ConstantOp))
    assert isinstance(made.location, FileLineColLoc)
    assert made.location.line.data == 5
