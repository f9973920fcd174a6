"""
Reductions that start again where an extreme changes find in a loop what they do of a
row as a whole.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pytest
from cascade_programs import at_two_levels, in_one_loop, near_engines
from differential import PASSES, PassManager, build_passes, parsed, run_lowered
from restart_programs import BODIES, ELEMENTS, inputs_of, program
from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp

from tlf.analysis.operations.op_facts import OpFactsCache
from tlf.analysis.recurrence.cascade import NoCascadeError, build_valid_cascade
from tlf.dialects import tile
from tlf.dialects.interfaces import Array, ConstantInterface, TilingInterface
from tlf.dialects.interpreters.interpret import interpret
from tlf.dialects.target import TargetSpec
from tlf.lowering.pipelines import pipelines_for

INSTRUCTIONS = (
    "convert-tile-to-mem,tidy,mem-fold-fills,mem-fold-casts,mem-pipeline,"
    "mem-split-maps,mem-prefetch,mem-plan,convert-mem-to-npu,tidy"
)


def depth_of(module: ModuleOp) -> int:
    """Return the maximum nesting depth of loops over row tiles."""
    depths = [0]
    for op in module.walk():
        depth, around = 0, op
        while around is not None:
            depth += isinstance(around, tile.WhileOp) and not around.is_parallel
            around = around.parent_op()
        depths.append(depth)
    return max(depths)


def on_npu(
    context: Context, module: ModuleOp, known: Mapping[str, Array]
) -> Sequence[Array]:
    """Return the results of the instructions."""
    target = TargetSpec.read_from_module(module)
    taken = [argument.name_hint or "" for argument in function_of(module).args]
    inputs = {name: known[name] for name in taken}
    passes = build_passes(INSTRUCTIONS, PASSES, pipelines_for(target))
    PassManager(passes).run(context, module)
    return run_lowered(context, module, target, inputs)


def function_of(module: ModuleOp) -> func.FuncOp:
    """The only function of a module."""
    (function,) = (op for op in module.ops if isinstance(op, func.FuncOp))
    return function


@dataclass(frozen=True)
class Drawn:
    """A program of random sizes, with what it comes to of some inputs."""

    rng: np.random.Generator
    rows: int
    columns: int
    text: str
    inputs: Mapping[str, Array]
    right: Array

    @staticmethod
    def of(body: str, element: str, seed: int, least: tuple[int, int]) -> Drawn:
        """Rows and columns are at least so many."""
        rng = np.random.default_rng(seed)
        rows, columns = (int(n) for n in rng.integers(least, (20, 60)))
        text = program(body, rows, columns, element)
        inputs = inputs_of(rows, columns, element, seed)
        (right,) = interpret(parsed(text)[1], inputs)
        return Drawn(rng, rows, columns, text, inputs, right)

    def below(self, end: int, least: int = 1) -> int:
        """A random number."""
        return int(self.rng.integers(least, end))


@pytest.mark.one_in(4)
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("element", ELEMENTS)
@pytest.mark.parametrize("body", BODIES)
def test_in_one_loop(body: str, element: str, seed: int):
    case = Drawn.of(body, element, seed, (1, 2))
    steps = case.below(case.columns)

    module = in_one_loop(case.text, case.below(case.rows + 1), steps)

    assert depth_of(module) == 1
    (found,) = interpret(module, case.inputs)
    np.testing.assert_array_equal(found, case.right)


@pytest.mark.one_in(4)
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("element", ELEMENTS)
@pytest.mark.parametrize("body", BODIES)
def test_near_engines(body: str, element: str, seed: int):
    case = Drawn.of(body, element, seed, (2, 8))
    plan = case.below(case.rows + 1), case.below(case.columns // 2)

    context, module = near_engines(case.text, *plan)

    assert depth_of(module) == 1
    (found,) = on_npu(context, module, case.inputs)
    np.testing.assert_array_equal(found, case.right)


@pytest.mark.one_in(4)
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("element", ELEMENTS)
@pytest.mark.parametrize("body", BODIES)
def test_at_two_levels(body: str, element: str, seed: int):
    case = Drawn.of(body, element, seed, (2, 12))
    far = case.below(case.rows + 1), case.below(case.columns, 4)
    near = case.below(far[0] + 1), case.below(far[1])

    context, module = at_two_levels(case.text, far, near)

    assert depth_of(module) == 2
    (found,) = on_npu(context, module, case.inputs)
    np.testing.assert_array_equal(found, case.right)


@pytest.mark.one_in(1 / 2)
@pytest.mark.parametrize("element", ELEMENTS)
@pytest.mark.parametrize("body", BODIES)
def test_a_thousand_inputs(body: str, element: str):
    """All results are what they are without a loop, whatever is in rows."""
    rng = np.random.default_rng(len(body))
    for number in range(7):
        rows, columns = int(rng.integers(1, 20)), int(rng.integers(2, 60))
        text = program(body, rows, columns, element)
        whole = parsed(text)[1]
        module = in_one_loop(text, rows, int(rng.integers(1, columns)))
        for seed in range(9):
            inputs = inputs_of(rows, columns, element, 9 * number + seed)
            (right,), (found,) = (interpret(each, inputs) for each in (whole, module))
            np.testing.assert_array_equal(found, right)


OUTSIDE = """
  %o = graph.constant dense<1> : tensor<i32>
  %z = graph.constant dense<0> : tensor<i32>
  %m = graph.reduce %t <max> axes [1] keepdims : ({S}) -> {R}
  %e = graph.compare %t, %m <eq> : ({S}, {R}) -> {B}
  %g = graph.or %e, %h : ({B}, {B}) -> {B}
  %u = graph.select %g, %o, %z : ({B}, tensor<i32>, tensor<i32>) -> {N}
  %y = graph.reduce %u <sum> axes [1] : ({N}) -> tensor<4xi32>
  func.return %y : tensor<4xi32>"""


def test_conditions_from_outside_may_hold_anywhere():
    """So there is no loop."""
    types = {"S": "4x24xf32", "R": "4x1xf32", "B": "4x24xi1", "N": "4x24xi32"}
    types = {name: f"tensor<{type_}>" for name, type_ in types.items()}
    taken = "%t: {S}, %h: {B}".format(**types)
    lines = OUTSIDE.format(**types)
    _, module = parsed(f"func.func @main({taken}) -> tensor<4xi32> {{{lines}\n}}")
    operations = [op for op in module.walk() if isinstance(op, TilingInterface)]
    inside = [op for op in operations if not isinstance(op, ConstantInterface)]

    with pytest.raises(NoCascadeError, match="no factor corrects"):
        build_valid_cascade(inside, OpFactsCache())
