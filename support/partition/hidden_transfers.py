"""
Hidden transfers: prefetches that overlap with the groups before.

The channel of the farther memory stands idle while groups compute. In such cycles it
can do the *early* moves of the next group, such as loads of its weights, as far as the
retained memory has room for them: the *slack* of the groups before. What is early and
finds no slack comes before the group, which starts so much later.
"""

from collections.abc import Iterable

from tlf.support.partition.cost_model import Option


def advance_slack(slack: int, option: Option) -> tuple[int, int]:
    """Return the cycles of a group with its exposed prefetch, and the slack left."""
    left = slack - option.prefetch_cycles
    waiting, left = max(0, -left), max(0, left)
    return waiting + option.time, min(
        option.prefetch_capacity, left + option.idle_cycles
    )


def total_time(options: Iterable[Option], slack: int = 0) -> int:
    """The cycles of groups that run one after the other in these ways."""
    total = 0
    for option in options:
        time, slack = advance_slack(slack, option)
        total += time
    return total


def standalone_time(option: Option) -> int:
    """The cycles of a group that nothing runs before."""
    return advance_slack(0, option)[0]
