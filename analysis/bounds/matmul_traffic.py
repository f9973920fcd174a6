"""
Analysis of matrix products that exceed the inner memories: lower bound on their
traffic.

A product of m x k and k x n matrices moves at least 2mnk / sqrt(S) - 2S words with S
words of inner memory: Smith, Lowery, Langou and van de Geijn, A tight I/O lower bound
for matrix multiplication, arXiv:1702.02017, 2019, and for results without initial value
Kwasniewski et al., Red-blue pebbling revisited, SC 2019. The order is that of Hong and
Kung, 1981.
"""

from __future__ import annotations

from math import isqrt, prod

from xdsl.ir import SSAValue

from tlf.analysis.bounds.array_passes import ContractionDims
from tlf.analysis.bounds.dataflow import DataflowGraph
from tlf.analysis.bounds.extra_traffic import ExtraTraffic
from tlf.dialects.interfaces import (
    ContractionInterface,
    DelinearizedReadInterface,
    ElementwiseInterface,
    MovementInterface,
    TilingInterface,
)
from tlf.dialects.types import element_count_of, itemsize_of
from tlf.support.affine.index_access import Accesses


def min_words_moved_by_matmul(m: int, n: int, k: int, capacity_words: int) -> int:
    """Return the minimum number of words that a matrix product moves."""
    return max(
        0, isqrt((2 * m * n * k) ** 2 // max(capacity_words, 1)) - 2 * capacity_words
    )


def find_matmul_reload_traffic(
    flow: DataflowGraph, capacity: int
) -> tuple[ExtraTraffic, ...]:
    """
    Return the traffic of products beyond one access to each of their tensors, with at
    most `capacity` bytes of inner memory. No tensor counts for two products.
    """
    candidates: list[tuple[int, ContractionInterface, frozenset[SSAValue]]] = []
    for op in flow.operations:
        if isinstance(op, ContractionInterface) and _is_matrix_product(op):
            ends = _paths_to_outer_tensors(flow, op)
            if ends is not None and (
                reloaded := _reloaded_bytes_of_matmul(op, ends, capacity)
            ):
                candidates.append((reloaded, op, frozenset((ends[0][-1], ends[1][-1]))))
    counted: set[SSAValue] = set()
    reloads: list[ExtraTraffic] = []
    for reloaded, op, inputs in sorted(candidates, key=lambda each: -each[0]):
        if not inputs & counted:
            counted |= inputs
            name = op.results[0].name_hint
            subject = f"%{name}" if name else op.name
            reloads.append(ExtraTraffic("product", subject, reloaded))
    return tuple(reloads)


ElementPath = tuple[SSAValue, ...]
"""Values from a tensor of the product to an outside tensor, element by element."""


def _reloaded_bytes_of_matmul(
    op: ContractionInterface,
    outer_paths: tuple[ElementPath, ElementPath, ElementPath],
    capacity: int,
) -> int:
    """
    Return the bytes moved beyond one access per tensor, with all words of the narrowest
    width.
    """
    sides, extents = (
        ContractionDims.of(op),
        [each.extent for each in op.iteration_domain()],
    )
    batch, m, n, k = (
        prod(extents[each] for each in side)
        for side in (sides.batch, sides.m, sides.n, sides.k)
    )
    width = min(itemsize_of(value) for path in outer_paths for value in path)
    traffic = width * batch * min_words_moved_by_matmul(m, n, k, capacity // width)
    compulsory = sum(
        element_count_of(path[-1]) * itemsize_of(path[-1]) for path in outer_paths
    )
    return max(0, traffic - compulsory)


def _is_matrix_product(op: ContractionInterface) -> bool:
    """
    Return `True` if every index is a plain iterator, and every iterator indexes two
    tensors.
    """
    tensors = (*op.indexing_maps()[:2], op.result_indexing_maps()[0])
    used = [_iterators_used_as_indices(accesses) for accesses in tensors]
    if any(each is None for each in used) or op.init_value is not None:
        return False
    return all(
        extent.extent == 1 or sum(iterator in (each or ()) for each in used) >= 2
        for iterator, extent in enumerate(op.iteration_domain())
    )


def _iterators_used_as_indices(accesses: Accesses | None) -> frozenset[int] | None:
    """
    Return the iterators that are the indices of a tensor; None if an index is not a
    plain iterator.
    """
    iterators: list[int] = []
    for access in accesses or ():
        if access.offset or access.width != 1 or access.index is not None:
            return None
        if any(factor != 1 for _, factor in access.terms) or len(access.terms) > 1:
            return None
        iterators += [iterator for iterator, _ in access.terms]
    return frozenset(iterators) if len(set(iterators)) == len(iterators) else None


def _paths_to_outer_tensors(
    flow: DataflowGraph, op: ContractionInterface
) -> tuple[ElementPath, ElementPath, ElementPath] | None:
    """
    Return the paths from both inputs and the result to outside tensors; None if one has
    none.
    """
    left, right = (_path_to_input(flow, value) for value in flow.operands_of(op)[:2])
    result = _path_to_output(flow, op.results[0])
    if left is None or right is None or result is None or left[-1] is right[-1]:
        return None
    return left, right, result


def _path_to_input(flow: DataflowGraph, value: SSAValue) -> ElementPath | None:
    """
    Return the path from an operand to an argument or constant without other uses; None
    if there is none.
    """
    path = [value]
    outside = {*flow.inputs, *flow.stored_constants()}
    while len(flow.users_of(path[-1])) == 1 and not flow.is_output(path[-1]):
        if path[-1] in outside:
            return tuple(path)
        owner = path[-1].owner
        if not isinstance(owner, MovementInterface | ElementwiseInterface):
            return None
        operands = flow.operands_of(owner)
        if len(operands) != 1 or not is_element_preserving(
            owner, operands[0], path[-1]
        ):
            return None
        path += operands
    return None


def _path_to_output(flow: DataflowGraph, value: SSAValue) -> ElementPath | None:
    """
    Return the path from a result to an output through operations without other uses;
    None if there is none.
    """
    path = [value]
    while not flow.is_output(path[-1]):
        users = flow.users_of(path[-1])
        if len(users) != 1 or len(users[0][0].results) != 1:
            return None
        ((user, position),) = users
        result = user.results[0]
        if not isinstance(user, MovementInterface | ElementwiseInterface):
            return None
        if not is_element_preserving(user, flow.operands_of(user)[position], result):
            return None
        path.append(result)
    return tuple(path) if not flow.users_of(path[-1]) else None


def is_element_preserving(
    op: TilingInterface, operand: SSAValue, result: SSAValue
) -> bool:
    """
    Return `True` if the elements of an operand and a result correspond one to one.
    """
    if isinstance(op, MovementInterface) and (
        isinstance(op, DelinearizedReadInterface)
        or op.padding_value(0) is not None
        or any(_has_indirect_access(each) for each in op.indexing_maps())
    ):
        return False
    return element_count_of(operand) == element_count_of(result)


def _has_indirect_access(accesses: Accesses | None) -> bool:
    return any(access.index is not None for access in accesses or ())
