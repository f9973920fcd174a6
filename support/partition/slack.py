"""
Moves that may be over before a group starts, hidden behind the groups before it.

The channel of the farther memory stands idle while groups compute. In such cycles it
can do the *early* moves of the next group, such as loads of its weights, as far as the
retained memory has room for them: the *slack* of the groups before. What is early and
finds no slack comes before the group, which starts so much later.
"""

from collections.abc import Iterable

from tlf.support.partition.costs import Option


def after(slack: int, option: Option) -> tuple[int, int]:
    """The cycles from the start of early moves that wait on, and the slack left."""
    left = slack - option.early
    waiting, left = max(0, -left), max(0, left)
    return waiting + option.time, min(option.room, left + option.idle)


def total_time(options: Iterable[Option], slack: int = 0) -> int:
    """The cycles of groups that run one after the other in these ways."""
    total = 0
    for option in options:
        time, slack = after(slack, option)
        total += time
    return total


def alone(option: Option) -> int:
    """The cycles of a group that nothing runs before."""
    return after(0, option)[0]
