"""
Hidden transfers in the partition solver, without IR: prefetches that overlap with
earlier groups.

The channel of the outer level is idle while groups compute. In these cycles it can
prefetch for the next group, for example its weights, as long as the inner level has
room for them: the *slack* of the earlier groups. Prefetches that exceed the slack delay
the start of the group.
"""

from collections.abc import Iterable

from tlf.support.partition.cost_model import Option


def run_group_with_slack(slack: int, option: Option) -> tuple[int, int]:
    """
    Return the cycles of a group with its exposed prefetch, and the slack after it.
    """
    remaining = slack - option.prefetch_cycles
    exposed, remaining = max(0, -remaining), max(0, remaining)
    return exposed + option.time, min(
        option.prefetch_capacity, remaining + option.idle_cycles
    )


def total_time_of_groups(options: Iterable[Option], slack: int = 0) -> int:
    """Return the cycles of groups that run one after the other with these options."""
    total = 0
    for option in options:
        time, slack = run_group_with_slack(slack, option)
        total += time
    return total


def time_without_earlier_groups(option: Option) -> int:
    """Return the cycles of a group with no earlier group."""
    return run_group_with_slack(0, option)[0]
