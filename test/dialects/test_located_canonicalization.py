"""Canonicalization equals that of xDSL, in fewer walks."""

import pytest
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Region
from xdsl.pattern_rewriter import PatternRewriterListener
from xdsl.transforms.canonicalize import CanonicalizePass

from tlf.compiler.driver.driver import new_context, parse_module
from tlf.compiler.driver.source import Source
from tlf.dialects import located_canonicalization
from tlf.dialects.dead_operations import erase_dead_operations
from tlf.dialects.located_canonicalization import LocatedCanonicalizePass

DEPTH = 6


def nested_loops() -> str:
    """Return loops in each of which a constant is used that they do not change."""
    text = '"test.op"(%sum) : (index) -> ()'
    for depth in range(DEPTH):
        text = f"""
          scf.for %i{depth} = %zero to %count step %one {{
            %c{depth} = arith.constant {depth + 5} : index
            %d{depth} = arith.constant {depth % 2 + 20} : index
            "test.op"(%c{depth}, %d{depth}, %i{depth}) : (index, index, index) -> ()
            {text}
          }}
        """
    return f"""
      func.func @f(%count: index) {{
        %zero = arith.constant 0 : index
        %one = arith.constant 1 : index
        %sum = arith.addi %count, %zero : index
        %unused = arith.muli %count, %count : index
        {text}
        func.return
      }}
    """


def parse_nested_loops() -> ModuleOp:
    return parse_module(new_context(True), Source(nested_loops(), "loops"))


def test_result_is_that_of_xdsl():
    expected, actual = parse_nested_loops(), parse_nested_loops()
    CanonicalizePass().apply(new_context(True), expected)
    LocatedCanonicalizePass().apply(new_context(True), actual)
    assert str(actual) == str(expected)
    assert "arith.addi" not in str(actual)


def test_constants_leave_nested_loops_in_one_walk(monkeypatch: pytest.MonkeyPatch):
    walks: list[bool] = []

    def count(region: Region, listener: PatternRewriterListener) -> bool:
        walks.append(erase_dead_operations(region, listener))
        return walks[-1]

    monkeypatch.setattr(located_canonicalization, "erase_dead_operations", count)
    module = parse_nested_loops()
    LocatedCanonicalizePass().apply(new_context(True), module)
    assert len(walks) == 2 < DEPTH
