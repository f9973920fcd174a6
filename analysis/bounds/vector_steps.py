"""Lower bound on the work of the vector engine."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import prod

from xdsl.dialects import arith
from xdsl.ir import Block, Operation, SSAValue

from tlf.analysis.bounds.dataflow import Dataflow, elements_of
from tlf.analysis.bounds.needs import Need
from tlf.analysis.bounds.touched import count, touched
from tlf.analysis.work.steps import is_slow, scalar_steps
from tlf.analysis.work.work import program_of
from tlf.dialects.indexed_write import IndexedWriteInterface
from tlf.dialects.interfaces import (
    AccumulatingInterface,
    ContractionInterface,
    DecompositionInterface,
    ElementwiseInterface,
    IndexedInterface,
    IteratorKind,
    MovementInterface,
    TilingInterface,
)
from tlf.dialects.target import Target
from tlf.dialects.types import tensor_type

CONVERSIONS = (
    *(arith.ExtFOp, arith.TruncFOp, arith.ExtSIOp, arith.ExtUIOp, arith.TruncIOp),
    *(arith.SIToFPOp, arith.UIToFPOp, arith.FPToSIOp, arith.FPToUIOp),
)
SUMS = (arith.AddfOp, arith.AddiOp)


@dataclass
class VectorSteps:
    """
    Counts elements times the steps of a lane that no schedule leaves out.

    Conversions come with the operation before or after, what is added to a product is
    what it starts from, and moves fill up with numbers: these count nothing. Combining
    elements takes a step less than there are.
    """

    flow: Dataflow
    needs: Mapping[SSAValue, Need]
    target: Target
    _bodies: dict[Operation, tuple[Operation, ...]] = field(
        default_factory=dict[Operation, tuple[Operation, ...]]
    )

    def __post_init__(self) -> None:
        self._own = frozenset[Operation](self.flow.operations)

    @property
    def _follows_indices(self) -> bool:
        """True if moves gather by indices, so that nothing is computed."""
        return any(level.follows_indices for level in self.target.tile_levels[:1])

    def _is_moved(self, op: IndexedWriteInterface) -> bool:
        """Return `True` if moves scatter by indices, so that nothing is computed."""
        return self.target.indexed_row is not None and op.moved_element is not None

    def total(self) -> int:
        """The steps of all operations."""
        return sum(map(self.of, self.flow.operations))

    def of(self, op: Operation) -> int:
        """The steps of one operation."""
        match op:
            case ContractionInterface():
                return 0
            case ElementwiseInterface():
                needed = self._needed(op)
                return needed * self._each(op) if needed else 0
            case AccumulatingInterface():
                return _combined(op) if self._needed(op) else 0
            case IndexedInterface() if self._follows_indices:
                return 0
            case IndexedWriteInterface() if self._is_moved(op):
                return 0
            case DecompositionInterface():
                return sum(map(self.of, program_of(op)))
            case _:
                return 0

    def _needed(self, op: Operation) -> int:
        """
        Return the number of elements of the result that are needed; all for operations
        inside of composites.
        """
        (result,) = op.results
        if op in self._own:
            return self.needs.get(result, Need()).elements
        return elements_of(result)

    def _each(self, op: ElementwiseInterface) -> int:
        """The steps of a lane for one element."""
        owners = [each.owner for each in self.flow.operands(op)]
        if any(_is_padded(owner) for owner in owners):
            return 0
        slow = self.target.engines.get("vector", {}).get("transcendental", 1)
        factor = int(slow) if isinstance(slow, int | float) else 1
        free = SUMS if any(map(self._is_product, owners)) else ()
        return sum(
            factor if is_slow(each) else 1
            for each in self._body(op)
            if not isinstance(each, (*CONVERSIONS, *free))
        )

    def _body(self, op: ElementwiseInterface) -> tuple[Operation, ...]:
        """The scalar operations, constants not among them."""
        if op not in self._bodies:
            self._bodies[op] = scalar_steps(op)
        return self._bodies[op]

    def _is_product(self, owner: Operation | Block) -> bool:
        """
        Return `True` if the owner is a product, or the sum of a product and something
        else.
        """
        if isinstance(owner, ContractionInterface):
            return True
        match owner:
            case ElementwiseInterface():
                wanted = (*CONVERSIONS, *SUMS)
                if not all(isinstance(each, wanted) for each in self._body(owner)):
                    return False
            case MovementInterface():
                pass
            case _:
                return False
        return any(self._is_product(each.owner) for each in self.flow.operands(owner))


def _is_padded(owner: Operation | Block) -> bool:
    return isinstance(owner, MovementInterface) and owner.border(0) is not None


def _combined(op: TilingInterface) -> int:
    """
    The steps of a reduction: one less than there are elements for each result, what
    windows share counted once.
    """
    results, iterators = elements_of(op.results[0]), op.iterators()
    kinds = (each for each in iterators if each.kind is IteratorKind.REDUCTION)
    if prod(each.extent for each in kinds) == 1:
        return 0
    accesses = op.operand_accesses()[0] or ()
    extents = [each.extent for each in iterators]
    shape = tensor_type(op.operands[0]).get_shape()
    read = count(touched(accesses, extents, shape))
    return max(0, read - results)
