"""
Inputs that have to be read again, because results wait for all of them.

A result needs an element of an input, by a chain of operations each element of which
comes from one of the input, and it needs all other elements too, as a normalization
over the whole of it does. When the last element has been read for the first time, no
such result exists. For each element either something of its chain is near the engines
then, or something of it is read afterwards. No more than the memories near the engines
hold can be near, so that the rest is read again: the argument of the red-blue pebble
game (Hong and Kung, I/O complexity: the red-blue pebble game, STOC 1981).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import prod

from xdsl.ir import SSAValue

from tlf.analysis.bounds.cuts import Cut
from tlf.analysis.bounds.dataflow import Dataflow, elements_of, width_of
from tlf.dialects.graph.tensors import shape_of
from tlf.dialects.interfaces import (
    AccumulatingInterface,
    ElementwiseInterface,
    IteratorKind,
    MovementInterface,
    ReferenceInterface,
    TilingInterface,
)
from tlf.support.affine.access import Access, Accesses

FOLLOWED = (AccumulatingInterface, ElementwiseInterface, MovementInterface)
"""Operations whose results need all that their accesses name. A composite need not: it
may name a whole axis, and need a part of it."""


@dataclass(frozen=True)
class Chain:
    """Each element comes from one of the input, no two from the same."""

    axes: Mapping[int, int]
    """For an axis of the value the axis of the input that it follows."""
    width: int
    """The least bytes of an element on the way."""


@dataclass(frozen=True)
class Spread:
    """Each element comes from all elements along some axes of the input."""

    axes: Mapping[int, int]
    """For an axis of the value the axis of the input that it follows."""
    whole: frozenset[int]
    """The axes of the input that each element needs whole."""


@dataclass
class Barriers:
    """Dependence of the values of a dataflow on one of its inputs."""

    flow: Dataflow
    input: SSAValue

    def __post_init__(self) -> None:
        self.shape = shape_of(self.input)
        axes = {axis: axis for axis in range(len(self.shape))}
        self._chains = {self.input: Chain(axes, width_of(self.input))}
        self._spreads = {self.input: Spread(axes, frozenset())}
        for op in self.flow.operations:
            if isinstance(op, FOLLOWED):
                self._follow(op)

    def again(self, capacity: int) -> int:
        """The bytes of the input that are read again, with so many bytes near."""
        return max(
            (self._excess(each, capacity) for each in self.flow.outputs), default=0
        )

    def _excess(self, output: SSAValue, capacity: int) -> int:
        """
        Return the bytes of the input that are read again because one output waits.
        """
        chain, spread = self._chains.get(output), self._spreads.get(output)
        if chain is None or spread is None or not spread.whole:
            return 0
        kept = {
            mine for axis, mine in spread.axes.items() if chain.axes.get(axis) == mine
        }
        others = set(range(len(self.shape))) - spread.whole
        if any(self.shape[axis] > 1 and axis not in kept for axis in others):
            return 0
        parts = prod(self.shape[axis] for axis in others)
        size = prod(self.shape[axis] for axis in spread.whole) * chain.width
        return parts * max(0, size - capacity)

    def _follow(self, op: TilingInterface) -> None:
        for number, (operand, accesses) in enumerate(
            zip(self.flow.operands(op), op.operand_accesses(), strict=True)
        ):
            if accesses is None or operand not in self._spreads:
                continue
            for result, written in zip(op.results, op.result_accesses(), strict=True):
                along = _along(op, operand, accesses, written)
                if along is not None:
                    self._chain(op, number, result, along)
                    self._spread(operand, result, along)

    def _chain(
        self, op: ReferenceInterface, number: int, result: SSAValue, along: Along
    ) -> None:
        operand = self.flow.operands(op)[number]
        chain = self._chains.get(operand)
        is_whole = elements_of(operand) == elements_of(result)
        if chain is None or not is_whole or not along.is_each:
            return
        found = Chain(
            {
                new: chain.axes[old]
                for old, new in along.axes.items()
                if old in chain.axes
            },
            min(chain.width, width_of(result)),
        )
        known = self._chains.get(result)
        if known is None or known.width < found.width:
            self._chains[result] = found

    def _spread(self, operand: SSAValue, result: SSAValue, along: Along) -> None:
        spread = self._spreads[operand]
        whole = {spread.axes[old] for old in along.whole if old in spread.axes}
        found = Spread(
            {
                new: spread.axes[old]
                for old, new in along.axes.items()
                if old in spread.axes and old not in along.whole
            },
            spread.whole | whole,
        )
        known = self._spreads.get(result)
        if known is None or self._size(known) < self._size(found):
            self._spreads[result] = found

    def _size(self, spread: Spread) -> int:
        return prod(self.shape[axis] for axis in spread.whole)


@dataclass(frozen=True)
class Along:
    """Map from the axes of an operand to those of a result."""

    axes: Mapping[int, int]
    """For an axis of the operand that of the result with the same indices."""
    whole: frozenset[int]
    """The axes of the operand that each element of the result needs whole."""
    is_each: bool
    """True if every axis of the operand is an axis of the result."""


def _along(
    op: TilingInterface, operand: SSAValue, accesses: Accesses, written: Accesses
) -> Along | None:
    """
    Return the map from the axes of an operand to those of the result; None if some map
    neither to an axis of the result nor to a whole reduction.
    """
    shape = shape_of(operand)
    moved = {
        access.terms[0][0]: axis
        for axis, access in enumerate(written)
        if _is_plain(access)
    }
    axes, whole = dict[int, int](), set[int]()
    for axis, access in enumerate(accesses):
        if shape[axis] == 1:
            continue
        if not _is_plain(access) or access.index is not None:
            return None
        iterator = access.terms[0][0]
        if op.iterators()[iterator].extent != shape[axis]:
            return None
        if iterator in moved:
            axes[axis] = moved[iterator]
        elif op.iterators()[iterator].kind is IteratorKind.REDUCTION:
            whole.add(axis)
        else:
            return None
    return Along(axes, frozenset(whole), len(axes) == sum(e > 1 for e in shape))


def _is_plain(access: Access) -> bool:
    """Return `True` if an index is an iterator itself."""
    is_one = access.width == 1 and access.offset == 0 and len(access.terms) == 1
    return is_one and access.terms[0][1] == 1


def barrier(flow: Dataflow, capacity: int) -> Cut | None:
    """
    The input that most of is read again, where `capacity` bytes can be near the
    engines. Only one: chains of several inputs may meet, and share what is near.
    """
    found: list[Cut] = []
    for value in flow.inputs:
        if elements_of(value) * width_of(value) <= capacity:
            continue
        if again := Barriers(flow, value).again(capacity):
            name = value.name_hint or "an argument"
            found.append(Cut("barrier", f"%{name}", again))
    return max(found, key=lambda cut: cut.bytes, default=None)
