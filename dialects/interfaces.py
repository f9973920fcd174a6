"""
Operation interfaces after MLIR (TilingInterface, structured ops) that passes query.

An operation inherits the interfaces that describe it. They are modelled on MLIR's
TilingInterface and on the structured operations of its linalg dialect.
"""

from __future__ import annotations

import abc
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray
from xdsl.builder import Builder
from xdsl.dialects.builtin import AffineMapAttr
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.ir.affine import AffineExpr, AffineMap
from xdsl.rewriter import InsertPoint
from xdsl.traits import ConstantLike

from tlf.dialects.types import tensor_type, type_like
from tlf.support.affine.index_access import Accesses, IndexAccess, broadcast_accesses

Array: TypeAlias = NDArray[np.generic]
Scalar: TypeAlias = int | float


class IteratorType(StrEnum):
    """Kind of an axis: its iterations are independent, or combine."""

    PARALLEL = "parallel"
    REDUCTION = "reduction"


@dataclass(frozen=True)
class LoopDim:
    """One axis of an operation's iteration domain, counted from 0 to `extent`."""

    kind: IteratorType
    extent: int


def parallel_dim(extent: int) -> LoopDim:
    """An axis whose iterations are independent."""
    return LoopDim(IteratorType.PARALLEL, extent)


def reduction_dim(extent: int) -> LoopDim:
    """An axis whose iterations combine."""
    return LoopDim(IteratorType.REDUCTION, extent)


class OperationClass(StrEnum):
    """Bottleneck of an operation: arithmetic, memory, or nothing but data movement."""

    COMPUTE = "compute"
    MEMORY = "memory"
    MOVEMENT = "movement"


class ReferenceInterface(Operation, abc.ABC):
    """
    An operation that can be computed on numpy arrays.
    """

    @abc.abstractmethod
    def compute_reference(self, *operands: Array) -> tuple[Array, ...]:
        """
        Compute the results from the operands, in the declared element types.
        """


class TilingInterface(ReferenceInterface):
    """
    An operation any box of whose iterations can be computed by itself.
    """

    @abc.abstractmethod
    def iteration_domain(self) -> tuple[LoopDim, ...]:
        """
        Return the iteration domain: one dimension per loop, parallel or reduction.
        """

    @abc.abstractmethod
    def indexing_maps(self) -> tuple[Accesses | None, ...]:
        """Return the indexing map of each operand; `None` for one that is no tensor."""

    @abc.abstractmethod
    def result_indexing_maps(self) -> tuple[Accesses, ...]:
        """Return the indexing map of each result."""

    def padding_value(self, operand: int) -> Scalar | None:
        """
        Return the value that elements outside of `operand` must have where an iteration
        touches them: the neutral element of a reduction, the padding of a window.
        `None` if such elements affect no element of a result.
        """
        return None

    def tiled_implementation(
        self, operands: Sequence[SSAValue], result_types: Sequence[Attribute]
    ) -> Operation:
        """
        Build the same computation on tiles, whose operands are the regions accessed.
        """
        return type(self).create(
            operands=operands,
            result_types=result_types,
            properties=dict(self.properties),
            attributes=dict(self.attributes),
        )

    def flops(self) -> int:
        """Scalar arithmetic operations, a multiply-accumulate counting as two."""
        return 0

    @property
    def operation_class(self) -> OperationClass:
        """Bottleneck of the operation on most machines."""
        return OperationClass.MEMORY

    def linear_operands(self) -> tuple[int, ...]:
        """Return the operands in each of which a result is linear."""
        return ()

    def untileable_dims(self) -> dict[int, str]:
        """Return the dimensions that cannot be tiled, each with the reason."""
        return {}


class PositionInterface(TilingInterface):
    """
    An operation whose elements depend on where they are in its result, so that a tile
    must know its place.
    """

    @abc.abstractmethod
    def tiled_implementation_at(
        self,
        operands: Sequence[SSAValue],
        result_types: Sequence[Attribute],
        position: Sequence[SSAValue | int],
        add: Callable[[SSAValue | int, SSAValue | int], SSAValue | int],
    ) -> Operation:
        """
        The computation on the tile that starts at `position` in the result. `add`
        builds the sum of two indices.
        """


class ElementwiseInterface(TilingInterface):
    """
    An operation that computes each element of its result from one element of every
    operand, with numpy broadcasting.
    """

    @abc.abstractmethod
    def build_scalar(self, builder: Builder, *elements: SSAValue) -> SSAValue:
        """Build the computation of one element, with `arith` and `math`."""

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
        return (tuple(IndexAccess.of(axis) for axis in range(len(shape))),)

    def count_scalar_operations(self) -> int:
        """
        Return the number of operations that compute one element, not counting
        constants.
        """
        return sum(not op.has_trait(ConstantLike) for op in self.scalar_body().ops)

    def scalar_body(self) -> Block:
        """A block that computes one element of elements of the operands."""
        body = Block(
            arg_types=[tensor_type(each).element_type for each in self.operands]
        )
        self.build_scalar(Builder(InsertPoint.at_end(body)), *body.args)
        return body

    def flops(self) -> int:
        return tensor_type(self.results[0]).element_count()


