"""
The machine as a system of events.

Every time below is the greatest of some earlier times, plus a constant: a max-plus
system. So a machine with a faster part never takes longer for a program, and a loop
whose iterations cost the same settles into a period.
"""

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field

from tlf.machine.costs import Cost, Costs

ISSUE = "issue"
"""Why an engine stands still: the control processor has not issued its next work."""


@dataclass(slots=True)
class EventModel:
    """
    The time of a machine's parts, in cycles from the start.

    The control processor never waits; it issues to queues without a limit. An engine
    takes what is in its queue in order.
    """

    names: Sequence[str]
    """The engines, then the shared channels, then `issue`: why an engine may stall."""
    free: list[int]
    """By engine, when its next instruction may start."""
    done: list[int]
    """By engine, when all its results are there."""
    channels: list[int]
    """By shared channel, when it has done its last move."""
    semaphores: list[deque[tuple[int, int]]]
    """By semaphore, the signals not waited for: time, engine."""
    stalls: list[list[int]]
    """By engine, the cycles it stood still, by cause."""
    time: int = 0
    """Of the control processor."""
    moments: int = 0
    """The sum of the times of all events so far."""
    _issue: int = field(init=False)

    def __post_init__(self) -> None:
        self._issue = len(self.names) - 1

    @staticmethod
    def of(costs: Costs, semaphores: int) -> "EventModel":
        """A machine at rest."""
        engines, channels = list(costs.queues), list(costs.channels)
        names = [*engines, *channels, ISSUE]
        return EventModel(
            names,
            [0] * len(engines),
            [0] * len(engines),
            [0] * len(channels),
            [deque() for _ in range(semaphores)],
            [[0] * len(names) for _ in engines],
        )

    def _ready(self, queue: int) -> int:
        """Return when the engine can take what the control processor issues now."""
        free, time = self.free[queue], self.time
        if time > free:
            self.stalls[queue][self._issue] += time - free
            free = time
        self.moments += free
        return free

    def work(self, cost: Cost) -> int:
        """Issue an instruction. Return when it ends."""
        queue = cost.queue
        start = self._ready(queue)
        end = start + cost.cycles
        for channel, cycles in cost.shared:
            finish = max(start, self.channels[channel]) + cycles
            self.channels[channel] = finish
            if finish > end:
                self.stalls[queue][len(self.free) + channel] += finish - end
                end = finish
            self.moments += finish + end
        self.free[queue] = end
        self.done[queue] = max(self.done[queue], end + cost.latency)
        self.moments += end
        return end

    def signal(self, queue: int, semaphore: int) -> None:
        """Signal a semaphore once all earlier work of an engine has taken effect."""
        time = max(self.time, self.free[queue], self.done[queue])
        self.moments += time
        self.semaphores[semaphore].append((time, queue))

    def wait(self, queue: int, semaphore: int) -> bool:
        """
        Hold an engine until the first signal not waited for. Return whether there is
        one.
        """
        if not self.semaphores[semaphore]:
            return False
        time, cause = self.semaphores[semaphore].popleft()
        ready = self._ready(queue)
        if time > ready:
            self.stalls[queue][cause] += time - ready
            ready = time
        self.free[queue] = ready
        self.moments += ready
        return True

    @property
    def end(self) -> int:
        """When everything issued so far is over."""
        return max([self.time, *self.done, *self.free])

    def stalled(self) -> dict[str, dict[str, int]]:
        """Return how long each engine stood still, by cause, where it did."""
        return {
            self.names[queue]: {
                name: cycles
                for name, cycles in zip(self.names, row, strict=True)
                if cycles
            }
            for queue, row in enumerate(self.stalls)
        }
