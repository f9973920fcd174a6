"""Products of the `graph` dialect with a matrix of weights along one axis."""

from __future__ import annotations

from collections.abc import Callable

from xdsl.ir import Operation, SSAValue
from xdsl.ir.affine import AffineExpr, AffineMap

from tlf.dialects.graph.constant import ConstantOp
from tlf.dialects.graph.contraction import ContractOp
from tlf.dialects.graph.tensor_types import element_type_of_value, shape_of
from tlf.dialects.interfaces import Array
from tlf.dialects.types import dtype_of


def build_weighted_sums(
    insert: Callable[[Operation], SSAValue],
    value: SSAValue,
    axis: int,
    weights: Array,
) -> SSAValue:
    """
    Build sums along an axis, one per row of `weights`, which is result x extent, of
    operations that `insert` inserts and whose first results it returns.
    """
    rank, dtype = len(shape_of(value)), dtype_of(element_type_of_value(value))
    matrix = insert(ConstantOp(weights.astype(dtype)))
    dims = [AffineExpr.dimension(each) for each in range(rank + 1)]
    result = [*dims[:axis], dims[rank], *dims[axis + 1 : rank]]
    maps = [
        AffineMap(rank + 1, 0, tuple(results))
        for results in (dims[:rank], (dims[rank], dims[axis]), result)
    ]
    return insert(ContractOp(value, matrix, maps))
