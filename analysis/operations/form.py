"""Cached answers of operations to the queries of tiling."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property

from xdsl.dialects import arith
from xdsl.dialects.builtin import f32

from tlf.analysis.operations.bands import Windows, role_of
from tlf.analysis.operations.kinds import Kinds
from tlf.dialects.cuts import is_part
from tlf.dialects.interfaces import (
    AccumulatingInterface,
    ConstantInterface,
    ContractionInterface,
    ElementwiseInterface,
    Iterator,
    IteratorKind,
    MovementInterface,
    Scalar,
    TilingInterface,
    ViewInterface,
)
from tlf.dialects.joining import JoiningInterface
from tlf.dialects.padded import padded_extents
from tlf.dialects.types import dtype_of, is_half, tensor_type
from tlf.support.affine.access import Accesses, interned

FREE = ConstantInterface | ViewInterface | JoiningInterface
"""
Operations that take no instruction: buffers, or subviews of them, serve as their
results.
"""


class Form:
    """
    The answers of an operation to the questions of its interface. They hold as long as
    its properties and types do not change.
    """

    def __init__(self, op: TilingInterface) -> None:
        self._op = op
        self._borders: dict[int, Scalar | None] = {}

    @cached_property
    def iterators(self) -> tuple[Iterator, ...]:
        """The iteration domain."""
        return self._op.iterators()

    @cached_property
    def extents(self) -> tuple[int, ...]:
        """The extents of the iterators."""
        return tuple(each.extent for each in self.iterators)

    @cached_property
    def parallel(self) -> tuple[int, ...]:
        """The parallel iterators, by their place among all."""
        return self._places(IteratorKind.PARALLEL)

    @property
    def parallel_extents(self) -> tuple[int, ...]:
        """The extents of the parallel iterators."""
        return tuple(self.extents[place] for place in self.parallel)

    @cached_property
    def reductions(self) -> tuple[int, ...]:
        """The iterators of reductions, by their place among all."""
        return self._places(IteratorKind.REDUCTION)

    @property
    def reduction_extents(self) -> tuple[int, ...]:
        """The extents of the iterators of reductions."""
        return tuple(self.extents[place] for place in self.reductions)

    @cached_property
    def untileable(self) -> dict[int, str]:
        """Iterators that only run whole, each with the reason."""
        return self._op.untileable()

    @cached_property
    def operands(self) -> tuple[Accesses | None, ...]:
        """Accesses of an iteration to each operand."""
        return tuple(
            each if each is None else interned(each)
            for each in self._op.operand_accesses()
        )

    @cached_property
    def result(self) -> Accesses:
        """Accesses of an iteration to the first result."""
        return interned(self._op.result_accesses()[0])

    @cached_property
    def roles(self) -> tuple[str, ...]:
        """
        The roles of a product's iterators, by what each moves: `m`, `n`, `k`, `batch`.
        """
        left, right = self.operands[:2]
        return tuple(
            role_of(
                any(each.uses({iterator}) for each in accesses or ())
                for accesses in (self.result, left, right)
            )
            for iterator in range(len(self.extents))
        )

    @cached_property
    def windows(self) -> Windows | None:
        """The windows of a product, if it has any."""
        if not self.is_product:
            return None
        return Windows.of(self.roles, self.operands, self.result)

    @cached_property
    def shape(self) -> tuple[int, ...]:
        """The shape of the first result."""
        return tensor_type(self._op.results[0]).get_shape()

    @cached_property
    def itemsize(self) -> int:
        """The bytes of an element of the first result."""
        return dtype_of(tensor_type(self._op.results[0]).element_type).itemsize

    @cached_property
    def is_free(self) -> bool:
        """True if the operation takes no instruction."""
        return isinstance(self._op, FREE)

    @cached_property
    def is_part(self) -> bool:
        """True if tiles of its result are tiles of its operand."""
        return is_part(self._op)

    @cached_property
    def is_seen(self) -> bool:
        """True if a view of a buffer, or of a subview of it, serves as the result."""
        return self.is_free or self.is_part

    @cached_property
    def is_movement(self) -> bool:
        """True if the operation moves elements."""
        return isinstance(self._op, MovementInterface)

    @cached_property
    def moves_elements(self) -> bool:
        """True if it accesses one element at a time of the first operand and result."""
        accesses = [*(self.operands[0] or ()), *self.result]
        return all(each.width == 1 or each.index is not None for each in accesses)

    @cached_property
    def padded(self) -> Mapping[int, int]:
        """The extents of the first operand along axes that it pads by itself."""
        return padded_extents(self._op)

    @cached_property
    def is_product(self) -> bool:
        """True if it is a contraction: a sum of products."""
        return isinstance(self._op, ContractionInterface)

    @cached_property
    def is_accumulating(self) -> bool:
        """True if it combines many values into one."""
        return isinstance(self._op, AccumulatingInterface)

    @cached_property
    def is_elementwise(self) -> bool:
        """True if each element of the result is computed from one of each operand."""
        return isinstance(self._op, ElementwiseInterface)

    @cached_property
    def is_joining(self) -> bool:
        """True if it concatenates several tensors into one."""
        return isinstance(self._op, JoiningInterface)

    @cached_property
    def temporaries(self) -> int:
        """The values between the scalar operations of an elementwise one."""
        if not isinstance(self._op, ElementwiseInterface):
            return 0
        return max(0, self._op.scalar_operations() - 1)

    @cached_property
    def rounds(self) -> bool:
        """True if it rounds each element of f32 to 16 bits, and does nothing else."""
        op = self._op
        if not isinstance(op, ElementwiseInterface) or len(op.operands) != 1:
            return False
        source, result = tensor_type(op.operands[0]), tensor_type(op.results[0])
        if source.element_type != f32 or not is_half(result.element_type):
            return False
        return [type(each) for each in op.scalar_body().ops] == [arith.TruncFOp]

    def border(self, operand: int) -> Scalar | None:
        """Return the value that elements outside of an operand must read as."""
        if operand not in self._borders:
            self._borders[operand] = self._op.border(operand)
        return self._borders[operand]

    def _places(self, kind: IteratorKind) -> tuple[int, ...]:
        return tuple(n for n, each in enumerate(self.iterators) if each.kind is kind)


class Forms:
    """
    The forms of operations, as long as these stay what they are. Those that only differ
    in their values share one.
    """

    def __init__(self) -> None:
        self._kinds = Kinds()
        self._forms: dict[int, Form] = {}
        self._known: dict[TilingInterface, Form] = {}

    def of(self, op: TilingInterface) -> Form:
        """Return the form of an operation."""
        if (known := self._known.get(op)) is None:
            kind = self._kinds.of(op)
            known = self._known[op] = self._forms.setdefault(kind, Form(op))
        return known
