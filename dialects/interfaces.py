"""
Interfaces of operations that passes query, after MLIR's TilingInterface and linalg.

An operation inherits the interfaces that describe it.
"""

from __future__ import annotations

import abc
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray
from xdsl.builder import Builder
from xdsl.dialects.builtin import AffineMapAttr
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.ir.affine import AffineExpr, AffineMap
from xdsl.rewriter import InsertPoint
from xdsl.traits import ConstantLike

from tlf.dialects.types import tensor_type, tensor_type_like
from tlf.support.affine.delinearized_access import DelinearizedAccess
from tlf.support.affine.index_access import Accesses, IndexAccess, broadcast_accesses

Array: TypeAlias = NDArray[np.generic]
Scalar: TypeAlias = int | float


class IteratorType(StrEnum):
    """
    Kind of an axis: iterations are independent (parallel) or combined (reduction).
    """

    PARALLEL = "parallel"
    REDUCTION = "reduction"


@dataclass(frozen=True)
class LoopDim:
    """One dimension of an iteration domain, with indices in `[0, extent)`."""

    kind: IteratorType
    extent: int


def parallel_dim(extent: int) -> LoopDim:
    """Return a dimension whose iterations are independent."""
    return LoopDim(IteratorType.PARALLEL, extent)


def reduction_dim(extent: int) -> LoopDim:
    """Return a dimension whose iterations are combined."""
    return LoopDim(IteratorType.REDUCTION, extent)


class BottleneckKind(StrEnum):
    """Bottleneck of an operation: arithmetic, memory, or data movement only."""

    COMPUTE = "compute"
    MEMORY = "memory"
    MOVEMENT = "movement"


class ReferenceInterface(Operation, abc.ABC):
    """Interface of operations with a reference implementation on numpy arrays."""

    @abc.abstractmethod
    def compute_reference(self, *operands: Array) -> tuple[Array, ...]:
        """Compute the results from the operands, in the declared element types."""


class TilingInterface(ReferenceInterface):
    """Operation that can be computed on any box of its iteration domain."""

    @abc.abstractmethod
    def iteration_domain(self) -> tuple[LoopDim, ...]:
        """
        Return the iteration domain: one dimension per loop, parallel or reduction.
        """

    @abc.abstractmethod
    def indexing_maps(self) -> tuple[Accesses | None, ...]:
        """
        Return the indexing map of each operand; `None` for operands other than tensors.
        """

    @abc.abstractmethod
    def result_indexing_maps(self) -> tuple[Accesses, ...]:
        """Return the indexing map of each result."""

    def padding_value(self, operand_index: int) -> Scalar | None:
        """
        Return the value that out-of-bounds elements of `operand_index` must have where
        an iteration reads them: the neutral element of a reduction, the padding of a
        window. `None` if these elements affect no element of a result.
        """
        return None

    def tiled_implementation(
        self, operands: Sequence[SSAValue], result_types: Sequence[Attribute]
    ) -> Operation:
        """Build the operation on tiles; the operands are the accessed regions."""
        return type(self).create(
            operands=operands,
            result_types=result_types,
            properties=dict(self.properties),
            attributes=dict(self.attributes),
        )

    def flops(self) -> int:
        """
        Return the number of scalar operations; a multiply-accumulate counts as two.
        """
        return 0

    @property
    def bottleneck_kind(self) -> BottleneckKind:
        """Bottleneck of the operation on most machines."""
        return BottleneckKind.MEMORY

    def linear_operands(self) -> tuple[int, ...]:
        """Return the indices of the operands in each of which a result is linear."""
        return ()

    def untileable_dims(self) -> dict[int, str]:
        """Return the dimensions that cannot be tiled, each with the reason."""
        return {}


class PositionDependentInterface(TilingInterface):
    """
    Operation whose elements depend on their position in the result, so that a tile
    needs its offsets.
    """

    @abc.abstractmethod
    def tiled_implementation_at(
        self,
        operands: Sequence[SSAValue],
        result_types: Sequence[Attribute],
        tile_offsets: Sequence[SSAValue | int],
        add_indices: Callable[[SSAValue | int, SSAValue | int], SSAValue | int],
    ) -> Operation:
        """
        Build the operation on the tile at offsets `tile_offsets` of the result.
        `add_indices` builds the sum of two indices.
        """


