"""Description of an NPU: its memory levels, engines and cores."""

from dataclasses import dataclass, field
from typing import Literal, TypeAlias, get_args

Dataflow: TypeAlias = Literal["os", "ws", "is"]
"""
Operand that stays in the array: the outputs, the weights (`b`) or the inputs (`a`).
"""

DATAFLOWS: tuple[Dataflow, ...] = get_args(Dataflow)


@dataclass(frozen=True)
class Level:
    """One memory."""

    name: str
    capacity: int
    """Bytes."""
    bandwidth: float
    """Bytes per cycle: of each queue, or of all together where the level is shared."""
    latency: int
    """Cycles from the end of a transfer until its data has arrived."""
    burst: int
    """Bytes; what the bus moves at least, at multiples of itself."""
    alignment: int
    """Bytes; the address of a declared buffer is a multiple of it."""
    shared: bool = False
    """True if it is one channel, which serves one move at a time, in program order."""
    of_core: bool = False
    """True if every core has its own."""


@dataclass(frozen=True)
class MatrixEngine:
    """The systolic array, which multiplies and accumulates."""

    name: str
    level: str
    """The memory it reads and writes."""
    rows: int
    cols: int
    cycles: dict[str, float]
    """Cycles of one step of the array, by element type of the inputs."""
    startup: int = 0
    """Cycles from the end of a product until its result is there: filling, draining."""
    dataflow: Dataflow = "os"
    pipelined: bool = True
    """True if the array accepts the next operands while the previous ones drain."""


@dataclass(frozen=True)
class VectorEngine:
    """The engine for elementwise operations and reductions."""

    name: str
    level: str
    """The memory it reads and writes."""
    lanes: int
    transcendental: float
    """Cycles of an operation such as `exp`, as a multiple of those of an addition."""
    startup: int = 0
    """Cycles from the end of an operation until its result is there."""


@dataclass(frozen=True)
class DmaEngine:
    """A queue of moves from one level to another."""

    name: str
    source: str
    destination: str
    indexed: int | None = None
    """Cycles for each row that an index names; None where it cannot follow indices."""


Engine = MatrixEngine | VectorEngine | DmaEngine


@dataclass(frozen=True)
class Machine:
    """The machine that a program is for."""

    name: str = "npu"
    clock_ghz: float = 1.0
    issue_cycles: int = 1
    """Cycles that the control processor spends on each instruction."""
    cores: int = 1
    levels: dict[str, Level] = field(default_factory=dict[str, Level])
    engines: dict[str, Engine] = field(default_factory=dict[str, Engine])

    def copies(self, engine: str) -> int:
        """
        Return the number of copies of an engine: one per core, if it works in a core.
        """
        match self.engines[engine]:
            case DmaEngine(source=source, destination=destination):
                ends = source, destination
            case MatrixEngine(level=level) | VectorEngine(level=level):
                ends = (level,)
        in_core = any(self.levels[end].of_core for end in ends)
        return self.cores if in_core else 1

    @property
    def units(self) -> tuple[tuple[str, int], ...]:
        """All engines, those of the cores as often as there are cores: name, core."""
        return tuple(
            (name, core) for name in self.engines for core in range(self.copies(name))
        )

    def unit_name(self, engine: str, core: int) -> str:
        """
        Return the name of an engine of a core: `matrix.2`, or `matrix` if there is only
        one.
        """
        return engine if self.copies(engine) == 1 else f"{engine}.{core}"
