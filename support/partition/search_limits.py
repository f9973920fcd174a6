"""Limits of the partition search, in counts."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Limits:
    """Bounds of the effort, in counts: results do not depend on the machine."""

    states: int = 200_000
    """States that `dp` visits before it gives up and leaves it to `beam`."""
    moves: int = 2_000_000
    """
    Groups to run next with what may stay then, from all states, before `dp` gives up.
    """
    residency_sets: int = 1_024
    """
    Sets of values that may stay once a group has run, before `dp` gives up; with more,
    `beam` tries none, all, each of the values alone and all but each.
    """
    candidates: int = 4_096
    """Groups to run next, of one downset, before `dp` gives up; `beam` tries these."""
    group: int = 32
    """Operations of a group. Larger ones are left out, which is told."""
    width: int = 32
    """States that `beam` keeps for each number of operations done."""
    front: int = 1
    """
    Ways to one state that are kept, of those that no other one beats in both time and
    bytes. The best one is always among them, so one is enough for the best schedule;
    more give more of the front.
    """
    ways: int = 1
    """
    Ways to one state that are kept as the best, whether or not others beat them; more
    give as many of the best schedules, if there are, instead of a front.
    """
