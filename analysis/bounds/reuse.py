"""
Products whose inputs come from outside and whose result goes there: what they move
because their tensors do not fit near the engines.

A product of m x k and k x n matrices moves 2mnk / sqrt(S) - 2S words at least, where S
words are near: Smith, Lowery, Langou and van de Geijn, A tight I/O lower bound for
matrix multiplication, arXiv:1702.02017, 2019, and for results that start from nothing
Kwasniewski et al., Red-blue pebbling revisited, SC 2019. The order is that of Hong and
Kung, 1981.
"""

from __future__ import annotations

from math import isqrt, prod

from xdsl.ir import SSAValue

from tlf.analysis.bounds.cuts import Cut
from tlf.analysis.bounds.dataflow import Dataflow, elements_of, width_of
from tlf.analysis.bounds.products import Sides
from tlf.dialects.interfaces import (
    ContractionInterface,
    ElementwiseInterface,
    MovementInterface,
    TilingInterface,
)
from tlf.support.affine.access import Accesses


def least_words(m: int, n: int, k: int, words: int) -> int:
    """
    The words that a product of matrices moves at least, with so many near the engines.
    """
    return max(0, isqrt((2 * m * n * k) ** 2 // max(words, 1)) - 2 * words)


def products_moved_again(flow: Dataflow, capacity: int) -> tuple[Cut, ...]:
    """
    Return the traffic of products beyond each of their tensors once, with at most
    `capacity` bytes near the engines. No tensor counts for two products.
    """
    found: list[tuple[int, ContractionInterface, frozenset[SSAValue]]] = []
    for op in flow.operations:
        if isinstance(op, ContractionInterface) and _is_matrix_product(op):
            ends = _ends(flow, op)
            if ends is not None and (again := _again(op, ends, capacity)):
                found.append((again, op, frozenset((ends[0][-1], ends[1][-1]))))
    taken: set[SSAValue] = set()
    cuts: list[Cut] = []
    for again, op, inputs in sorted(found, key=lambda each: -each[0]):
        if not inputs & taken:
            taken |= inputs
            name = op.results[0].name_hint
            what = f"%{name}" if name else op.name
            cuts.append(Cut("product", what, again))
    return tuple(cuts)


Path = tuple[SSAValue, ...]
"""Values from a tensor of the product to the one outside, each element from one."""


def _again(
    op: ContractionInterface, ends: tuple[Path, Path, Path], capacity: int
) -> int:
    """Bytes beyond each tensor once, with all words as narrow as the narrowest."""
    sides, extents = Sides.of(op), [each.extent for each in op.iterators()]
    batch, m, n, k = (
        prod(extents[each] for each in side)
        for side in (sides.batch, sides.m, sides.n, sides.k)
    )
    width = min(width_of(value) for path in ends for value in path)
    moved = width * batch * least_words(m, n, k, capacity // width)
    once = sum(elements_of(path[-1]) * width_of(path[-1]) for path in ends)
    return max(0, moved - once)


def _is_matrix_product(op: ContractionInterface) -> bool:
    """
    Return `True` if every index is an iterator, and every iterator moves two tensors.
    """
    tensors = (*op.operand_accesses()[:2], op.result_accesses()[0])
    used = [_iterators(accesses) for accesses in tensors]
    if any(each is None for each in used) or op.init_value is not None:
        return False
    return all(
        extent.extent == 1 or sum(iterator in (each or ()) for each in used) >= 2
        for iterator, extent in enumerate(op.iterators())
    )


def _iterators(accesses: Accesses | None) -> frozenset[int] | None:
    """The iterators that are the indices of a tensor, or None where indices differ."""
    found: list[int] = []
    for access in accesses or ():
        if access.offset or access.width != 1 or access.index is not None:
            return None
        if any(factor != 1 for _, factor in access.terms) or len(access.terms) > 1:
            return None
        found += [iterator for iterator, _ in access.terms]
    return frozenset(found) if len(set(found)) == len(found) else None


def _ends(flow: Dataflow, op: ContractionInterface) -> tuple[Path, Path, Path] | None:
    """The paths of both inputs and the result to tensors outside, if all go there."""
    left, right = (_back(flow, value) for value in flow.operands(op)[:2])
    result = _forth(flow, op.results[0])
    if left is None or right is None or result is None or left[-1] is right[-1]:
        return None
    return left, right, result


def _back(flow: Dataflow, value: SSAValue) -> Path | None:
    """From an operand to an argument or a constant that nothing else uses."""
    path = [value]
    outside = {*flow.inputs, *flow.stored()}
    while len(flow.users(path[-1])) == 1 and not flow.is_output(path[-1]):
        if path[-1] in outside:
            return tuple(path)
        owner = path[-1].owner
        if not isinstance(owner, MovementInterface | ElementwiseInterface):
            return None
        operands = flow.operands(owner)
        if len(operands) != 1 or not keeps_elements(owner, operands[0], path[-1]):
            return None
        path += operands
    return None


def _forth(flow: Dataflow, value: SSAValue) -> Path | None:
    """From a result to one that goes outside, by operations that use nothing twice."""
    path = [value]
    while not flow.is_output(path[-1]):
        users = flow.users(path[-1])
        if len(users) != 1 or len(users[0][0].results) != 1:
            return None
        ((user, position),) = users
        result = user.results[0]
        if not isinstance(user, MovementInterface | ElementwiseInterface):
            return None
        if not keeps_elements(user, flow.operands(user)[position], result):
            return None
        path.append(result)
    return tuple(path) if not flow.users(path[-1]) else None


def keeps_elements(op: TilingInterface, operand: SSAValue, result: SSAValue) -> bool:
    """Return `True` if each element of an operand makes one of the result."""
    if isinstance(op, MovementInterface) and (
        op.border(0) is not None
        or any(_is_indexed(each) for each in op.operand_accesses())
    ):
        return False
    return elements_of(operand) == elements_of(result)


def _is_indexed(accesses: Accesses | None) -> bool:
    return any(access.index is not None for access in accesses or ())
