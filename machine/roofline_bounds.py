"""
Timing model: lower bounds on the cycles of a task by rooflines of its traffic, compute
and engines.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from math import ceil

from tlf.machine.instruction_costs import Key
from tlf.machine.machine_spec import DmaEngine, Machine, MatrixEngine


@dataclass(frozen=True)
class RooflineBound:
    """
    Roofline lower bounds on the cycles of a task, for any program that computes it.
    """

    memory: int
    """Cycles to move the compulsory traffic."""
    compute: int
    """Cycles of the multiplications with all cells of the array busy."""
    array: int
    """
    Cycles of the multiplications in whole passes of the array, as the program runs
    them.
    """

    @property
    def cycles(self) -> int:
        """Lower bound on the cycles of any program."""
        return max(self.memory, self.compute)


@dataclass(frozen=True)
class CompulsoryTraffic:
    """Compulsory traffic of one level: bytes that every program for a task moves."""

    read: int
    """Bytes of the inputs, each read once."""
    written: int
    """Bytes of the outputs, each written once."""

    @property
    def total(self) -> int:
        """Bytes read and written."""
        return self.read + self.written


def roofline_bound(
    machine: Machine,
    totals: Mapping[Key, int],
    compulsory: Mapping[str, CompulsoryTraffic],
) -> RooflineBound:
    """Return the roofline bound of a task with the multiply-accumulates of `totals`."""
    cycles = [Fraction(0)]
    engines = [each for each in machine.engines.values() if isinstance(each, DmaEngine)]
    for name, moved in compulsory.items():
        bandwidth = Fraction(machine.levels[name].bandwidth)
        if machine.levels[name].shared:
            cycles.append(moved.total / bandwidth)
            continue
        readers = sum(each.source == name for each in engines)
        writers = sum(each.destination == name for each in engines)
        cycles.append(moved.read / (bandwidth * max(readers, 1)))
        cycles.append(moved.written / (bandwidth * max(writers, 1)))
    compute = cycle_bounds_by_unit(machine, totals).get("matrix", 0)
    copies = machine.engine_copies("matrix") if "matrix" in machine.engines else 1
    array = -(-totals.get(("busy", "matrix"), 0) // copies)
    return RooflineBound(ceil(max(cycles)), compute, array)


def cycle_bounds_by_unit(machine: Machine, totals: Mapping[Key, int]) -> dict[str, int]:
    """
    Return lower bounds on the cycles of any order of instructions with these totals:
    per shared level, its bus bytes over its bandwidth; per DMA engine, its bus bytes
    over the bandwidth of its slower end; per compute engine, its work over the peak of
    all cores.
    """
    result: dict[str, int] = {}
    for name, level in machine.levels.items():
        if level.shared:
            moved = sum(_bus_bytes_of_level(machine, totals, name).values())
            result[name] = ceil(moved / Fraction(level.bandwidth))
    for name, engine in machine.engines.items():
        if isinstance(engine, DmaEngine):
            cycles = [
                _bus_bytes_of_level(machine, totals, level).get(name, 0)
                / Fraction(machine.levels[level].bandwidth)
                / (machine.engine_copies(name) if machine.levels[level].of_core else 1)
                for level in (engine.source, engine.destination)
            ]
            result[name] = ceil(max(cycles))
        elif isinstance(engine, MatrixEngine):
            work = sum(
                totals.get(("macs", kind), 0) * Fraction(cycles)
                for kind, cycles in engine.cycles.items()
            )
            cells = engine.rows * engine.cols * machine.engine_copies(name)
            result[name] = ceil(Fraction(work) / cells)
        else:
            slow = totals.get(("elements", "slow"), 0) * Fraction(engine.transcendental)
            fast = totals.get(("elements", "fast"), 0)
            result[name] = ceil(
                (fast + slow) / (engine.lanes * machine.engine_copies(name))
            )
    return result


def _bus_bytes_of_level(
    machine: Machine, totals: Mapping[Key, int], level: str
) -> dict[str, int]:
    """
    Return, for each DMA engine, the bytes that it moves on the bus of a level, or 0.
    """
    moved: dict[str, int] = {}
    for name, engine in machine.engines.items():
        if isinstance(engine, DmaEngine):
            read = totals.get(("bus read", name), 0) * (engine.source == level)
            wrote = totals.get(("bus wrote", name), 0) * (engine.destination == level)
            moved[name] = read + wrote
    return moved
