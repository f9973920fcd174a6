"""Equal groups as calls of one function: the same results at every level."""

import numpy as np
from differential import parsed
from xdsl.dialects import func

from tlf.compiler.driver.driver import PASSES
from tlf.compiler.driver.pass_manager import PassManager
from tlf.compiler.driver.pipeline import build_passes
from tlf.dialects.interpreters.interpret import interpret
from tlf.dialects.target import load_target_spec
from tlf.lowering.pipelines import PIPELINES

PLAN = "plan #graph.plan<L1, tile [2, 8], mapping grid>"
TYPE = "tensor<4x8xf32>"
PROGRAM = f"""
func.func @main(%x: {TYPE}, %y: {TYPE}) -> {TYPE} {{
  %a = graph.group ins(%e = %x : {TYPE}) {PLAN} -> ({TYPE}) {{
    %r = graph.exp %e : {TYPE}
    graph.yield %r : {TYPE}
  }}
  %b = graph.group ins(%e = %y : {TYPE}) {PLAN} -> ({TYPE}) {{
    %r = graph.exp %e : {TYPE}
    graph.yield %r : {TYPE}
  }}
  %c = graph.group ins(%e = %a, %f = %b : {TYPE}, {TYPE}) {PLAN}
      attributes {{tlf.in_place = #graph.in_place<0>}} -> ({TYPE}) {{
    %r = graph.sub %e, %f : ({TYPE}, {TYPE}) -> {TYPE}
    graph.yield %r : {TYPE}
  }}
  %d = graph.group ins(%e = %c, %f = %b : {TYPE}, {TYPE}) {PLAN}
      attributes {{tlf.in_place = #graph.in_place<0>}} -> ({TYPE}) {{
    %r = graph.sub %e, %f : ({TYPE}, {TYPE}) -> {TYPE}
    graph.yield %r : {TYPE}
  }}
  func.return %d : {TYPE}
}}
"""
STEPS = (
    "graph-outline-groups",
    "convert-graph-to-tile,tidy",
    "convert-tile-to-mem,tidy",
    "mem-fold-unit-dims,mem-schedule-moves",
)


def test_results_at_every_level():
    context, module = parsed(PROGRAM)
    load_target_spec("h200").attach_to_module(module)
    x, y = (np.linspace(low, 1, 32, dtype=np.float32).reshape(4, 8) for low in (-1, 0))
    expected = np.exp(x) - 2 * np.exp(y)

    for step in STEPS:
        PassManager(build_passes(step, PASSES, PIPELINES)).run(context, module)
        (result,) = interpret(module, {"x": x, "y": y}, "main")
        calls = [op for op in module.walk() if isinstance(op, func.CallOp)]
        assert len(calls) == 4
        np.testing.assert_allclose(result.astype(float), expected, rtol=1e-5)
