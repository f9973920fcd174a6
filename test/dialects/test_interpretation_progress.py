"""The fraction of a function that the reference has interpreted."""

import numpy as np
import pytest
from xdsl.ir import Operation

from tlf.compiler.driver.driver import new_context
from tlf.compiler.driver.source import Source
from tlf.compiler.driver.verified_parsing import parse_and_verify
from tlf.dialects.interpreters.interpret import interpret
from tlf.dialects.interpreters.interpretation_progress import InterpretationProgress
from tlf.support.progress import collect_steps, report_step

PROGRAM = """
func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = graph.exp %x : tensor<4xf32>
  %1 = graph.abs %0 : tensor<4xf32>
  %y = graph.group ins(%a = %1 : tensor<4xf32>) -> (tensor<4xf32>) {
    %2 = graph.exp %a : tensor<4xf32>
    graph.yield %2 : tensor<4xf32>
  }
  func.return %y : tensor<4xf32>
}"""


def test_operations_of_the_function_count(monkeypatch: pytest.MonkeyPatch):
    module = parse_and_verify(new_context(), Source(PROGRAM, "f.mlir"))
    seen: list[tuple[str, str, float | None]] = []
    report = InterpretationProgress.will_interpret_op

    def observe(self: InterpretationProgress, op: Operation, args: tuple[object, ...]):
        report(self, op, args)
        seen.append((steps[-1].name, op.name, steps[-1].fraction))

    monkeypatch.setattr(InterpretationProgress, "will_interpret_op", observe)
    with collect_steps() as steps, report_step("outer"):
        interpret(module, {"x": np.zeros(4, np.float32)})
        assert [(each.name, each.fraction) for each in steps] == [("outer", None)]
    assert seen == [
        ("interpret", "graph.exp", 0),
        ("interpret", "graph.abs", 1 / 4),
        ("interpret", "graph.group", 2 / 4),
        ("interpret", "graph.exp", 2 / 4),
        ("interpret", "graph.yield", 2 / 4),
        ("interpret", "func.return", 3 / 4),
    ]
