"""Bottleneck block that passes compile with an evaluator of a test."""

from __future__ import annotations

from differential import parsed
from example_layers import BlockSizes, bottleneck
from kept_groups import run_passes
from xdsl.dialects.builtin import ModuleOp

from tlf.compiler.driver.driver import new_context
from tlf.dialects.target import TargetSpec, load_target_spec
from tlf.planner.context import Evaluator, Memo, PlanningContext

MOST = 2_000_000
"""Maximum number of instructions that a pass may evaluate."""


def block_after(
    sizes: BlockSizes, passes: str, target: TargetSpec | None = None
) -> ModuleOp:
    """
    Return the block, in f16, after some passes without an evaluator, by default for
    `npu`.
    """
    _, module = parsed(bottleneck(sizes, "f16").program.text())
    (target or load_target_spec("npu")).attach_to_module(module)
    run_evaluated(None, module, passes)
    return module


def run_evaluated(evaluator: Evaluator | None, module: ModuleOp, passes: str) -> None:
    """
    Run passes in a context with an evaluator. Passes must limit their evaluations.
    """

    def make_evaluator(target: TargetSpec, steps: int, memo: Memo) -> Evaluator:
        assert 0 < steps <= MOST
        assert evaluator is not None
        return evaluator

    context = new_context()
    assert isinstance(context, PlanningContext)
    context.evaluator = None if evaluator is None else make_evaluator
    run_passes(context, module, TargetSpec.read_from_module(module), passes)
