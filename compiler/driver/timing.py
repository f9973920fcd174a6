"""Driver: durations of the steps of a compilation or run."""

from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from time import perf_counter


@dataclass
class Timing:
    """Seconds of the steps of a run, in order. Equal names are summed."""

    seconds: dict[str, float] = field(default_factory=dict[str, float])

    @contextmanager
    def measure(self, step: str) -> Generator[None]:
        """
        Add the seconds spent in the `with` block to `step`, also if the block raises.
        """
        start = perf_counter()
        try:
            yield
        finally:
            spent = perf_counter() - start
            self.seconds[step] = self.seconds.get(step, 0.0) + spent

    def format_table(self) -> str:
        """Return a table of seconds and shares: one line per step, and the total."""
        total = sum(self.seconds.values())
        lines = ["   seconds   share  step"]
        for step, spent in [*self.seconds.items(), ("total", total)]:
            share = 100 * spent / total if total else 0.0
            lines.append(f"{spent:10.4f} {share:6.1f}%  {step}")
        return "\n".join(lines)