class ElementwiseInterface(TilingInterface):
    """
    Operation that computes each element of its result from one element of each operand,
    with numpy broadcasting.
    """

    @abc.abstractmethod
    def build_scalar_computation(
        self, builder: Builder, *elements: SSAValue
    ) -> SSAValue:
        """Build the computation of one element with `arith` and `math` operations."""

    def iteration_domain(self) -> tuple[LoopDim, ...]:
        shape = tensor_type(self.results[0]).get_shape()
        return tuple(parallel_dim(extent) for extent in shape)

    def indexing_maps(self) -> tuple[Accesses | None, ...]:
        shape = tensor_type(self.results[0]).get_shape()
        return tuple(
            broadcast_accesses(tensor_type(operand).get_shape(), shape)
            for operand in self.operands
        )

    def result_indexing_maps(self) -> tuple[Accesses, ...]:
        shape = tensor_type(self.results[0]).get_shape()
        return (tuple(IndexAccess.of_iterator(axis) for axis in range(len(shape))),)

    def count_scalar_operations(self) -> int:
        """Return the number of scalar operations per element, without constants."""
        return sum(
            not op.has_trait(ConstantLike) for op in self.build_scalar_body().ops
        )

    def build_scalar_body(self) -> Block:
        """Return a block that computes one result element from operand elements."""
        body = Block(
            arg_types=[tensor_type(each).element_type for each in self.operands]
        )
        self.build_scalar_computation(Builder(InsertPoint.at_end(body)), *body.args)
        return body

    def flops(self) -> int:
        return tensor_type(self.results[0]).element_count()


class AccumulatingInterface(TilingInterface):
    """
    Operation that combines many values into each element of its single result.

    Its last operand may be `init`, a tensor of the result's shape with the initial
    accumulators, so that a reduction can be computed one reduction tile at a time.
    """

    @property
    @abc.abstractmethod
    def init_value(self) -> SSAValue | None:
        """Operand with the initial accumulators, or None."""

    @property
    @abc.abstractmethod
    def accumulator_type(self) -> Attribute:
        """Element type of the accumulators."""

    @abc.abstractmethod
    def neutral_element(self) -> Scalar:
        """Return the neutral element of the combination."""

    @property
    def inputs(self) -> tuple[SSAValue, ...]:
        """Operands other than `init`."""
        if self.init_value is None:
            return tuple(self.operands)
        return tuple(self.operands)[:-1]

    def build_with_accumulator_result(self) -> Operation | None:
        """
        Build the operation with a result of the accumulator type; `None` if the result
        already has that type, or the operation has an `init`.
        """
        result = tensor_type(self.results[0])
        if result.element_type == self.accumulator_type or self.init_value is not None:
            return None
        wide = tensor_type_like(result, result.get_shape(), self.accumulator_type)
        return type(self).create(
            operands=self.operands,
            result_types=[wide],
            properties=dict(self.properties),
            attributes=dict(self.attributes),
        )


class ContractionInterface(AccumulatingInterface):
    """Sum of products of two operands: matrix products, convolutions."""

    @property
    @abc.abstractmethod
    def precision(self) -> str:
        """Precision of f32 factors, one of `PRECISIONS`."""

    def neutral_element(self) -> Scalar:
        return 0

    def padding_value(self, operand_index: int) -> Scalar | None:
        return 0 if operand_index < 2 else None

    def flops(self) -> int:
        count = 2
        for iterator in self.iteration_domain():
            count *= iterator.extent
        return count

    @property
    def bottleneck_kind(self) -> BottleneckKind:
        return BottleneckKind.COMPUTE

    def linear_operands(self) -> tuple[int, ...]:
        return (0, 1)


class ReductionInterface(AccumulatingInterface):
    """Interface of operations that reduce one operand along some of its axes."""

    @abc.abstractmethod
    def build_combination_of_scalars(
        self, builder: Builder, element: SSAValue, accumulator: SSAValue
    ) -> SSAValue:
        """Build the combination of one element with the accumulator."""

    def padding_value(self, operand_index: int) -> Scalar | None:
        return self.neutral_element() if operand_index == 0 else None

    def flops(self) -> int:
        return tensor_type(self.operands[0]).element_count()


class ScanInterface(TilingInterface):
    """
    Operation that combines each element with all elements before it along one axis, or
    after it if it is reversed.

    The axis is an iterator that cannot be tiled, unless a loop over its tiles carries
    the combination of all elements so far.
    """

    @property
    @abc.abstractmethod
    def scan_iterator(self) -> int:
        """Iterator along which elements are combined."""

    @property
    @abc.abstractmethod
    def is_reversed(self) -> bool:
        """True if elements are combined from the last one to the first."""

    @property
    @abc.abstractmethod
    def rounds_once(self) -> bool:
        """
        True if elements are combined in a wider type, and each result is rounded: then
        tiles cannot be scanned one after the other.
        """

    @abc.abstractmethod
    def neutral_element(self) -> Scalar:
        """Return the neutral element of the combination."""

    @abc.abstractmethod
    def build_combination_of_scalars(
        self, builder: Builder, element: SSAValue, accumulator: SSAValue
    ) -> SSAValue:
        """Build the combination of one element with those before it."""

    @abc.abstractmethod
    def build_in_blocks(self, builder: Builder, block_count: int) -> SSAValue:
        """
        Build the equivalent scan of `block_count` blocks of the axis, each combined
        with the total of those before it, so that blocks can be scanned in parallel.
        """

    @abc.abstractmethod
    def build_continuation(
        self, builder: Builder, tile: SSAValue, scanned: SSAValue, total: SSAValue
    ) -> tuple[SSAValue, SSAValue]:
        """
        Build the scan of a tile and of the elements before it: `scanned` is the scan of
        `tile` alone, and `total` the combination of the elements before it, with extent
        1 along the axis. Return the scan, and the total including the tile.
        """


