"""Analysis of an operation: its operation counts, and the compulsory bytes it moves."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from xdsl.builder import Builder
from xdsl.dialects.builtin import TensorType
from xdsl.ir import Block, Operation, SSAValue
from xdsl.rewriter import InsertPoint

from tlf.dialects.concat_like_interface import ConcatLikeInterface
from tlf.dialects.indexed_write_interface import IndexedWriteInterface
from tlf.dialects.interfaces import (
    AccumulatingInterface,
    ConstantInterface,
    ContractionInterface,
    DecompositionInterface,
    DelinearizedReadInterface,
    ElementwiseInterface,
    IndexedReadInterface,
    TilingInterface,
    ViewInterface,
)
from tlf.dialects.slice_views import is_stored_slice
from tlf.dialects.sort_interface import SortInterface
from tlf.dialects.types import byte_count, dtype_of, tensor_type


@dataclass(frozen=True)
class Work:
    """Scalar operations, where a multiply-accumulate counts as two, and bytes."""

    matrix_operations: tuple[tuple[str, int], ...] = ()
    """Operations of products, by the type of the multiplication."""
    vector_operations: int = 0
    """All other operations."""
    bytes: int = 0
    """Bytes of operands, each once and only the part that is read, and of results."""

    @property
    def flops(self) -> int:
        """Total number of operations."""
        return self.vector_operations + sum(
            count for _, count in self.matrix_operations
        )

    @property
    def intensity(self) -> float:
        """Operations per byte (Williams et al., Roofline, 2009)."""
        return self.flops / self.bytes if self.bytes else 0.0


def size_in_bytes(values: Iterable[SSAValue]) -> int:
    """
    Return the total bytes of the tensors in `values`, each distinct value counted once.
    """
    return sum(
        byte_count(tensor_type(value))
        for value in dict.fromkeys(values)
        if isinstance(value.type, TensorType)
    )


def accumulator_bytes_of(op: AccumulatingInterface) -> int:
    """Return the bytes of the result of a reduction, in the type that it adds in."""
    count = tensor_type(op.results[0]).element_count()
    return count * dtype_of(op.accumulator_type).itemsize


def work_of(op: Operation) -> Work:
    """
    Return the work of one operation; for a composite, the work of its decomposition.
    """
    if isinstance(op, ConstantInterface | ViewInterface) or is_stored_slice(op):
        return Work()
    matrix, vector = _count_product_and_other_operations(op)
    return Work(tuple(sorted(matrix.items())), vector, _compulsory_bytes_of(op))


def _compulsory_bytes_of(op: Operation) -> int:
    """
    Return the bytes of operands and results; a gather by a load counts at most the
    bytes written.
    """
    if not isinstance(op, IndexedReadInterface | DelinearizedReadInterface):
        return size_in_bytes((*op.operands, *op.results))
    table, written = size_in_bytes(op.operands[:1]), size_in_bytes(op.results)
    return min(table, written) + size_in_bytes(op.operands[1:]) + written


def _count_product_and_other_operations(op: Operation) -> tuple[dict[str, int], int]:
    """Return the operations of products by type, and the number of all others."""
    match op:
        case IndexedReadInterface() | ConcatLikeInterface():
            return {}, op.flops()
        case IndexedWriteInterface() if op.combined_writes is not None:
            is_combination = op.is_scatter_add is not False
            return {}, tensor_type(op.operands[2]).element_count() * is_combination
        case SortInterface():
            comparisons = (op.sorted_extent - 1).bit_length()
            return {}, tensor_type(op.operands[0]).element_count() * comparisons
        case DecompositionInterface():
            return _count_operations_of_decomposition(op)
        case ContractionInterface():
            return {multiplication_type_of(op): op.flops()}, 0
        case ElementwiseInterface():
            count = tensor_type(op.results[0]).element_count()
            return {}, count * op.count_scalar_operations()
        case TilingInterface():
            return {}, op.flops()
        case _:
            return {}, 0


def _count_operations_of_decomposition(
    op: DecompositionInterface,
) -> tuple[dict[str, int], int]:
    """
    Return the scalar operations of a decomposition: those of products by element type,
    and the number of others.
    """
    matrix, vector = dict[str, int](), 0
    for inner in decomposed_operations_of(op):
        products, vector_count = _count_product_and_other_operations(inner)
        vector += vector_count
        for element, count in products.items():
            matrix[element] = matrix.get(element, 0) + count
    return matrix, vector


def decomposed_operations_of(op: DecompositionInterface) -> Iterator[Operation]:
    """
    Yield the operations of a decomposition, built in a temporary block and erased
    afterwards.
    """
    block = Block(arg_types=[operand.type for operand in op.operands])
    clone = op.clone(dict(zip(op.operands, block.args, strict=True)))
    block.add_op(clone)
    clone.decompose(Builder(InsertPoint.before(clone)))
    yield from (inner for inner in list(block.ops) if inner is not clone)
    clone.detach()
    clone.erase()
    block.erase(safe_erase=False)


LANE_TYPES = frozenset({"f32", "f64"})
"""Types of products for which processors have no matrix instructions."""


def multiplication_type_of(op: ContractionInterface) -> str:
    """
    Return the element type of a product's inputs, or its precision for f32 inputs of
    other than IEEE precision.
    """
    element = str(tensor_type(op.operands[0]).element_type)
    return op.precision if element == "f32" and op.precision != "ieee" else element
