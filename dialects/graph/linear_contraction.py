"""
Operation `graph.linear_contract`: contraction by linear indexing maps, as in strided
convolutions.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from math import ceil, prod

from xdsl.dialects.builtin import (
    AffineMapAttr,
    ArrayAttr,
    DenseArrayBase,
    StringAttr,
    i64,
)
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.ir.affine import AffineMap
from xdsl.irdl import irdl_op_definition, prop_def
from xdsl.utils.exceptions import VerifyException

from tlf.dialects.graph.array_contraction import contract_arrays
from tlf.dialects.graph.contraction import ContractionOperation
from tlf.dialects.graph.tensor_types import shape_of
from tlf.dialects.interfaces import (
    Array,
    LoopDim,
    parallel_dim,
    reduction_dim,
    to_affine_map,
)
from tlf.dialects.shared_attributes import share_integer_array
from tlf.support.affine.index_access import Accesses, IndexAccess
from tlf.support.affine.linear_access import (
    linear_accesses_of_map,
    verify_access_in_bounds,
    view_over_used_dims,
)


@irdl_op_definition
class LinearContractOp(ContractionOperation):
    """
    Contraction over a domain, given by linear maps of `lhs`, `rhs` and the result.

    Map results are linear expressions such as `d0 * 7 + d1`. Dimensions that the map of
    the result does not use are summed over. That map uses every other dimension once,
    and covers all elements of the result: along an axis `d0 * 7 + d1` the extent of d1
    is 7.

    ```mlir
    %c = graph.linear_contract %x, %w domain [4, 7, 9] maps [
        affine_map<(b, j, u) -> (b * 7 + u)>,
        affine_map<(b, j, u) -> (u - j + 6)>,
        affine_map<(b, j, u) -> (b * 7 + j)>
      ] acc f32 : (tensor<30xbf16>, tensor<15xbf16>) -> tensor<28xbf16>
    ```
    """

    name = "graph.linear_contract"

    domain = prop_def(DenseArrayBase.constr(i64))
    maps = prop_def(ArrayAttr[AffineMapAttr])

    assembly_format = (
        "$lhs `,` $rhs (`init` $init^)? `domain` $domain `maps` $maps (`acc` $acc^)?"
        " (`precision` $precision^)? attr-dict"
        " `:` functional-type(operands, results)"
    )

    def __init__(
        self,
        operands: Sequence[SSAValue | Operation],
        domain: Sequence[int],
        maps: Sequence[AffineMap],
        result_type: Attribute,
        acc: Attribute | None = None,
        precision: str = "ieee",
    ):
        """Create a contraction; `operands` are `lhs`, `rhs` and optionally `init`."""
        super().__init__(
            operands=[*operands, None][:3],
            properties={
                "domain": share_integer_array(domain),
                "maps": ArrayAttr([AffineMapAttr(each) for each in maps]),
                "acc": acc,
                "precision": StringAttr(precision),
            },
            result_types=[result_type],
        )

    @property
    def domain_extents(self) -> tuple[int, ...]:
        """Extent of the domain along each dimension."""
        return tuple(self.domain.get_values())

    @property
    def affine_maps(self) -> tuple[AffineMap, ...]:
        """Indexing maps of `lhs`, `rhs` and the result."""
        return tuple(each.data for each in self.maps)

    def infer_result_shape(self) -> tuple[int, ...]:
        """
        Return per axis the product of the extents of its dimensions; raise
        `VerifyException` if maps, domain and operands do not match.
        """
        extents, maps = self.domain_extents, self.affine_maps
        if len(maps) != 3:
            raise VerifyException(
                f"expected 3 maps, of two inputs and the result, got {len(maps)}"
            )
        if any(extent < 1 for extent in extents):
            raise VerifyException(f"expected positive extents, got {list(extents)}")
        for name, map_ in zip(("lhs", "rhs"), maps, strict=False):
            verify_access_in_bounds(map_, extents, shape_of(getattr(self, name)), name)
        verify_access_in_bounds(maps[2], extents, shape_of(self.result), "result")
        _verify_dims_are_read(maps, extents)
        orders = self._result_dim_orders
        result_dims = list(chain(*orders))
        if len(set(result_dims)) < len(result_dims):
            raise VerifyException(f"expected a dimension once in {maps[2]}")
        return tuple(prod(extents[each] for each in order) for order in orders)

    @property
    def _result_dim_orders(self) -> list[list[int]]:
        """Domain dimensions that share each axis of the result, outermost first."""
        result = self.affine_maps[2]
        return [
            _order_dims_of_result_axis(each, self.domain_extents, result)
            for each in linear_accesses_of_map(result)
        ]

    def iteration_domain(self) -> tuple[LoopDim, ...]:
        parallel_dims = self.affine_maps[2].used_dims()
        return tuple(
            (parallel_dim if dimension in parallel_dims else reduction_dim)(extent)
            for dimension, extent in enumerate(self.domain_extents)
        )

    def indexing_maps(self) -> tuple[Accesses, ...]:
        return tuple(map(linear_accesses_of_map, self.affine_maps))[
            : len(self.operands)
        ]

    def result_indexing_maps(self) -> tuple[Accesses, ...]:
        return (linear_accesses_of_map(self.affine_maps[2]),)

    def untileable_dims(self) -> dict[int, str]:
        """
        Return the dimensions that share an axis: all but the outermost of each result
        axis, and reduction dimensions of composite input axes.
        """
        reason = "it shares an axis with another one"
        orders = self._result_dim_orders
        shared = {
            dimension
            for each in chain(*map(linear_accesses_of_map, self.affine_maps[:2]))
            if each.loop_dim is None
            for dimension, _ in each.terms
        }
        shared.difference_update(chain(*orders))
        return dict.fromkeys(shared.union(*(order[1:] for order in orders)), reason)

    def tiled_implementation(
        self, operands: Sequence[SSAValue], result_types: Sequence[Attribute]
    ) -> Operation:
        new = super().tiled_implementation(operands, result_types)
        assert isinstance(new, LinearContractOp)
        extents = self._infer_tile_domain(
            [shape_of(each) for each in (*new.operands[:2], new.result)]
        )
        new.domain = share_integer_array(extents)
        tiles = (
            tuple(
                each.rebase_to_origin(extents) for each in linear_accesses_of_map(map_)
            )
            for map_ in self.affine_maps
        )
        new.maps = ArrayAttr([to_affine_map(each, len(extents)) for each in tiles])
        return new

    def _infer_tile_domain(self, shapes: Sequence[Sequence[int]]) -> list[int]:
        """Infer the domain of a tile from the shapes of its operands and result."""
        extents = list(self.domain_extents)
        for map_, shape in zip(self.affine_maps, shapes, strict=True):
            for each, extent in zip(linear_accesses_of_map(map_), shape, strict=True):
                if each.loop_dim is not None:
                    extents[each.loop_dim] = extent
        for order, remaining in zip(self._result_dim_orders, shapes[2], strict=True):
            for dimension in reversed(order[1:]):
                extents[dimension] = min(remaining, self.domain_extents[dimension])
                remaining = ceil(remaining / extents[dimension])
            if order:
                extents[order[0]] = remaining
        return extents

    def contract_operand_arrays(self, lhs: Array, rhs: Array) -> Array:
        """
        Contract strided views of two arrays over the dimensions that the result lacks.
        """
        (left, left_dims), (right, right_dims) = (
            view_over_used_dims(array, map_, self.domain_extents)
            for array, map_ in zip((lhs, rhs), self.affine_maps, strict=False)
        )
        result_dims = list(chain(*self._result_dim_orders))
        product = contract_arrays(left, left_dims, right, right_dims, result_dims)
        return product.reshape(shape_of(self.result))


def _order_dims_of_result_axis(
    access: IndexAccess, extents: Sequence[int], map_: AffineMap
) -> list[int]:
    """Return the dimensions of an axis of the result, outermost first."""
    order = sorted(access.terms, key=lambda term: -term[1])
    step = 1
    for dimension, coefficient in reversed(order):
        is_step = extents[dimension] == 1 or coefficient == step
        if not is_step or access.offset:
            raise VerifyException(
                f"expected every element of the result once, got {map_} over "
                f"{list(extents)}"
            )
        step *= extents[dimension]
    return [dimension for dimension, _ in order]


def _verify_dims_are_read(maps: Sequence[AffineMap], extents: Sequence[int]) -> None:
    """Raise `VerifyException` if no input map uses a dimension of extent above 1."""
    read = maps[0].used_dims() | maps[1].used_dims()
    several = {each for each, extent in enumerate(extents) if extent > 1}
    if missing := sorted(several - read):
        raise VerifyException(
            f"expected an input that uses d{missing[0]}, got {maps[0]} and {maps[1]}"
        )
