"""Timing model: description of an NPU by its memory levels, engines and cores."""

from dataclasses import dataclass, field
from typing import Literal, TypeAlias, get_args

Dataflow: TypeAlias = Literal["os", "ws", "is"]
"""
Stationary operand of the array: the outputs, the weights (`b`) or the inputs (`a`).
"""

DATAFLOWS: tuple[Dataflow, ...] = get_args(Dataflow)


@dataclass(frozen=True)
class Level:
    """Description of one memory level of the machine."""

    name: str
    capacity: int
    """Bytes."""
    bandwidth: float
    """
    Bytes per cycle: of each queue, or of all queues together if the level is shared.
    """
    latency: int
    """Cycles from the end of a transfer until its data has arrived."""
    burst: int
    """Smallest unit that the bus moves, in bytes; bursts start at multiples of it."""
    alignment: int
    """Alignment of declared buffers, in bytes."""
    shared: bool = False
    """
    True if the level is one channel that serves one transfer at a time, in program
    order.
    """
    of_core: bool = False
    """True if every core has its own copy."""


@dataclass(frozen=True)
class MatrixEngine:
    """Description of a systolic array that multiplies and accumulates."""

    name: str
    level: str
    """Memory that it reads and writes."""
    rows: int
    cols: int
    cycles: dict[str, float]
    """Cycles of one step of the array, by element type of the inputs."""
    startup: int = 0
    """
    Cycles from the end of a product until its result is available: filling and
    draining.
    """
    dataflow: Dataflow = "os"
    pipelined: bool = True
    """True if the array accepts the next operands while the previous ones drain."""


@dataclass(frozen=True)
class VectorEngine:
    """Description of an engine for elementwise operations and reductions."""

    name: str
    level: str
    """Memory that it reads and writes."""
    lanes: int
    transcendental: float
    """Cycles of an operation such as `exp`, relative to an addition."""
    startup: int = 0
    """Cycles from the end of an operation until its result is available."""


@dataclass(frozen=True)
class DmaEngine:
    """Description of a DMA queue that moves data from one level to another."""

    name: str
    source: str
    destination: str
    indexed: int | None = None
    """Cycles per indexed row; None if indirect transfers are unsupported."""


Engine = MatrixEngine | VectorEngine | DmaEngine


@dataclass(frozen=True)
class Machine:
    """Description of the target machine of a program: levels, engines and cores."""

    name: str = "npu"
    clock_ghz: float = 1.0
    issue_cycles: int = 1
    """Cycles that the control processor spends on each instruction."""
    cores: int = 1
    levels: dict[str, Level] = field(default_factory=dict[str, Level])
    engines: dict[str, Engine] = field(default_factory=dict[str, Engine])

    def engine_copies(self, engine: str) -> int:
        """
        Return the number of copies of an engine: one per core if it accesses a level of
        a core, else one.
        """
        match self.engines[engine]:
            case DmaEngine(source=source, destination=destination):
                ends = source, destination
            case MatrixEngine(level=level) | VectorEngine(level=level):
                ends = (level,)
        in_core = any(self.levels[end].of_core for end in ends)
        return self.cores if in_core else 1

    @property
    def engine_units(self) -> tuple[tuple[str, int], ...]:
        """
        Name and core of every engine copy, in the order of `engines`, then of cores.
        """
        return tuple(
            (name, core)
            for name in self.engines
            for core in range(self.engine_copies(name))
        )

    def engine_unit_name(self, engine: str, core: int) -> str:
        """
        Return the name of an engine of a core: `matrix.2`, or `matrix` if there is only
        one.
        """
        return engine if self.engine_copies(engine) == 1 else f"{engine}.{core}"
