"""Operation counts of an operation, and the bytes that it has to move."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from math import prod

from xdsl.builder import Builder
from xdsl.dialects.builtin import TensorType
from xdsl.ir import Block, Operation, SSAValue
from xdsl.rewriter import InsertPoint

from tlf.dialects.concat_like_interface import ConcatLikeInterface
from tlf.dialects.indexed_write_interface import IndexedWriteInterface
from tlf.dialects.interfaces import (
    ConstantInterface,
    ContractionInterface,
    DecompositionInterface,
    ElementwiseInterface,
    IndexedInterface,
    TilingInterface,
    ViewInterface,
)
from tlf.dialects.slice_views import is_stored_slice
from tlf.dialects.types import dtype_of, tensor_type


@dataclass(frozen=True)
class Work:
    """
    Scalar operations, a multiply-accumulate counting as two, and bytes.
    """

    matrix_operations: tuple[tuple[str, int], ...] = ()
    """Those of products, by the type that they are multiplied in."""
    vector_operations: int = 0
    """All others."""
    bytes: int = 0
    """Of the operands, each once and as far as it is read, and of the results."""

    @property
    def flops(self) -> int:
        """All operations."""
        return self.vector_operations + sum(
            count for _, count in self.matrix_operations
        )

    @property
    def intensity(self) -> float:
        """Operations for each byte (Williams et al., Roofline, 2009)."""
        return self.flops / self.bytes if self.bytes else 0.0


def size_in_bytes(values: Iterable[SSAValue]) -> int:
    """The bytes of tensors, each counted once."""
    return sum(
        prod(tensor_type(value).get_shape())
        * dtype_of(tensor_type(value).element_type).itemsize
        for value in dict.fromkeys(values)
        if isinstance(value.type, TensorType)
    )


def work_of(op: Operation) -> Work:
    """The work of one operation; a composite does that of what it stands for."""
    if isinstance(op, ConstantInterface | ViewInterface) or is_stored_slice(op):
        return Work()
    matrix, vector = _count_operations(op)
    return Work(tuple(sorted(matrix.items())), vector, _moved_bytes(op))


def _moved_bytes(op: Operation) -> int:
    """The bytes of operands and results; by indices no more is read than written."""
    if not isinstance(op, IndexedInterface):
        return size_in_bytes((*op.operands, *op.results))
    table, written = size_in_bytes(op.operands[:1]), size_in_bytes(op.results)
    return min(table, written) + size_in_bytes(op.operands[1:]) + written


def _count_operations(op: Operation) -> tuple[dict[str, int], int]:
    """The operations of products, by type, and all others."""
    match op:
        case IndexedInterface() | ConcatLikeInterface():
            return {}, op.flops()
        case IndexedWriteInterface() if op.is_scatter_add is not None:
            return {}, tensor_type(op.operands[2]).element_count() * op.is_scatter_add
        case DecompositionInterface():
            return _count_decomposed(op)
        case ContractionInterface():
            return {multiplication_type_of(op): op.flops()}, 0
        case ElementwiseInterface():
            count = tensor_type(op.results[0]).element_count()
            return {}, count * op.count_scalar_operations()
        case TilingInterface():
            return {}, op.flops()
        case _:
            return {}, 0


def _count_decomposed(op: DecompositionInterface) -> tuple[dict[str, int], int]:
    """The operations of a decomposition."""
    matrix, vector = dict[str, int](), 0
    for inner in decomposed_operations_of(op):
        products, others = _count_operations(inner)
        vector += others
        for element, count in products.items():
            matrix[element] = matrix.get(element, 0) + count
    return matrix, vector


def decomposed_operations_of(op: DecompositionInterface) -> Iterator[Operation]:
    """The operations of a decomposition, built aside and dropped in the end."""
    block = Block(arg_types=[operand.type for operand in op.operands])
    stand_in = op.clone(dict(zip(op.operands, block.args, strict=True)))
    block.add_op(stand_in)
    stand_in.decompose(Builder(InsertPoint.before(stand_in)))
    yield from (inner for inner in list(block.ops) if inner is not stand_in)
    stand_in.detach()
    stand_in.erase()
    block.erase(safe_erase=False)


def multiplication_type_of(op: ContractionInterface) -> str:
    """The element type of a product's inputs, or the precision that stands for it."""
    element = str(tensor_type(op.operands[0]).element_type)
    return op.precision if element == "f32" and op.precision != "ieee" else element
