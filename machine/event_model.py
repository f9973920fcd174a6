"""
Event model of an NPU: a max-plus system of engines, channels and semaphores.

Every time below is the greatest of some earlier times, plus a constant: a max-plus
system. So a machine with a faster part never takes longer for a program, and a loop
whose iterations cost the same settles into a period.
"""

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field

from tlf.machine.instruction_costs import Cost, InstructionCosts

ISSUE = "issue"
"""Stall cause: the control processor has not issued the engine's next work."""


@dataclass(slots=True)
class EventModel:
    """
    The time of a machine's parts, in cycles from the start.

    The control processor never waits; it issues to queues without a limit. An engine
    takes what is in its queue in order.
    """

    names: Sequence[str]
    """
    The engines, then the levels of the channels, then `issue`: why an engine may stall.
    An engine of several cores stands there for each.
    """
    free: list[int]
    """By engine, when its next instruction may start."""
    done: list[int]
    """By engine, when all its results are there."""
    channels: list[int]
    """By shared channel, when it has done its last move."""
    semaphores: list[deque[tuple[int, int]]]
    """By semaphore and core, the signals not waited for: time, engine."""
    stalls: list[list[int]]
    """By engine, the cycles it stood still, by cause."""
    cores: int = 1
    time: int = 0
    """Of the control processor."""
    event_time_sum: int = 0
    """The sum of the times of all events so far."""
    _issue: int = field(init=False)

    def __post_init__(self) -> None:
        self._issue = len(self.names) - 1

    @staticmethod
    def of(costs: InstructionCosts, semaphores: int) -> "EventModel":
        """A machine at rest."""
        machine, channels = costs.machine, costs.channel_levels
        engines = [name for name, _ in machine.units]
        names = [*engines, *channels, ISSUE]
        return EventModel(
            names,
            [0] * len(engines),
            [0] * len(engines),
            [0] * len(channels),
            [deque() for _ in range(semaphores * machine.cores)],
            [[0] * len(names) for _ in engines],
            machine.cores,
        )

    def _ready_time(self, queue: int) -> int:
        """Return when the engine can take what the control processor issues now."""
        free, time = self.free[queue], self.time
        if time > free:
            self.stalls[queue][self._issue] += time - free
            free = time
        self.event_time_sum += free
        return free

    def execute(self, cost: Cost) -> int:
        """
        Execute an instruction on its engine and return the cycle at which it ends.
        Return when it ends.
        """
        queue = cost.queue
        start = self._ready_time(queue)
        end = start + cost.cycles
        for channel, cycles in cost.shared:
            finish = max(start, self.channels[channel]) + cycles
            self.channels[channel] = finish
            if finish > end:
                self.stalls[queue][len(self.free) + channel] += finish - end
                end = finish
            self.event_time_sum += finish + end
        self.free[queue] = end
        self.done[queue] = max(self.done[queue], end + cost.latency)
        self.event_time_sum += end
        return end

    def signal(
        self, queues: Sequence[int], semaphore: int, core: int | None = None
    ) -> None:
        """
        Signal a semaphore of a core once all earlier work of some engines has taken
        effect; None for all cores.
        """
        time = self.time
        for queue in queues:
            time = max(time, self.free[queue], self.done[queue])
        self.event_time_sum += time
        for number in self._semaphores_of(semaphore, core):
            self.semaphores[number].append((time, queues[0]))

    def wait(
        self, queues: Sequence[int], semaphore: int, core: int | None = None
    ) -> bool:
        """
        Hold engines until the first signal of a core's semaphore that was not waited
        for; None waits for those of all cores. Return whether there is one.
        """
        numbers = self._semaphores_of(semaphore, core)
        if not all(self.semaphores[number] for number in numbers):
            return False
        signals = [self.semaphores[number].popleft() for number in numbers]
        time, cause = max(time for time, _ in signals), signals[0][1]
        for queue in queues:
            ready = self._ready_time(queue)
            if time > ready:
                self.stalls[queue][cause] += time - ready
                ready = time
            self.free[queue] = ready
            self.event_time_sum += ready
        return True

    def _semaphores_of(self, semaphore: int, core: int | None) -> range:
        first = semaphore * self.cores
        if core is None:
            return range(first, first + self.cores)
        return range(first + core, first + core + 1)

    @property
    def end(self) -> int:
        """Time at which everything issued so far is over."""
        return max([self.time, self.completion_time])

    @property
    def completion_time(self) -> int:
        """
        Return the cycle at which all engines have completed everything issued so far.
        """
        return max([*self.done, *self.free])

    def stall_cycles(self) -> dict[str, dict[str, int]]:
        """Return the stall cycles of each engine by cause, summed over cores."""
        found: dict[str, dict[str, int]] = {}
        for queue, row in enumerate(self.stalls):
            causes = found.setdefault(self.names[queue], {})
            for name, cycles in zip(self.names, row, strict=True):
                if cycles:
                    causes[name] = causes.get(name, 0) + cycles
        return found
