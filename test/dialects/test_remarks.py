"""Remarks on functions."""

from xdsl.dialects import func
from xdsl.ir import Operation

from tlf.compiler.driver.driver import new_context, parse_module
from tlf.compiler.driver.source import Source
from tlf.dialects import graph
from tlf.dialects.graph import add_remark, add_shared_remark, remarks_of

PROGRAM = """
func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
  %a = graph.exp %x : tensor<4xf32>
  %b = graph.exp %a : tensor<4xf32>
  func.return %b : tensor<4xf32>
}
"""


def operations() -> tuple[func.FuncOp, list[Operation]]:
    module = parse_module(new_context(), Source(PROGRAM, "<test>"))
    (function,) = (op for op in module.ops if isinstance(op, func.FuncOp))
    return function, [op for op in function.walk() if isinstance(op, graph.ExpOp)]


def test_that_remarks_of_one_text_become_one() -> None:
    function, (first, second) = operations()
    add_remark(first, "graph-a", "passed", "done")
    add_remark(second, "graph-a", "missed", "left")
    add_remark(second, "graph-a", "passed", "done")
    add_remark(second, "graph-a", "passed", "done")
    assert [str(each) for each in remarks_of(function)] == [
        "graph-a: passed: %a, %b: done",
        "graph-a: missed: %b: left",
    ]


def test_that_remarks_on_nearer_levels_are_others() -> None:
    function, (first, second) = operations()
    add_shared_remark([first], "graph-a", "missed", "left", topic="loops")
    add_shared_remark([first], "graph-a", "missed", "left", topic="loops", level="L1")
    add_shared_remark([second], "graph-a", "missed", "left", topic="loops", level="L1")

    assert [str(each) for each in remarks_of(function)] == [
        "graph-a: missed: %a: left",
        "in L1: graph-a: missed: %a, %b: left",
    ]
    assert str(function.attributes["tlf.remarks"]) == (
        '[#graph.remark<missed "graph-a" "left" about "loops" at "%a">, '
        '#graph.remark<missed "graph-a" "left" about "loops" in "L1" at "%a", "%b">]'
    )


def test_that_what_is_in_no_function_is_not_noted() -> None:
    _, (first, _) = operations()
    first.detach()
    add_remark(first, "graph-a", "passed", "done")
