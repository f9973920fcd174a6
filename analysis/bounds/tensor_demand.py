"""Analysis of tensors: lower bound on the part of each one that must be read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod

from xdsl.ir import SSAValue

from tlf.analysis.bounds.access_footprint import (
    AxisFootprint,
    access_footprint_of,
    can_footprints_overlap,
    footprint_size,
    is_access_in_bounds,
    min_bursts_of_footprint,
)
from tlf.analysis.bounds.dataflow import DataflowGraph, is_tensor
from tlf.analysis.bounds.reading_iterations import min_used_taps
from tlf.dialects.concat_like_interface import ConcatLikeInterface
from tlf.dialects.interfaces import (
    ContractionInterface,
    DelinearizedReadInterface,
    ElementwiseInterface,
    IteratorType,
    MovementInterface,
    ReferenceInterface,
    TilingInterface,
    ViewInterface,
)
from tlf.dialects.types import element_count_of, itemsize_of, tensor_type
from tlf.support.affine.index_access import Accesses


@dataclass(frozen=True)
class TensorDemand:
    """Lower bounds on the elements and bursts of a tensor that are needed."""

    elements: int = 0
    bursts: int = 0
    disjoint_boxes: tuple[tuple[AxisFootprint, ...], ...] = ()
    """Disjoint boxes, each needed completely."""

    def __or__(self, other: TensorDemand) -> TensorDemand:
        """Return the combined demand of two users, which may share elements."""
        new = [
            box
            for box in other.disjoint_boxes
            if not any(
                can_footprints_overlap(box, each) for each in self.disjoint_boxes
            )
        ]
        boxes = (*self.disjoint_boxes, *new)
        most = max(self.elements, other.elements, sum(map(footprint_size, boxes)))
        return TensorDemand(most, max(self.bursts, other.bursts), boxes)


def tensor_demands_of(
    flow: DataflowGraph, burst: int
) -> Mapping[SSAValue, TensorDemand]:
    """
    Return the demand of every tensor, in bursts of `burst` bytes: the maximum of its
    users, or the sum of all movements that read disjoint boxes, so that it remains a
    lower bound. Reads at data-dependent indices do not count.
    """
    needs: dict[SSAValue, TensorDemand] = {}
    for value in flow.outputs:
        needs[value] = demand_for_whole_tensor(value, burst)
    for op in reversed(flow.operations):
        missing = count_unneeded_result_elements(op, needs)
        if missing is None:
            continue
        result_demand = needs.get(op.results[0]) if len(op.results) == 1 else None
        for position, operand in enumerate(flow.operands_of(op)):
            if is_tensor(operand):
                need = operand_demand_of(
                    op, position, operand, missing, burst, result_demand
                )
                needs[operand] = needs.get(operand, TensorDemand()) | need
    return {
        value: replace(
            need, bursts=max(need.bursts, _min_bursts_of(value, need, burst))
        )
        for value, need in needs.items()
    }


def demand_for_whole_tensor(value: SSAValue, burst: int) -> TensorDemand:
    """Return the demand for a whole tensor."""
    need = TensorDemand(element_count_of(value))
    return replace(need, bursts=_min_bursts_of(value, need, burst))


def count_unneeded_result_elements(
    op: ReferenceInterface, demands: Mapping[SSAValue, TensorDemand]
) -> int | None:
    """
    Return the number of unneeded elements of the results; None if no element is needed.
    """
    needed = [demands[each].elements for each in op.results if each in demands]
    if not any(needed):
        return None
    return sum(map(element_count_of, op.results)) - sum(needed)


def operand_demand_of(
    op: ReferenceInterface,
    operand_index: int,
    operand: SSAValue,
    unneeded_elements: int,
    burst: int,
    result_demand: TensorDemand | None = None,
) -> TensorDemand:
    """
    Return the demand of an operation for an operand. If a box of its result is
    `result_demand`, this covers the reads of its iterations; otherwise the reads of one
    iteration are subtracted for each unneeded element of a result.
    """
    is_one_to_one = isinstance(op, ViewInterface | ConcatLikeInterface)
    if not isinstance(op, TilingInterface) or is_one_to_one:
        return _subtract_unneeded_part(op, operand, unneeded_elements, burst)
    accesses, extents = _accesses_with_extents(op, operand_index)
    if accesses is None:
        return TensorDemand()
    shape = tensor_type(operand).get_shape()
    used = extents
    if isinstance(op, ContractionInterface) and operand_index == 1:
        used = count_used_taps(op, extents, extents)
    is_restrictable = unneeded_elements and used == extents
    ranges = (
        _iterations_computing_demand(op, result_demand) if is_restrictable else None
    )
    if ranges is not None:
        (accesses, used), unneeded_elements = _restrict_accesses(accesses, ranges), 0
    reached = access_footprint_of(accesses, used, shape)
    bursts = min_bursts_of_footprint(reached, shape, itemsize_of(operand), burst)
    need = TensorDemand(footprint_size(reached), bursts)
    if not unneeded_elements:
        return _record_exact_box(op, need, reached)
    return _subtract_unneeded_reads(
        op, operand, need, accesses, unneeded_elements, burst
    )


def _accesses_with_extents(
    op: TilingInterface, operand_index: int
) -> tuple[Accesses | None, list[int]]:
    """
    Return the accesses to an operand, and the extents of their iterators: the iteration
    domain, or the domain whose dimensions are collapsed to it.
    """
    if isinstance(op, DelinearizedReadInterface):
        access = op.delinearized_access
        return access.accesses, list(access.domain_extents)
    extents = [iterator.extent for iterator in op.iteration_domain()]
    return op.indexing_maps()[operand_index], extents


def _subtract_unneeded_part(
    op: ReferenceInterface, operand: SSAValue, unneeded_elements: int, burst: int
) -> TensorDemand:
    """Return the demand of an untiled operation, a view or a concat for an operand."""
    is_one_to_one = isinstance(op, ViewInterface | ConcatLikeInterface)
    each = 1 if is_one_to_one else element_count_of(operand)
    return _subtract_elements_from_demand(
        demand_for_whole_tensor(operand, burst),
        each * unneeded_elements,
        operand,
        burst,
    )


def _subtract_unneeded_reads(
    op: TilingInterface,
    operand: SSAValue,
    need: TensorDemand,
    accesses: Accesses,
    unneeded_elements: int,
    burst: int,
) -> TensorDemand:
    """Subtract the reads of one iteration for each unneeded element of a result."""
    if isinstance(op, MovementInterface | ElementwiseInterface):
        return _subtract_elements_from_demand(need, unneeded_elements, operand, burst)
    shape, iterators = tensor_type(operand).get_shape(), op.iteration_domain()
    reduced_extents = [
        each.extent if each.kind is IteratorType.REDUCTION else 1 for each in iterators
    ]
    one = footprint_size(access_footprint_of(accesses, reduced_extents, shape))
    return _subtract_elements_from_demand(need, one * unneeded_elements, operand, burst)


def _record_exact_box(
    op: TilingInterface, need: TensorDemand, reached: tuple[AxisFootprint, ...]
) -> TensorDemand:
    """Return the demand with its box, if every element of the box is needed."""
    is_exact = not isinstance(op, MovementInterface) or op.padding_value(0) is None
    return (
        replace(need, disjoint_boxes=(reached,)) if is_exact and need.bursts else need
    )


def _iterations_computing_demand(
    op: TilingInterface, result_demand: TensorDemand | None
) -> list[range] | None:
    """
    Return the values of the iterators that compute a box of the only result; None if
    the demand is not a box, or iterators are not its axes.
    """
    accesses = op.result_indexing_maps()[0]
    if result_demand is None or len(result_demand.disjoint_boxes) != 1:
        return None
    if isinstance(op, DelinearizedReadInterface):
        return None
    (box,) = result_demand.disjoint_boxes
    if footprint_size(box) != result_demand.elements or not all(
        map(_is_dense_footprint, box)
    ):
        return None
    if not all(access.is_loop_dim for access in accesses):
        return None
    ranges = [range(iterator.extent) for iterator in op.iteration_domain()]
    for access, each in zip(accesses, box, strict=True):
        ((iterator, _),) = access.terms
        ranges[iterator] = range(each.first_index, each.last_index + 1)
    return ranges


def _is_dense_footprint(footprint: AxisFootprint) -> bool:
    return footprint.count == footprint.last_index - footprint.first_index + 1


def _restrict_accesses(
    accesses: Accesses, ranges: Sequence[range]
) -> tuple[Accesses, list[int]]:
    """Return the accesses of a subdomain of the iterations, and its extents."""
    shifted = tuple(
        replace(
            access,
            offset=access.offset + sum(f * ranges[i].start for i, f in access.terms),
        )
        for access in accesses
    )
    return shifted, [len(each) for each in ranges]


def count_used_taps(
    op: ContractionInterface, counts: Sequence[int], extents: Sequence[int]
) -> list[int]:
    """
    Return `counts` with taps excluded that only multiply padding zeros of an image, for
    any values of the other iterators.
    """
    used, iterators = list(counts), op.iteration_domain()
    shape = tensor_type(op.operands[0]).get_shape()
    for access, extent in zip(op.indexing_maps()[0] or (), shape, strict=True):
        if is_access_in_bounds(access, extents, extent):
            continue
        taps = [
            each
            for each, _ in access.terms
            if iterators[each].kind is IteratorType.REDUCTION
        ]
        positions = prod(counts[each] for each, _ in access.terms if each not in taps)
        for each in taps:
            used[each] = min_used_taps(access, extents, extent, each, positions)
    return used


def _subtract_elements_from_demand(
    demand: TensorDemand, elements: int, value: SSAValue, burst: int
) -> TensorDemand:
    """Return the demand without `elements` elements at unknown positions."""
    if not elements:
        return demand
    reduced = TensorDemand(max(0, demand.elements - elements))
    return replace(reduced, bursts=_min_bursts_of(value, reduced, burst))


def _min_bursts_of(value: SSAValue, demand: TensorDemand, burst: int) -> int:
    """
    Return the minimum number of bursts of the demanded elements, at any positions.
    """
    return -(-demand.elements * itemsize_of(value) // burst)
