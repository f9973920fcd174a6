"""Bottleneck block that passes compile with an evaluator of a test."""

from __future__ import annotations

from differential import parsed
from example_layers import BlockSizes, bottleneck
from kept_groups import run_passes
from xdsl.dialects.builtin import ModuleOp

from tlf.dialects.target import TargetSpec, load_target_spec
from tlf.planner.context import Evaluator, Memo, PlanningContext

MOST = 2_000_000
"""Maximum number of instructions that a pass may evaluate."""


def evaluated_block(
    evaluator: Evaluator | None,
    sizes: BlockSizes,
    passes: str,
    target: TargetSpec | None = None,
) -> ModuleOp:
    """
    Return the block, in f16, after some passes, by default for `npu`.

    The context has no evaluator if `evaluator` is `None`. Passes must limit their
    evaluations.
    """

    def make_evaluator(target: TargetSpec, steps: int, memo: Memo) -> Evaluator:
        assert 0 < steps <= MOST
        assert evaluator is not None
        return evaluator

    context, module = parsed(bottleneck(sizes, "f16").program.text())
    assert isinstance(context, PlanningContext)
    context.evaluator = None if evaluator is None else make_evaluator
    target = target or load_target_spec("npu")
    target.attach_to_module(module)
    run_passes(context, module, target, passes)
    return module
