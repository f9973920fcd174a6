"""Analysis of single operations: cached results of their tiling interface."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property

from xdsl.dialects import arith
from xdsl.dialects.builtin import f32

from tlf.analysis.operations.banded_matmul import Windows, iterator_role_of
from tlf.analysis.operations.op_kinds import OpKinds
from tlf.dialects.concat_like_interface import ConcatLikeInterface
from tlf.dialects.interfaces import (
    AccumulatingInterface,
    ConstantInterface,
    ContractionInterface,
    DelinearizedReadInterface,
    ElementwiseInterface,
    IteratorType,
    LoopDim,
    MovementInterface,
    Scalar,
    ScanInterface,
    TilingInterface,
    ViewInterface,
)
from tlf.dialects.padding_interface import implicitly_padded_extents
from tlf.dialects.slice_views import is_unit_stride_slice
from tlf.dialects.types import is_16_bit_float, itemsize_of, tensor_type
from tlf.support.affine.delinearized_access import DelinearizedAccess
from tlf.support.affine.index_access import Accesses, intern_accesses

NO_INSTRUCTION_OPS = ConstantInterface | ViewInterface | ConcatLikeInterface
"""
Operations without an instruction: their results are buffers or subviews of buffers.
"""


class OpFacts:
    """
    Cached facts about an operation, valid as long as its properties and types do not
    change.
    """

    def __init__(self, op: TilingInterface) -> None:
        self._op = op
        self._borders: dict[int, Scalar | None] = {}

    @cached_property
    def iteration_domain(self) -> tuple[LoopDim, ...]:
        """Iteration domain."""
        return self._op.iteration_domain()

    @cached_property
    def extents(self) -> tuple[int, ...]:
        """Extents of the iterators."""
        return tuple(each.extent for each in self.iteration_domain)

    @cached_property
    def parallel_dims(self) -> tuple[int, ...]:
        """Indices of the parallel iterators."""
        return self._dims_of_kind(IteratorType.PARALLEL)

    @property
    def parallel_extents(self) -> tuple[int, ...]:
        """Extents of the parallel iterators."""
        return tuple(self.extents[dim] for dim in self.parallel_dims)

    @cached_property
    def reduction_dims(self) -> tuple[int, ...]:
        """Indices of the reduction iterators."""
        return self._dims_of_kind(IteratorType.REDUCTION)

    @property
    def reduction_extents(self) -> tuple[int, ...]:
        """Extents of the reduction iterators."""
        return tuple(self.extents[dim] for dim in self.reduction_dims)

    @cached_property
    def untileable_dims(self) -> dict[int, str]:
        """Iterators that cannot be tiled, with the reason."""
        return self._op.untileable_dims()

    @cached_property
    def scan_iterator(self) -> int | None:
        """Iterator along which a scan combines elements; None for other operations."""
        op = self._op
        return op.scan_iterator if isinstance(op, ScanInterface) else None

    @cached_property
    def indexing_maps(self) -> tuple[Accesses | None, ...]:
        """
        Indexing map of each operand, interned; None for operands other than tensors.
        """
        return tuple(
            each if each is None else intern_accesses(each)
            for each in self._op.indexing_maps()
        )

    @cached_property
    def result_map(self) -> Accesses:
        """Accesses of an iteration to the first result."""
        return intern_accesses(self._op.result_indexing_maps()[0])

    @cached_property
    def iterator_roles(self) -> tuple[str, ...]:
        """
        Roles of a product's iterators, by their operands: `m`, `n`, `k` or `batch`.
        """
        left, right = self.indexing_maps[:2]
        return tuple(
            iterator_role_of(
                any(each.depends_on({iterator}) for each in accesses or ())
                for accesses in (self.result_map, left, right)
            )
            for iterator in range(len(self.extents))
        )

    @cached_property
    def windows(self) -> Windows | None:
        """
        Sliding windows of a contraction; None if it has none, or for other operations.
        """
        if not self.is_product:
            return None
        return Windows.find_windows(
            self.iterator_roles, self.indexing_maps, self.result_map
        )

    @cached_property
    def shape(self) -> tuple[int, ...]:
        """Shape of the first result."""
        return tensor_type(self._op.results[0]).get_shape()

    @cached_property
    def itemsize(self) -> int:
        """Bytes per element of the first result."""
        return itemsize_of(self._op.results[0])

    @cached_property
    def needs_no_instruction(self) -> bool:
        """True if the operation takes no instruction."""
        return isinstance(self._op, NO_INSTRUCTION_OPS)

    @cached_property
    def is_unit_stride_slice(self) -> bool:
        """True if tiles of its result are tiles of its operand."""
        return is_unit_stride_slice(self._op)

    @cached_property
    def is_buffer_view(self) -> bool:
        """True if the result is a view of a buffer or of a subview."""
        return self.needs_no_instruction or self.is_unit_stride_slice

    @cached_property
    def is_movement(self) -> bool:
        """True if the operation moves elements."""
        return isinstance(self._op, MovementInterface)

    @cached_property
    def delinearized_access(self) -> DelinearizedAccess | None:
        """Accesses of a delinearized read to its source; None for other operations."""
        if not isinstance(self._op, DelinearizedReadInterface):
            return None
        return self._op.delinearized_access

    @cached_property
    def is_elementwise_move(self) -> bool:
        """
        True if each iteration accesses one element of the first operand and of the
        result.
        """
        accesses = [*(self.indexing_maps[0] or ()), *self.result_map]
        return isinstance(self._op, DelinearizedReadInterface) or all(
            each.width == 1 or each.index is not None for each in accesses
        )

    @cached_property
    def padded_extents(self) -> Mapping[int, int]:
        """Extents of the first operand along axes that the operation pads itself."""
        return implicitly_padded_extents(self._op)

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
    def is_concat(self) -> bool:
        """True if it concatenates several tensors into one."""
        return isinstance(self._op, ConcatLikeInterface)

    @cached_property
    def temporary_count(self) -> int:
        """
        Number of temporaries between the scalar operations of an elementwise operation.
        """
        if not isinstance(self._op, ElementwiseInterface):
            return 0
        return max(0, self._op.count_scalar_operations() - 1)

    @cached_property
    def is_rounding_cast(self) -> bool:
        """True if the operation only rounds each element from f32 to a 16-bit float."""
        op = self._op
        if not isinstance(op, ElementwiseInterface) or len(op.operands) != 1:
            return False
        source, result = tensor_type(op.operands[0]), tensor_type(op.results[0])
        if source.element_type != f32 or not is_16_bit_float(result.element_type):
            return False
        return [type(each) for each in op.build_scalar_body().ops] == [arith.TruncFOp]

    def padding_value(self, operand: int) -> Scalar | None:
        """Return the value that out-of-bounds elements of an operand must have."""
        if operand not in self._borders:
            self._borders[operand] = self._op.padding_value(operand)
        return self._borders[operand]

    def _dims_of_kind(self, kind: IteratorType) -> tuple[int, ...]:
        return tuple(
            dim for dim, each in enumerate(self.iteration_domain) if each.kind is kind
        )


class OpFactsCache:
    """
    Cache of facts about operations; operations that differ only in their values share
    one entry.
    """

    def __init__(self) -> None:
        self._kinds = OpKinds()
        self._forms: dict[int, OpFacts] = {}
        self._known: dict[TilingInterface, OpFacts] = {}

    def facts_of(self, op: TilingInterface) -> OpFacts:
        """
        Return the cached facts about an operation, common to all operations of its
        kind.
        """
        if (known := self._known.get(op)) is None:
            kind = self._kinds.kind_of(op)
            known = self._known[op] = self._forms.setdefault(kind, OpFacts(op))
        return known
