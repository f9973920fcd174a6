"""The time of an engine that takes its work in order."""

from dataclasses import dataclass


@dataclass
class Queue:
    """
    The time of one engine.
    """

    free: int = 0
    """When the next instruction may start."""
    done: int = 0
    """When all work so far has taken effect."""
    busy: int = 0
    """Cycles spent on work so far, those lost to a shared port included."""

    def work(self, issue: int, cycles: int) -> int:
        """Run for `cycles` cycles, not before `issue`. Return the start."""
        start = max(issue, self.free)
        self.finish(start, start + cycles, 0)
        return start

    def finish(self, start: int, end: int, latency: int) -> None:
        """Record work from `start` to `end`, with its effect `latency` cycles later."""
        self.busy += end - start
        self.free = end
        self.done = max(self.done, end + latency)

    def signal(self, issue: int) -> int:
        """Return when a signal goes out."""
        return max(issue, self.free, self.done)

    def wait(self, issue: int, time: int) -> None:
        """Hold the queue until `time`."""
        self.free = max(self.free, issue, time)
