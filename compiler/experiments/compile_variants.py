"""Experiment: changes of pass options that define baselines and ablations."""

from __future__ import annotations

from collections.abc import Mapping

from tlf.compiler.experiments.pipeline_variants import (
    GROUP,
    PARTITION,
    PLANNERS,
    PipelineChange,
)

WHOLE = PipelineChange()
UNFUSED = {PARTITION: {"strategy": ("unfused",)}}
ONE_OP_GROUPS = {GROUP: {"max_operations": (1,)}, **UNFUSED}
ONE_STAGE = {"stages": (1,)}
NO_SLIDING = {"sliding_window": (False,)}
FIRST_AXIS = {"axes": (0,)}

BASELINES: Mapping[str, PipelineChange] = {
    "naive": PipelineChange(outermost_options=ONE_OP_GROUPS, keeps_composites=True),
    "unfused": PipelineChange(outermost_options=UNFUSED),
    "fused": WHOLE,
}
"""
Baselines with increasing fusion. All of them choose tiles alike, and overlap moves with
computation.

- `naive`: every operation of the program as written is a group of its own, from and to
  the outermost memory.
- `unfused`: normalizations are folded into weights, and a contraction is fused with
  the elementwise operations after it. Each group reads from and writes to the
  outermost memory.
- `fused`: the default pipeline of the compiler.
"""

ABLATIONS: Mapping[str, PipelineChange] = {
    "everything": WHOLE,
    "no fusion": PipelineChange(outermost_options=UNFUSED),
    "greedy fusion": PipelineChange(
        outermost_options={PARTITION: {"strategy": ("greedy",)}}
    ),
    "no rolling": PipelineChange(outermost_options=dict.fromkeys(PLANNERS, NO_SLIDING)),
    "no residency": PipelineChange(
        outermost_options={PARTITION: {"residency": (False,)}}
    ),
    "no double buffering": PipelineChange(
        options_of_all_levels=dict.fromkeys(PLANNERS, ONE_STAGE),
        omitted_passes=frozenset(
            {"mem-prefetch", "mem-chunk-loads", "mem-chunk-stores"}
        ),
    ),
    "no spatial tiling": PipelineChange(
        outermost_options=dict.fromkeys(PLANNERS, FIRST_AXIS)
    ),
}
"""The default pipeline with one optimization disabled each."""


def change_with_strategy(strategy: str) -> PipelineChange:
    """Return the default pipeline with another partition search."""
    return PipelineChange(outermost_options={PARTITION: {"strategy": (strategy,)}})
