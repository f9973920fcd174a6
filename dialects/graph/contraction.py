"""
Operations `graph.contract` and `graph.matmul`: contractions of two tensors.

`graph.contract` is a general contraction, given by indexing maps; `graph.matmul` is the
batched matrix product.
"""

from __future__ import annotations

import abc
from collections.abc import Sequence

import numpy as np
from xdsl.dialects.builtin import (
    AffineMapAttr,
    ArrayAttr,
    StringAttr,
)
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.ir.affine import AffineDimExpr, AffineMap
from xdsl.irdl import (
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    prop_def,
    result_def,
    traits_def,
)
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from tlf.dialects.graph.accumulating_operation import AccumulatingOperation
from tlf.dialects.graph.array_contraction import contract_arrays
from tlf.dialects.graph.tensor_types import (
    NUMBERS,
    GraphTensorConstraint,
    element_type_of_value,
    format_shape,
    infer_result_type,
    shape_of,
    verify_same_element_types,
    verify_shape,
)
from tlf.dialects.interfaces import (
    Array,
    ContractionInterface,
    LoopDim,
    parallel_dim,
    reduction_dim,
)
from tlf.dialects.product_precision import verify_precision
from tlf.dialects.types import broadcast_shape
from tlf.support.affine.index_access import (
    Accesses,
    IndexAccess,
    broadcast_accesses,
    identity_accesses,
)


class ContractionOperation(AccumulatingOperation, ContractionInterface, abc.ABC):
    """
    Base of contractions: sums of products of `lhs` and `rhs`, added to `init`.

    The reference implementation ignores `precision` and multiplies in full precision.
    """

    lhs = operand_def(GraphTensorConstraint(NUMBERS))
    rhs = operand_def(GraphTensorConstraint(NUMBERS))
    init = opt_operand_def(GraphTensorConstraint(NUMBERS))

    input_precision = prop_def(
        StringAttr, default_value=StringAttr("ieee"), prop_name="precision"
    )

    result = result_def(GraphTensorConstraint(NUMBERS))

    traits = traits_def(Pure())

    @property
    def init_value(self) -> SSAValue | None:
        return self.init

    @property
    def precision(self) -> str:
        return self.input_precision.data

    def verify_(self) -> None:
        verify_same_element_types([self.lhs, self.rhs])
        verify_precision(self.precision)
        verify_shape(self.result, self.infer_result_shape())
        self.verify_accumulator_types()

    @abc.abstractmethod
    def infer_result_shape(self) -> tuple[int, ...]:
        """Infer the result shape; raise `VerifyException` if operands do not match."""

    @abc.abstractmethod
    def contract_operand_arrays(self, lhs: Array, rhs: Array) -> Array:
        """Compute the contraction without `init`, in the dtype of the arguments."""

    def compute_reference(self, *operands: Array) -> tuple[Array, ...]:
        work = self.reference_accumulator_dtype
        with np.errstate(all="ignore"):
            product = self.contract_operand_arrays(
                operands[0].astype(work), operands[1].astype(work)
            )
        return (self.combine_with_init(product, *operands[2:]),)


def _infer_contract_shape(
    maps: Sequence[AffineMap], shapes: Sequence[Sequence[int]]
) -> tuple[int, ...]:
    """Infer the shape of the result, given by the last map, from the input shapes."""
    extents = _infer_iterator_extents(maps, shapes)
    return tuple(extents[axis] for axis in _dims_used_by_map(maps[-1]))


def _dims_used_by_map(map_: AffineMap) -> tuple[int, ...]:
    return tuple(
        result.position for result in map_.results if isinstance(result, AffineDimExpr)
    )


def _infer_iterator_extents(
    maps: Sequence[AffineMap], shapes: Sequence[Sequence[int]]
) -> dict[int, int]:
    """
    Return the extent of each iterator that an input map uses; raise `VerifyException`
    if inputs disagree.
    """
    extents: dict[int, int] = {}
    for map_, shape in zip(maps, shapes, strict=False):
        for iterator, extent in zip(_dims_used_by_map(map_), shape, strict=True):
            if extents.setdefault(iterator, extent) != extent:
                raise VerifyException(
                    f"expected one extent for d{iterator}, "
                    f"got {extents[iterator]} and {extent}"
                )
    return extents


