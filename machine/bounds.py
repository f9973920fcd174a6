"""Lower bounds of the time of a program, whatever the order of its instructions."""

from collections.abc import Mapping
from fractions import Fraction
from math import ceil

from tlf.machine.costs import Key
from tlf.machine.parts import DmaEngine, Machine, MatrixEngine


def bounds(machine: Machine, totals: Mapping[Key, int]) -> dict[str, int]:
    """
    Cycles that no order of instructions with these totals can beat: per shared level
    the bytes on its bus over its bandwidth, per DMA engine the same at the slower of
    its ends, per compute engine its work over its peak.
    """
    result: dict[str, int] = {}
    for name, level in machine.levels.items():
        if level.shared:
            moved = sum(_at(machine, totals, name).values())
            result[name] = ceil(moved / Fraction(level.bandwidth))
    for name, engine in machine.engines.items():
        if isinstance(engine, DmaEngine):
            cycles = [
                _at(machine, totals, level).get(name, 0)
                / Fraction(machine.levels[level].bandwidth)
                for level in (engine.source, engine.destination)
            ]
            result[name] = ceil(max(cycles))
        elif isinstance(engine, MatrixEngine):
            work = sum(
                totals.get(("macs", kind), 0) * Fraction(cycles)
                for kind, cycles in engine.cycles.items()
            )
            result[name] = ceil(Fraction(work) / (engine.rows * engine.cols))
        else:
            slow = totals.get(("elements", "slow"), 0) * Fraction(engine.transcendental)
            fast = totals.get(("elements", "fast"), 0)
            result[name] = ceil((fast + slow) / engine.lanes)
    return result


def _at(machine: Machine, totals: Mapping[Key, int], level: str) -> dict[str, int]:
    """Return the bytes on the bus of a level, by DMA engine."""
    moved: dict[str, int] = {}
    for name, engine in machine.engines.items():
        if isinstance(engine, DmaEngine):
            read = totals.get(("bus read", name), 0) * (engine.source == level)
            wrote = totals.get(("bus wrote", name), 0) * (engine.destination == level)
            moved[name] = read + wrote
    return moved