class MovementInterface(TilingInterface):
    """
    Operation that copies elements: each element of its result is an element of its
    operand.
    """

    @property
    def bottleneck_kind(self) -> BottleneckKind:
        return BottleneckKind.MOVEMENT

    def linear_operands(self) -> tuple[int, ...]:
        return (0,)


class IndexedReadInterface(MovementInterface):
    """
    Movement that reads its first operand, along one axis, at positions that another
    operand holds as indices.

    The access of the indexed axis has an `index`. Elements at out-of-bounds indices
    have the `padding_value` of the first operand.
    """

    @property
    def indexed_axis(self) -> int:
        """Axis of the first operand along which indices give the positions."""
        accesses = self.indexing_maps()[0] or ()
        indices = [access.index for access in accesses]
        return next(axis for axis, index in enumerate(indices) if index is not None)

    @property
    def indices_operand_index(self) -> int:
        """Operand number of the indices."""
        accesses = self.indexing_maps()[0] or ()
        return next(each.index for each in accesses if each.index is not None)


class DelinearizedReadInterface(MovementInterface):
    """
    Movement whose result axes are collapsed dimensions of a domain over which it reads
    its operand linearly. A load performs it, since the elements that a tile reads are
    no box.
    """

    @property
    @abc.abstractmethod
    def delinearized_access(self) -> DelinearizedAccess:
        """Accesses to the operand over the digits of an index of the result."""

    @property
    @abc.abstractmethod
    def fill_value(self) -> Scalar:
        """Value of elements outside of the operand, and outside of the result."""


class WindowInterface(TilingInterface):
    """
    Interface of operations that read sliding windows of an operand, which may overlap.
    """

    @abc.abstractmethod
    def decompose_windows(self, builder: Builder) -> Sequence[SSAValue]:
        """
        Build the equivalent computation from movements and operations without windows,
        and return its results.
        """


class ViewInterface(MovementInterface):
    """
    Movement that preserves the row-major order of elements: operand and result can
    share a contiguous buffer.
    """


class ConstantInterface(TilingInterface):
    """Interface of operations whose result is known at compile time."""

    @abc.abstractmethod
    def splat_attribute(self) -> Attribute | None:
        """Return the common value of all elements, or `None` if they differ."""


def splat_attribute_of(value: SSAValue) -> Attribute | None:
    """Return the value of the splat constant that defines a tensor, or `None`."""
    owner = value.owner
    return owner.splat_attribute() if isinstance(owner, ConstantInterface) else None


class DecompositionInterface(ReferenceInterface):
    """Operation that is equivalent to a short program of simpler operations."""

    @abc.abstractmethod
    def decompose(self, builder: Builder) -> Sequence[SSAValue]:
        """Build the equivalent program, and return its results."""


@dataclass(frozen=True)
class Simplification:
    """Candidate rewrite of the single result of an operation, built only on request."""

    equation: str
    """Equation of the simplification, such as `x * 1 = x`."""
    build: Callable[[Builder], SSAValue]
    """Build the computation, and return a value of the result's type."""
    is_exact: bool = True
    """True if the result is bitwise equal for all operands."""


class SimplificationInterface(Operation, abc.ABC):
    """
    Interface of operations with one result that list their algebraic simplifications.
    """

    @abc.abstractmethod
    def simplifications(self) -> Iterable[Simplification]:
        """Return the applicable simplifications, best first."""

    def find_best_simplification(
        self, is_relaxed: bool = False
    ) -> Simplification | None:
        """
        Return the best exact simplification, or the best of all if `is_relaxed`; `None`
        if there is none.
        """
        candidates = self.simplifications()
        return next((each for each in candidates if each.is_exact or is_relaxed), None)


@lru_cache(1024)
def to_affine_map(accesses: Accesses, iterator_count: int) -> AffineMapAttr:
    """
    Return the map from an iteration domain of `iterator_count` dimensions to the
    indices that `accesses` compute, as an attribute.

    All accesses must have width 1: wider accesses have no map.
    """
    results: list[AffineExpr] = []
    for access in accesses:
        expression: AffineExpr = AffineExpr.constant(access.offset)
        for position, (iterator, coefficient) in enumerate(access.terms):
            term = AffineExpr.dimension(iterator)
            term = term if coefficient == 1 else term * coefficient
            is_first = position == 0 and access.offset == 0
            expression = term if is_first else expression + term
        results.append(expression)
    return AffineMapAttr(AffineMap(iterator_count, 0, tuple(results)))
