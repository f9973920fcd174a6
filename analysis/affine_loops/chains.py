"""Accesses of a nest to its loop-carried tensors."""

from __future__ import annotations

from dataclasses import dataclass, field

from xdsl.ir import SSAValue

from tlf.analysis.affine_loops.boxes import Access, read, written
from tlf.dialects import tile


@dataclass
class Chain:
    """
    The values that stand for a carried tensor in the body of a nest: each is the one
    before with a tile put in, the last is yielded.
    """

    accesses: list[Access] = field(default_factory=list[Access])
    values: list[SSAValue] = field(default_factory=list[SSAValue])

    @property
    def writes(self) -> list[Access]:
        """The tiles that are put in."""
        return [each for each in self.accesses if each.writes]


def chain_of(nest: tile.WhileOp, number: int) -> Chain | None:
    """
    The accesses to the carried value of a number, those of nests inside included; None
    where it is not a tensor that tiles are put into, one after the other.
    """
    chain = Chain()
    value: SSAValue = nest.carried[number]
    while (following := _following(value, chain, nest, number)) is not None:
        if following is value:
            return chain
        value = following
    return None


def _following(
    value: SSAValue, chain: Chain, nest: tile.WhileOp, number: int
) -> SSAValue | None:
    """The next value of a chain, the same at its end, or None where it is none."""
    chain.values.append(value)
    found: list[SSAValue] = []
    for use in value.uses:
        match use.operation:
            case tile.DesliceOp() as op if op.destination is value:
                if op.source is value:
                    return None
                chain.accesses.append(written(op))
                found.append(op.result)
            case tile.WhileOp() as op if value in op.inits:
                position = use.index - len(op.lower) - len(op.upper)
                if (inner := chain_of(op, position)) is None:
                    return None
                chain.accesses.extend(inner.accesses)
                chain.values.extend(inner.values)
                found.append(op.outputs[position])
            case tile.YieldOp() as op if op.parent is nest.body.block:
                if use.index != number:
                    return None
                found.append(value)
            case op:
                if (access := read(op, value)) is None:
                    return None
                chain.accesses.append(access)
    return found[0] if len(found) == 1 else None