def _verify_indexing_maps(maps: Sequence[AffineMap], ranks: Sequence[int]) -> None:
    """
    Raise `VerifyException` unless there are 3 projected permutations from one domain,
    of the given `ranks`, and the two input maps use every dimension.
    """
    if len(maps) != 3:
        raise VerifyException(
            f"expected 3 maps, of two inputs and the result, got {len(maps)}"
        )
    for map_, rank in zip(maps, ranks, strict=True):
        if not map_.is_projected_permutation():
            raise VerifyException(f"expected a projected permutation, got {map_}")
        if map_.num_dims != maps[0].num_dims:
            raise VerifyException(
                f"expected maps from {maps[0].num_dims} dimensions, got {map_.num_dims}"
            )
        if len(map_.results) != rank:
            raise VerifyException(
                f"expected a map with {rank} results, one per axis, got {map_}"
            )
    read = {axis for map_ in maps[:2] for axis in _dims_used_by_map(map_)}
    if missing := sorted(set(range(maps[0].num_dims)) - read):
        raise VerifyException(
            f"expected an input that uses d{missing[0]}, got {maps[0]} and {maps[1]}"
        )


@irdl_op_definition
class ContractOp(ContractionOperation):
    """
    Contraction given by indexing maps of `lhs`, `rhs` and the result. Iterators that
    the map of the result does not use are summed over. Maps are projected permutations.

    ```mlir
    %c = graph.contract %a, %b maps [
        affine_map<(m, n, k) -> (m, k)>,
        affine_map<(m, n, k) -> (n, k)>,
        affine_map<(m, n, k) -> (m, n)>
      ] acc f32 : (tensor<4x8xbf16>, tensor<6x8xbf16>) -> tensor<4x6xbf16>
    ```
    """

    name = "graph.contract"

    maps = prop_def(ArrayAttr[AffineMapAttr])

    assembly_format = (
        "$lhs `,` $rhs (`init` $init^)? `maps` $maps (`acc` $acc^)?"
        " (`precision` $precision^)? attr-dict"
        " `:` functional-type(operands, results)"
    )

    def __init__(
        self,
        lhs: SSAValue | Operation,
        rhs: SSAValue | Operation,
        maps: Sequence[AffineMap],
        init: SSAValue | Operation | None = None,
        acc: Attribute | None = None,
        precision: str = "ieee",
        element: Attribute | None = None,
    ):
        inputs = [SSAValue.get(lhs), SSAValue.get(rhs)]
        ranks = [len(shape_of(value)) for value in inputs]
        _verify_indexing_maps(maps, [*ranks, len(maps[-1].results)])
        shape = _infer_contract_shape(maps, [shape_of(value) for value in inputs])
        result_element = (
            element_type_of_value(inputs[0]) if element is None else element
        )
        type_ = (
            infer_result_type(inputs, shape, result_element)
            if init is None
            else SSAValue.get(init).type
        )
        super().__init__(
            operands=[*inputs, init],
            properties={
                "maps": ArrayAttr([AffineMapAttr(each) for each in maps]),
                "acc": acc,
                "precision": StringAttr(precision),
            },
            result_types=[type_],
        )

    @property
    def affine_maps(self) -> tuple[AffineMap, ...]:
        """Indexing maps of `lhs`, `rhs` and the result."""
        return tuple(each.data for each in self.maps)

    def infer_result_shape(self) -> tuple[int, ...]:
        shapes = [shape_of(self.lhs), shape_of(self.rhs), shape_of(self.result)]
        _verify_indexing_maps(self.affine_maps, [len(shape) for shape in shapes])
        return _infer_contract_shape(self.affine_maps, shapes[:2])

    def iteration_domain(self) -> tuple[LoopDim, ...]:
        extents = _infer_iterator_extents(
            self.affine_maps, [shape_of(self.lhs), shape_of(self.rhs)]
        )
        parallel_axes = set(_dims_used_by_map(self.affine_maps[-1]))
        return tuple(
            (parallel_dim if axis in parallel_axes else reduction_dim)(extents[axis])
            for axis in range(self.affine_maps[0].num_dims)
        )

    def indexing_maps(self) -> tuple[Accesses, ...]:
        lhs, rhs, result = (
            tuple(IndexAccess.of_iterator(axis) for axis in _dims_used_by_map(map_))
            for map_ in self.affine_maps
        )
        return (lhs, rhs, result)[: len(self.operands)]

    def result_indexing_maps(self) -> tuple[Accesses, ...]:
        return (
            tuple(
                IndexAccess.of_iterator(axis)
                for axis in _dims_used_by_map(self.affine_maps[-1])
            ),
        )

    def contract_operand_arrays(self, lhs: Array, rhs: Array) -> Array:
        """Contract two arrays over the iterators that the result map does not use."""
        left, right, result = (
            list(_dims_used_by_map(map_)) for map_ in self.affine_maps
        )
        return contract_arrays(lhs, left, rhs, right, result)


