"""A bottleneck block that passes compile while a rehearsal of a test tells times."""

from __future__ import annotations

import pytest
from differential import parsed
from example_layers import BlockSizes, bottleneck
from kept_groups import run_passes
from xdsl.dialects.builtin import ModuleOp

from tlf.dialects.target import Target, load
from tlf.planner.cost.npu import rehearsal

MOST = 2_000_000
"""The instructions that a pass runs to rehearse programs, at most."""


def rehearsed_block(
    told: rehearsal.Rehearsal | None,
    sizes: BlockSizes,
    passes: str,
    monkeypatch: pytest.MonkeyPatch,
    target: Target | None = None,
) -> ModuleOp:
    """
    The block, in f16, behind some passes, for `npu` unless another target is given;
    None offers no rehearsal. A rehearsal may run some instructions, but not any number.
    """

    def offered(target: Target, steps: int) -> rehearsal.Rehearsal | None:
        assert 0 < steps <= MOST
        return told

    monkeypatch.setattr(rehearsal, "_offered", [offered])
    context, module = parsed(bottleneck(sizes, "f16").program.text())
    target = target or load("npu")
    target.attach(module)
    run_passes(context, module, target, passes)
    return module
