"""
Simulator: demand analysis of registers that the time of an NPU program depends on.

Addresses matter only modulo a burst, and not at all if the burst is one byte. Sizes and
bounds matter exactly.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from math import lcm

from tlf.machine.machine_spec import Machine
from tlf.runtime.npu.npu_program import (
    Address,
    Cores,
    Dma,
    Instruction,
    Loop,
    Matmul,
    Reduce,
    Register,
    ScalarInstruction,
    Value,
    Vector,
)

Demand = dict[str, int]
"""
Modulus up to which the value of a register matters, by register; 0 if it matters
exactly.
"""

EXACT = 0


@dataclass
class TimingDemand:
    """Backward analysis of the registers that the time of a program depends on."""

    machine: Machine
    loops: dict[int, Demand] = field(default_factory=dict[int, Demand])
    """Demand of one run of the body of a loop for registers, by line of the loop."""
    lines: set[int] = field(default_factory=set[int])
    """Lines of the scalar operations that matter."""

    def demand_before_block(self, body: Iterable[Instruction]) -> Demand:
        """Return the demand of `body` for registers that are set before it."""
        demand: Demand = {}
        for op in reversed(tuple(body)):
            match op:
                case ScalarInstruction():
                    self._propagate_demand_through_scalar(op, demand)
                case Loop():
                    self._propagate_demand_through_loop(op, demand)
                case Cores():
                    for name, modulus in self.demand_before_block(op.body).items():
                        if name != op.register:
                            _add_demand_for_register(demand, Register(name), modulus)
                case _:
                    for value, modulus in self._values_that_determine_time(op):
                        _add_demand_for_register(demand, value, modulus)
        return demand

    def _propagate_demand_through_scalar(
        self, op: ScalarInstruction, demand: Demand
    ) -> None:
        """
        Replace the demand for the target by that for the operands, and record the line.
        """
        modulus = demand.pop(op.target, None)
        if op.operation in ("div", "rem") and not isinstance(op.operands[1], int):
            modulus = EXACT  # for its divisor, which may be 0
        if modulus is None:
            return
        self.lines.add(op.line)
        if op.operation not in ("add", "sub", "mul", "mov"):
            modulus = EXACT
        for value in op.operands:
            _add_demand_for_register(demand, value, modulus)

    def _propagate_demand_through_loop(self, op: Loop, demand: Demand) -> None:
        """Add the demand of the body and of the loop bounds to `demand`."""
        inner = self.demand_before_block(op.body)
        self.loops[op.line] = inner
        for name, modulus in inner.items():
            if name != op.register:
                _add_demand_for_register(demand, Register(name), modulus)
        for value in (op.lower, op.upper, op.step):
            _add_demand_for_register(demand, value, EXACT)

    def _values_that_determine_time(
        self, op: Instruction
    ) -> Iterable[tuple[Value, int]]:
        """Yield addresses modulo a burst, and exact sizes, that the cost depends on."""
        match op:
            case Dma():
                ends = [op.source, op.destination]
                ends += [] if op.indexed is None else [op.indexed.indices]
                for address in ends:
                    if (burst := self._burst_of_level(address)) > 1:
                        yield address.base, burst
                bounds = [value for pair in op.inside or () for value in pair]
                yield from ((value, EXACT) for value in (*op.shape, *bounds))
            case Matmul():
                for group in (op.batch, op.m, op.n, op.k):
                    yield from ((value, EXACT) for value in group)
            case Vector() | Reduce():
                yield from ((value, EXACT) for value in op.shape)
            case _:
                pass

    def _burst_of_level(self, address: Address) -> int:
        return self.machine.levels[address.level].burst


def _add_demand_for_register(demand: Demand, value: Value, modulus: int) -> None:
    """Merge `modulus` into the demand for a register, as least common multiple."""
    if isinstance(value, int):
        return
    previous = demand.get(value.name)
    if previous is None:
        demand[value.name] = modulus
    else:
        demand[value.name] = lcm(previous, modulus)