def _infer_matmul_shape(lhs: Sequence[int], rhs: Sequence[int]) -> tuple[int, ...]:
    """
    Return the shape of a batched matrix product; raise `VerifyException` if the ranks
    or the inner extents do not match.
    """
    if len(lhs) < 2 or len(rhs) < 2:
        raise VerifyException(
            "expected operands of rank 2 or more, "
            f"got {format_shape(lhs)} and {format_shape(rhs)}"
        )
    if lhs[-1] != rhs[-2]:
        raise VerifyException(
            f"expected an rhs with {lhs[-1]} rows, one per column of the lhs, "
            f"got {rhs[-2]}"
        )
    return (*broadcast_shape(lhs[:-2], rhs[:-2]), lhs[-2], rhs[-1])


@irdl_op_definition
class MatmulOp(ContractionOperation):
    """
    Matrix product over the last two axes; leading axes broadcast as in numpy.

    ```mlir
    %c = graph.matmul %a, %b acc f32
        : (tensor<2x4x8xbf16>, tensor<8x6xbf16>) -> tensor<2x4x6xbf16>
    ```
    """

    name = "graph.matmul"

    assembly_format = (
        "$lhs `,` $rhs (`init` $init^)? (`acc` $acc^)? (`precision` $precision^)?"
        " attr-dict `:` functional-type(operands, results)"
    )

    def __init__(
        self,
        lhs: SSAValue | Operation,
        rhs: SSAValue | Operation,
        init: SSAValue | Operation | None = None,
        acc: Attribute | None = None,
        precision: str = "ieee",
        element: Attribute | None = None,
    ):
        inputs = [SSAValue.get(lhs), SSAValue.get(rhs)]
        shape = _infer_matmul_shape(shape_of(inputs[0]), shape_of(inputs[1]))
        result_element = (
            element_type_of_value(inputs[0]) if element is None else element
        )
        type_ = (
            infer_result_type(inputs, shape, result_element)
            if init is None
            else SSAValue.get(init).type
        )
        super().__init__(
            operands=[*inputs, init],
            properties={"acc": acc, "precision": StringAttr(precision)},
            result_types=[type_],
        )

    def infer_result_shape(self) -> tuple[int, ...]:
        return _infer_matmul_shape(shape_of(self.lhs), shape_of(self.rhs))

    def iteration_domain(self) -> tuple[LoopDim, ...]:
        parallel = (parallel_dim(extent) for extent in shape_of(self.result))
        return (*parallel, reduction_dim(shape_of(self.lhs)[-1]))

    def indexing_maps(self) -> tuple[Accesses, ...]:
        shape = shape_of(self.result)
        rank = len(shape)
        row, column, inner = (
            IndexAccess.of_iterator(axis) for axis in range(rank - 2, rank + 1)
        )
        lhs, rhs = (
            broadcast_accesses(shape_of(operand)[:-2], shape[:-2])
            for operand in (self.lhs, self.rhs)
        )
        accesses = ((*lhs, row, inner), (*rhs, inner, column), identity_accesses(rank))
        return accesses[: len(self.operands)]

    def result_indexing_maps(self) -> tuple[Accesses, ...]:
        return (identity_accesses(len(shape_of(self.result))),)

    def contract_operand_arrays(self, lhs: Array, rhs: Array) -> Array:
        return np.matmul(lhs, rhs)