class AccumulatingInterface(TilingInterface):
    """
    An operation that combines many values into each element of its one result. Its
    last operand may be `init`, a tensor like the result that the values are combined
    with, so that a reduction can be computed piece by piece.
    """

    @property
    @abc.abstractmethod
    def init_value(self) -> SSAValue | None:
        """The operand that the result starts from."""

    @property
    @abc.abstractmethod
    def accumulator_type(self) -> Attribute:
        """The element type that values are combined in."""

    @abc.abstractmethod
    def neutral_element(self) -> Scalar:
        """The value that changes nothing when it is combined."""

    @property
    def inputs(self) -> tuple[SSAValue, ...]:
        """The operands other than `init`."""
        if self.init_value is None:
            return tuple(self.operands)
        return tuple(self.operands)[:-1]

    def with_accumulator_result(self) -> Operation | None:
        """
        The same operation with a result of the accumulator type, or None where the
        result has that type already.
        """
        result = tensor_type(self.results[0])
        if result.element_type == self.accumulator_type or self.init_value is not None:
            return None
        wide = type_like(result, result.get_shape(), self.accumulator_type)
        return type(self).create(
            operands=self.operands,
            result_types=[wide],
            properties=dict(self.properties),
            attributes=dict(self.attributes),
        )


class ContractionInterface(AccumulatingInterface):
    """
    A sum of products of two operands: matrix products, convolutions.
    """

    @property
    @abc.abstractmethod
    def precision(self) -> str:
        """
        Mode in which inputs of type f32 are multiplied: `ieee`, `tf32` or `tf32x3`.
        """

    def neutral_element(self) -> Scalar:
        return 0

    def padding_value(self, operand: int) -> Scalar | None:
        return 0 if operand < 2 else None

    def flops(self) -> int:
        count = 2
        for iterator in self.iteration_domain():
            count *= iterator.extent
        return count

    @property
    def operation_class(self) -> OperationClass:
        return OperationClass.COMPUTE

    def linear_operands(self) -> tuple[int, ...]:
        return (0, 1)


class ReductionInterface(AccumulatingInterface):
    """
    A reduction of one operand along some of its axes.
    """

    @abc.abstractmethod
    def combine(self, builder: Builder, element: SSAValue, total: SSAValue) -> SSAValue:
        """Build the combination of one element with what was combined before."""

    def padding_value(self, operand: int) -> Scalar | None:
        return self.neutral_element() if operand == 0 else None

    def flops(self) -> int:
        return tensor_type(self.operands[0]).element_count()


class MovementInterface(TilingInterface):
    """
    An operation each element of whose result is some element of its operand.
    """

    @property
    def operation_class(self) -> OperationClass:
        return OperationClass.MOVEMENT

    def linear_operands(self) -> tuple[int, ...]:
        return (0,)


class IndexedInterface(MovementInterface):
    """
    A movement that reads its first operand, along one axis, at the place that an
    element of another operand names. Accesses say which: that of the axis has an
    `index`. Places that are not there read as the border of the first operand.
    """

    @property
    def indexed_axis(self) -> int:
        """The axis of the first operand along which places are named."""
        accesses = self.indexing_maps()[0] or ()
        indices = [access.index for access in accesses]
        return next(axis for axis, index in enumerate(indices) if index is not None)

    @property
    def index_operand(self) -> int:
        """The number of the operand that names places."""
        accesses = self.indexing_maps()[0] or ()
        return next(each.index for each in accesses if each.index is not None)


class WindowInterface(TilingInterface):
    """
    An operation whose iterations read windows of an operand that overlap.
    """

    @abc.abstractmethod
    def decompose_windows(self, builder: Builder) -> Sequence[SSAValue]:
        """
        Build the same computation of movements and operations without windows, and
        return the values of the results.
        """


class ViewInterface(MovementInterface):
    """
    A movement whose result, in row-major order, holds the elements of its operand in
    their order: a contiguous buffer serves both.
    """


class ConstantInterface(TilingInterface):
    """
    An operation whose result is known when compiling.
    """

    @abc.abstractmethod
    def splat_value(self) -> Attribute | None:
        """The one value of all elements, if there is one."""


class DecompositionInterface(ReferenceInterface):
    """
    An operation that is a short program of simpler ones.
    """

    @abc.abstractmethod
    def decompose(self, builder: Builder) -> Sequence[SSAValue]:
        """Build the program, and return the values of the results."""


@dataclass(frozen=True)
class Simplification:
    """A simpler way to compute the one result of an operation."""

    text: str
    """The simplification as an equation such as `x * 1 = x`."""
    build: Callable[[Builder], SSAValue]
    """Builds it, and returns a value of the result's type."""
    exact: bool = True
    """True if no bit of the result changes, whatever the operands are."""


class SimplificationInterface(Operation, abc.ABC):
    """
    An operation with one result that there may be simpler ways to compute.
    """

    @abc.abstractmethod
    def simplifications(self) -> Iterable[Simplification]:
        """The ways that apply here, the best first."""

    def best_simplification(self, is_relaxed: bool = False) -> Simplification | None:
        """The best way that keeps every bit; of all, where numerics are relaxed."""
        found = self.simplifications()
        return next((each for each in found if each.exact or is_relaxed), None)


def to_affine_map(accesses: Accesses, iterators: int) -> AffineMapAttr:
    """
    Convert accesses to an affine map from the iteration domain.

    Accesses are of width 1: a wider one has no map.
    """
    results: list[AffineExpr] = []
    for access in accesses:
        expression: AffineExpr = AffineExpr.constant(access.offset)
        for position, (iterator, coefficient) in enumerate(access.terms):
            term = AffineExpr.dimension(iterator)
            term = term if coefficient == 1 else term * coefficient
            alone = position == 0 and access.offset == 0
            expression = term if alone else expression + term
        results.append(expression)
    return AffineMapAttr(AffineMap(iterators, 0, tuple(results)))
