"""Limits of the partition search, in counts, without IR."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Limits:
    """Limits of the search effort, in counts: results do not depend on the machine."""

    states: int = 200_000
    """Maximum number of states that `dp` visits before it falls back to `beam`."""
    moves: int = 2_000_000
    """
    Maximum number of transitions from all states, before `dp` falls back to `beam`.
    """
    residency_sets: int = 1_024
    """
    Maximum number of residency sets after a group, before `dp` falls back to `beam`.
    Above it, `beam` evaluates none, all, each value only and all but each.
    """
    candidates: int = 4_096
    """
    Maximum number of candidate groups of one downset, before `dp` falls back to `beam`,
    which evaluates the first ones.
    """
    group: int = 32
    """
    Maximum number of operations in a group. Larger groups are dropped, and reported.
    """
    width: int = 32
    """Number of states that `beam` keeps for each number of operations done."""
    front: int = 1
    """
    Maximum number of labels per state that are not dominated in both time and bytes.
    The best one is always among them, so one is enough for the best schedule; more give
    more of the front.
    """
    ways: int = 1
    """
    Maximum number of best labels per state, dominated or not; more than one gives as
    many of the best schedules, if there are, instead of a front.
    """
