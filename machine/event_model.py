"""
Timing model of an NPU: a max-plus system of engines, channels and semaphores.

Every time is the maximum of earlier times plus constants. Hence a machine with a faster
part never takes longer for a program, and a loop whose iterations have equal costs
becomes periodic.
"""

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice

from tlf.machine.instruction_costs import Cost, InstructionCosts

ISSUE = "issue"
"""Stall cause: the control processor has not issued the engine's next work."""


@dataclass(slots=True)
class EventModel:
    """
    Times of a machine's control processor, engines and channels, in cycles from the
    start.

    The control processor never waits: it issues to unbounded queues. Each engine
    executes its queue in order.
    """

    names: Sequence[str]
    """
    Engines, then the levels of the channels, then `issue`: the causes for which an
    engine may stall. An engine of several cores has one entry per core.
    """
    next_start_times: list[int]
    """Cycle at which each engine can start its next instruction."""
    result_times: list[int]
    """Cycle at which all results of each engine are available."""
    channels: list[int]
    """Cycle at which each shared channel completes its last transfer."""
    semaphores: list[deque[tuple[int, int]]]
    """Pending signals by semaphore and core: cycle, signalling engine."""
    stalls: list[list[int]]
    """Stall cycles by engine and cause."""
    cores: int = 1
    time: int = 0
    """Time of the control processor, in cycles."""
    event_time_sum: int = 0
    """Sum of the times of all events so far."""
    _issue: int = field(init=False)

    def __post_init__(self) -> None:
        self._issue = len(self.names) - 1

    @staticmethod
    def of_idle_machine(costs: InstructionCosts, semaphores: int) -> "EventModel":
        """
        Build the event model of a machine on which nothing has run yet, with all times
        0.
        """
        machine, channels = costs.machine, costs.channel_levels
        engines = [name for name, _ in machine.engine_units]
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

    def save_times(self) -> list[int]:
        """Return the times of the control processor, the engines and the channels."""
        return [self.time, *self.next_start_times, *self.result_times, *self.channels]

    def restore_times(self, times: Iterator[int]) -> None:
        """Set the times that `save_times` returns to the next ones of an iterator."""
        self.time = next(times)
        for group in (self.next_start_times, self.result_times, self.channels):
            group[:] = islice(times, len(group))

    def _time_engine_accepts_instruction(self, queue: int) -> int:
        """Return the cycle at which an engine can accept the instruction issued now."""
        free, time = self.next_start_times[queue], self.time
        if time > free:
            self.stalls[queue][self._issue] += time - free
            free = time
        self.event_time_sum += free
        return free

    def execute_instruction(self, cost: Cost) -> int:
        """
        Execute an instruction on its engine and return the cycle at which it ends.
        """
        queue = cost.queue
        start = self._time_engine_accepts_instruction(queue)
        end = start + cost.cycles
        for channel, cycles in cost.channel_occupancy:
            finish = max(start, self.channels[channel]) + cycles
            self.channels[channel] = finish
            if finish > end:
                self.stalls[queue][len(self.next_start_times) + channel] += finish - end
                end = finish
            self.event_time_sum += finish + end
        self.next_start_times[queue] = end
        self.result_times[queue] = max(self.result_times[queue], end + cost.latency)
        self.event_time_sum += end
        return end

    def signal_semaphore(
        self, queues: Sequence[int], semaphore: int, core: int | None = None
    ) -> None:
        """
        Signal a semaphore of a core, or of all cores if `core` is None, once all
        earlier work of the engines `queues` has taken effect.
        """
        time = self.time
        for queue in queues:
            time = max(time, self.next_start_times[queue], self.result_times[queue])
        self.event_time_sum += time
        for index in self._semaphore_indices_of_cores(semaphore, core):
            self.semaphores[index].append((time, queues[0]))

    def wait_for_semaphore(
        self, queues: Sequence[int], semaphore: int, core: int | None = None
    ) -> bool:
        """
        Block the engines `queues` until the first pending signal of a core's semaphore,
        or of all cores' if `core` is None. Return `False` if no signal is pending.
        """
        indices = self._semaphore_indices_of_cores(semaphore, core)
        if not all(self.semaphores[index] for index in indices):
            return False
        signals = [self.semaphores[index].popleft() for index in indices]
        time, cause = max(time for time, _ in signals), signals[0][1]
        for queue in queues:
            ready = self._time_engine_accepts_instruction(queue)
            if time > ready:
                self.stalls[queue][cause] += time - ready
                ready = time
            self.next_start_times[queue] = ready
            self.event_time_sum += ready
        return True

    def _semaphore_indices_of_cores(self, semaphore: int, core: int | None) -> range:
        """Return the indices into `semaphores` for a core, or for all if it is None."""
        first = semaphore * self.cores
        if core is None:
            return range(first, first + self.cores)
        return range(first + core, first + core + 1)

    @property
    def end_time(self) -> int:
        """Cycle at which everything issued so far is complete, issuing included."""
        return max([self.time, self.completion_time])

    @property
    def completion_time(self) -> int:
        """Cycle at which all engines have completed everything issued so far."""
        return max([*self.result_times, *self.next_start_times])

    def stall_cycles_by_cause(self) -> dict[str, dict[str, int]]:
        """Return the stall cycles of each engine by cause, summed over cores."""
        result: dict[str, dict[str, int]] = {}
        for queue, row in enumerate(self.stalls):
            causes = result.setdefault(self.names[queue], {})
            for name, cycles in zip(self.names, row, strict=True):
                if cycles:
                    causes[name] = causes.get(name, 0) + cycles
        return result
