"""Analysis of a nest: accesses to its loop-carried tensors, in program order."""

from __future__ import annotations

from dataclasses import dataclass, field

from xdsl.ir import SSAValue

from tlf.analysis.affine_loops.access_boxes import (
    BoxAccess,
    read_access_of,
    write_access_of,
)
from tlf.dialects import tile


@dataclass
class CarriedAccesses:
    """Accesses to a loop-carried tensor, and its successive values in the loop body."""

    accesses: list[BoxAccess] = field(default_factory=list[BoxAccess])
    values: list[SSAValue] = field(default_factory=list[SSAValue])

    @property
    def write_accesses(self) -> list[BoxAccess]:
        """Accesses that store a tile."""
        return [each for each in self.accesses if each.is_write]


def carried_accesses_of(
    nest: tile.WhileOp, carried_index: int
) -> CarriedAccesses | None:
    """
    Return the accesses to a carried value by its index, including those of inner nests;
    None if the value is not a tensor that tiles are stored into, one after another.
    """
    chain = CarriedAccesses()
    value: SSAValue = nest.carried_values[carried_index]
    while (
        following := _next_carried_value(value, chain, nest, carried_index)
    ) is not None:
        if following is value:
            return chain
        value = following
    return None


def _next_carried_value(
    value: SSAValue, chain: CarriedAccesses, nest: tile.WhileOp, carried_index: int
) -> SSAValue | None:
    """
    Return the next value of a chain, the value itself at the end of the chain, or None
    if there is no chain.
    """
    chain.values.append(value)
    next_values: list[SSAValue] = []
    for use in value.uses:
        match use.operation:
            case tile.DesliceOp() as op if op.destination is value:
                if op.source is value:
                    return None
                chain.accesses.append(write_access_of(op))
                next_values.append(op.result)
            case tile.WhileOp() as op if value in op.inits:
                position = use.index - len(op.lower) - len(op.upper)
                if (inner := carried_accesses_of(op, position)) is None:
                    return None
                chain.accesses.extend(inner.accesses)
                chain.values.extend(inner.values)
                next_values.append(op.outputs[position])
            case tile.YieldOp() as op if op.parent is nest.body.block:
                if use.index != carried_index:
                    return None
                next_values.append(value)
            case op:
                if (access := read_access_of(op, value)) is None:
                    return None
                chain.accesses.append(access)
    return next_values[0] if len(next_values) == 1 else None
