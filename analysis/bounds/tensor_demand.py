"""Lower bound on the part of every tensor that must be read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod

from xdsl.ir import SSAValue

from tlf.analysis.bounds.access_footprint import (
    AxisFootprint,
    access_footprint_of,
    can_overlap,
    footprint_size,
    is_in_bounds,
    min_bursts,
)
from tlf.analysis.bounds.dataflow import (
    DataflowGraph,
    element_count_of,
    is_tensor,
    itemsize_of,
)
from tlf.analysis.bounds.reading_iterations import min_used_taps
from tlf.dialects.concat_like_interface import ConcatLikeInterface
from tlf.dialects.interfaces import (
    ContractionInterface,
    ElementwiseInterface,
    IteratorType,
    MovementInterface,
    ReferenceInterface,
    TilingInterface,
    ViewInterface,
)
from tlf.dialects.types import tensor_type
from tlf.support.affine.index_access import Accesses


@dataclass(frozen=True)
class TensorDemand:
    """Lower bound on the part of a tensor that is needed."""

    elements: int = 0
    bursts: int = 0
    disjoint_boxes: tuple[tuple[AxisFootprint, ...], ...] = ()
    """Parts that have no element in common, each needed whole."""

    def __or__(self, other: TensorDemand) -> TensorDemand:
        """Return the need of two users together, which may share elements."""
        new = [
            part
            for part in other.disjoint_boxes
            if not any(can_overlap(part, each) for each in self.disjoint_boxes)
        ]
        parts = (*self.disjoint_boxes, *new)
        most = max(self.elements, other.elements, sum(map(footprint_size, parts)))
        return TensorDemand(most, max(self.bursts, other.bursts), parts)


def tensor_demands_of(
    flow: DataflowGraph, burst: int
) -> Mapping[SSAValue, TensorDemand]:
    """
    Return the need of every tensor, in bursts of so many bytes: the most that a single
    user needs, or the total of all movements that read disjoint parts of it, so that it
    remains a lower bound. Reads at data-dependent indices count nothing.
    """
    needs: dict[SSAValue, TensorDemand] = {}
    for value in flow.outputs:
        needs[value] = whole_demand(value, burst)
    for op in reversed(flow.operations):
        missing = count_unneeded(op, needs)
        if missing is None:
            continue
        wanted = needs.get(op.results[0]) if len(op.results) == 1 else None
        for position, operand in enumerate(flow.operands_of(op)):
            if is_tensor(operand):
                need = operand_demand_of(op, position, operand, missing, burst, wanted)
                needs[operand] = needs.get(operand, TensorDemand()) | need
    return {
        value: replace(
            need, bursts=max(need.bursts, _min_bursts_of(value, need, burst))
        )
        for value, need in needs.items()
    }


def whole_demand(value: SSAValue, burst: int) -> TensorDemand:
    """Return the demand for all of a tensor."""
    need = TensorDemand(element_count_of(value))
    return replace(need, bursts=_min_bursts_of(value, need, burst))


def count_unneeded(
    op: ReferenceInterface, needs: Mapping[SSAValue, TensorDemand]
) -> int | None:
    """
    Return the number of elements of the results that are not needed; None if none is
    needed.
    """
    wanted = [needs[each].elements for each in op.results if each in needs]
    if not any(wanted):
        return None
    return sum(map(element_count_of, op.results)) - sum(wanted)


def operand_demand_of(
    op: ReferenceInterface,
    position: int,
    operand: SSAValue,
    missing: int,
    burst: int,
    wanted: TensorDemand | None = None,
) -> TensorDemand:
    """
    Return the demand of an operation for an operand. If a box of its result is
    `wanted`, this covers the reads of its iterations; else the reads of one iteration
    are left out for each element of a result that is not needed.
    """
    is_kept = isinstance(op, ViewInterface | ConcatLikeInterface)
    if not isinstance(op, TilingInterface) or is_kept:
        each = 1 if is_kept else element_count_of(operand)
        return _reduce_demand(
            whole_demand(operand, burst), each * missing, operand, burst
        )
    accesses = op.indexing_maps()[position]
    if accesses is None:
        return TensorDemand()
    shape, iterators = tensor_type(operand).get_shape(), op.iteration_domain()
    extents = [iterator.extent for iterator in iterators]
    used = extents
    if isinstance(op, ContractionInterface) and position == 1:
        used = count_used_taps(op, extents, extents)
    ranges = _iteration_ranges(op, wanted) if missing and used == extents else None
    if ranges is not None:
        (accesses, used), missing = _restrict_accesses(accesses, ranges), 0
    reached = access_footprint_of(accesses, used, shape)
    found = min_bursts(reached, shape, itemsize_of(operand), burst)
    need = TensorDemand(footprint_size(reached), found)
    if not missing:
        is_part = not isinstance(op, MovementInterface) or op.padding_value(0) is None
        return replace(need, disjoint_boxes=(reached,)) if is_part and found else need
    if isinstance(op, MovementInterface | ElementwiseInterface):
        return _reduce_demand(need, missing, operand, burst)
    combined = [
        each.extent if each.kind is IteratorType.REDUCTION else 1 for each in iterators
    ]
    one = footprint_size(access_footprint_of(accesses, combined, shape))
    return _reduce_demand(need, one * missing, operand, burst)


def _iteration_ranges(
    op: TilingInterface, wanted: TensorDemand | None
) -> list[range] | None:
    """
    The values of the iterators that compute a box of the only result, or None where
    something else than a box is wanted, or iterators are not its axes.
    """
    accesses = op.result_indexing_maps()[0]
    if wanted is None or len(wanted.disjoint_boxes) != 1:
        return None
    (box,) = wanted.disjoint_boxes
    if footprint_size(box) != wanted.elements or not all(map(_is_dense, box)):
        return None
    if not all(access.is_loop_dim for access in accesses):
        return None
    ranges = [range(iterator.extent) for iterator in op.iteration_domain()]
    for access, each in zip(accesses, box, strict=True):
        ((iterator, _),) = access.terms
        ranges[iterator] = range(each.first, each.last + 1)
    return ranges


def _is_dense(each: AxisFootprint) -> bool:
    return each.count == each.last - each.first + 1


def _restrict_accesses(
    accesses: Accesses, ranges: Sequence[range]
) -> tuple[Accesses, list[int]]:
    """Return the accesses of a subdomain of the iterations, and its extents."""
    moved = tuple(
        replace(
            access,
            offset=access.offset + sum(f * ranges[n].start for n, f in access.terms),
        )
        for access in accesses
    )
    return moved, [len(each) for each in ranges]


def count_used_taps(
    op: ContractionInterface, counts: Sequence[int], extents: Sequence[int]
) -> list[int]:
    """
    So many values of each iterator of a product, without the taps that multiply only
    zeros around an image, wherever the others are.
    """
    used, iterators = list(counts), op.iteration_domain()
    shape = tensor_type(op.operands[0]).get_shape()
    for access, extent in zip(op.indexing_maps()[0] or (), shape, strict=True):
        if is_in_bounds(access, extents, extent):
            continue
        taps = [
            each
            for each, _ in access.terms
            if iterators[each].kind is IteratorType.REDUCTION
        ]
        places = prod(counts[each] for each, _ in access.terms if each not in taps)
        for each in taps:
            used[each] = min_used_taps(access, extents, extent, each, places)
    return used


def _reduce_demand(
    need: TensorDemand, elements: int, value: SSAValue, burst: int
) -> TensorDemand:
    """The need without so many elements, wherever they lie."""
    if not elements:
        return need
    left = TensorDemand(max(0, need.elements - elements))
    return replace(left, bursts=_min_bursts_of(value, left, burst))


def _min_bursts_of(value: SSAValue, need: TensorDemand, burst: int) -> int:
    """The bursts that elements take at least, wherever they lie."""
    return -(-need.elements * itemsize_of(value) // burst)
