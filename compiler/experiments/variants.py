"""Ways to compile that are compared: less and less of what the compiler can do."""

from __future__ import annotations

from collections.abc import Mapping

from tlf.compiler.experiments.pipelines import GROUP, PARTITION, PLANNERS, Change

WHOLE = Change()
UNFUSED = {PARTITION: {"strategy": ("unfused",)}}
APART = {GROUP: {"max_operations": (1,)}, **UNFUSED}
ONE_STAGE = {"stages": (1,)}
NO_ROLLING = {"sliding_window": (False,)}
FIRST_AXIS = {"axes": (0,)}

BASELINES: Mapping[str, Change] = {
    "naive": Change(outermost=APART, apart=True),
    "unfused": Change(outermost=UNFUSED),
    "fused": WHOLE,
}
"""
Rungs of a ladder. On all of them tiles are chosen alike, and moves overlap computation.

- `naive`: every operation of the program as it is written runs by itself, from and to
  the outermost memory.
- `unfused`: normalizations are folded into weights, and what follows a contraction
  element by element runs with it. Each group reads from and writes to the outermost
  memory.
- `fused`: what the compiler does.
"""

ABLATIONS: Mapping[str, Change] = {
    "everything": WHOLE,
    "no fusion": Change(outermost=UNFUSED),
    "greedy fusion": Change(outermost={PARTITION: {"strategy": ("greedy",)}}),
    "no rolling": Change(outermost=dict.fromkeys(PLANNERS, NO_ROLLING)),
    "no residency": Change(outermost={PARTITION: {"residency": (False,)}}),
    "no double buffering": Change(
        everywhere=dict.fromkeys(PLANNERS, ONE_STAGE),
        without=frozenset({"mem-prefetch", "mem-chunk-loads", "mem-chunk-stores"}),
    ),
    "no spatial tiling": Change(outermost=dict.fromkeys(PLANNERS, FIRST_AXIS)),
}
"""The compiler without one of its means each."""


def strategy(name: str) -> Change:
    """The compiler with another search for groups that run as one."""
    return Change(outermost={PARTITION: {"strategy": (name,)}})
