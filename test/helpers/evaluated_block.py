"""A bottleneck block that passes compile with an evaluator of a test."""

from __future__ import annotations

from differential import parsed
from example_layers import BlockSizes, bottleneck
from kept_groups import run_passes
from xdsl.dialects.builtin import ModuleOp

from tlf.dialects.target import TargetSpec, load_target_spec
from tlf.planner.context import Evaluator, Memo, PlanningContext

MOST = 2_000_000
"""The instructions that a pass may run to evaluate programs, at most."""


def evaluated_block(
    evaluator: Evaluator | None,
    sizes: BlockSizes,
    passes: str,
    target: TargetSpec | None = None,
) -> ModuleOp:
    """
    The block, in f16, behind some passes, for `npu` unless another target is given. The
    context has no evaluator if that is None. Passes have to limit what it runs.
    """

    def made(target: TargetSpec, steps: int, memo: Memo) -> Evaluator:
        assert 0 < steps <= MOST
        assert evaluator is not None
        return evaluator

    context, module = parsed(bottleneck(sizes, "f16").program.text())
    assert isinstance(context, PlanningContext)
    context.evaluator = None if evaluator is None else made
    target = target or load_target_spec("npu")
    target.attach(module)
    run_passes(context, module, target, passes)
    return module
