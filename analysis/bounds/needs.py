"""Amount of every tensor that has to be read for the results of a program."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod

from xdsl.ir import SSAValue

from tlf.analysis.bounds.dataflow import (
    Dataflow,
    elements_of,
    is_tensor,
    width_of,
)
from tlf.analysis.bounds.touched import (
    Reach,
    bursts,
    count,
    is_inside,
    may_meet,
    touched,
)
from tlf.analysis.bounds.touches import used_taps
from tlf.dialects.interfaces import (
    ContractionInterface,
    ElementwiseInterface,
    IteratorKind,
    MovementInterface,
    ReferenceInterface,
    TilingInterface,
    ViewInterface,
)
from tlf.dialects.joining import JoiningInterface
from tlf.dialects.types import tensor_type
from tlf.support.affine.access import Accesses


@dataclass(frozen=True)
class Need:
    """Lower bound on the part of a tensor that is needed."""

    elements: int = 0
    bursts: int = 0
    parts: tuple[tuple[Reach, ...], ...] = ()
    """Parts that have no element in common, each needed whole."""

    def __or__(self, other: Need) -> Need:
        """Return the need of two users together, which may share elements."""
        new = [
            part
            for part in other.parts
            if not any(may_meet(part, each) for each in self.parts)
        ]
        parts = (*self.parts, *new)
        most = max(self.elements, other.elements, sum(map(count, parts)))
        return Need(most, max(self.bursts, other.bursts), parts)


def needs_of(flow: Dataflow, burst: int) -> Mapping[SSAValue, Need]:
    """
    Return the need of every tensor, in bursts of so many bytes: the most that a single
    user needs, or the total of all movements that read disjoint parts of it, so that it
    remains a lower bound. Reads at data-dependent indices count nothing.
    """
    needs: dict[SSAValue, Need] = {}
    for value in flow.outputs:
        needs[value] = whole(value, burst)
    for op in reversed(flow.operations):
        missing = missing_of(op, needs)
        if missing is None:
            continue
        wanted = needs.get(op.results[0]) if len(op.results) == 1 else None
        for position, operand in enumerate(flow.operands(op)):
            if is_tensor(operand):
                need = read_by(op, position, operand, missing, burst, wanted)
                needs[operand] = needs.get(operand, Need()) | need
    return {
        value: replace(need, bursts=max(need.bursts, _bursts(value, need, burst)))
        for value, need in needs.items()
    }


def whole(value: SSAValue, burst: int) -> Need:
    """All of a tensor."""
    need = Need(elements_of(value))
    return replace(need, bursts=_bursts(value, need, burst))


def missing_of(op: ReferenceInterface, needs: Mapping[SSAValue, Need]) -> int | None:
    """
    Return the number of elements of the results that are not needed; None if none is
    needed.
    """
    wanted = [needs[each].elements for each in op.results if each in needs]
    if not any(wanted):
        return None
    return sum(map(elements_of, op.results)) - sum(wanted)


def read_by(
    op: ReferenceInterface,
    position: int,
    operand: SSAValue,
    missing: int,
    burst: int,
    wanted: Need | None = None,
) -> Need:
    """
    Return the need of an operation for an operand. If a box of its result is `wanted`,
    this covers the reads of its iterations; else the reads of one iteration are left
    out for each element of a result that is not needed.
    """
    is_kept = isinstance(op, ViewInterface | JoiningInterface)
    if not isinstance(op, TilingInterface) or is_kept:
        each = 1 if is_kept else elements_of(operand)
        return _less(whole(operand, burst), each * missing, operand, burst)
    accesses = op.operand_accesses()[position]
    if accesses is None:
        return Need()
    shape, iterators = tensor_type(operand).get_shape(), op.iterators()
    extents = [iterator.extent for iterator in iterators]
    used = extents
    if isinstance(op, ContractionInterface) and position == 1:
        used = taps_used(op, extents, extents)
    ranges = _ranges(op, wanted) if missing and used == extents else None
    if ranges is not None:
        (accesses, used), missing = _within(accesses, ranges), 0
    reached = touched(accesses, used, shape)
    found = bursts(reached, shape, width_of(operand), burst)
    need = Need(count(reached), found)
    if not missing:
        is_part = not isinstance(op, MovementInterface) or op.border(0) is None
        return replace(need, parts=(reached,)) if is_part and found else need
    if isinstance(op, MovementInterface | ElementwiseInterface):
        return _less(need, missing, operand, burst)
    combined = [
        each.extent if each.kind is IteratorKind.REDUCTION else 1 for each in iterators
    ]
    one = count(touched(accesses, combined, shape))
    return _less(need, one * missing, operand, burst)


def _ranges(op: TilingInterface, wanted: Need | None) -> list[range] | None:
    """
    The values of the iterators that compute a box of the only result, or None where
    something else than a box is wanted, or iterators are not its axes.
    """
    accesses = op.result_accesses()[0]
    if wanted is None or len(wanted.parts) != 1:
        return None
    (box,) = wanted.parts
    if count(box) != wanted.elements or not all(map(_is_dense, box)):
        return None
    if not all(access.is_plain for access in accesses):
        return None
    ranges = [range(iterator.extent) for iterator in op.iterators()]
    for access, each in zip(accesses, box, strict=True):
        ((iterator, _),) = access.terms
        ranges[iterator] = range(each.first, each.last + 1)
    return ranges


def _is_dense(each: Reach) -> bool:
    return each.count == each.last - each.first + 1


def _within(accesses: Accesses, ranges: Sequence[range]) -> tuple[Accesses, list[int]]:
    """Return the accesses of a subdomain of the iterations, and its extents."""
    moved = tuple(
        replace(
            access,
            offset=access.offset + sum(f * ranges[n].start for n, f in access.terms),
        )
        for access in accesses
    )
    return moved, [len(each) for each in ranges]


def taps_used(
    op: ContractionInterface, counts: Sequence[int], extents: Sequence[int]
) -> list[int]:
    """
    So many values of each iterator of a product, without the taps that multiply only
    zeros around an image, wherever the others are.
    """
    used, iterators = list(counts), op.iterators()
    shape = tensor_type(op.operands[0]).get_shape()
    for access, extent in zip(op.operand_accesses()[0] or (), shape, strict=True):
        if is_inside(access, extents, extent):
            continue
        taps = [
            each
            for each, _ in access.terms
            if iterators[each].kind is IteratorKind.REDUCTION
        ]
        places = prod(counts[each] for each, _ in access.terms if each not in taps)
        for each in taps:
            used[each] = used_taps(access, extents, extent, each, places)
    return used


def _less(need: Need, elements: int, value: SSAValue, burst: int) -> Need:
    """The need without so many elements, wherever they lie."""
    if not elements:
        return need
    left = Need(max(0, need.elements - elements))
    return replace(left, bursts=_bursts(value, left, burst))


def _bursts(value: SSAValue, need: Need, burst: int) -> int:
    """The bursts that elements take at least, wherever they lie."""
    return -(-need.elements * width_of(value) // burst)
