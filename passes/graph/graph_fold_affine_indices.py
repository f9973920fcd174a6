"""
Pass `graph-fold-affine-indices`: tabulates functions of a linear index combination.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from math import gcd, prod

from xdsl.builder import Builder
from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp, TensorType, i64
from xdsl.ir import Block, Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter

from tlf.analysis.work.precompute_profit import FUNCTION_COST, cost_in_additions
from tlf.dialects import graph
from tlf.dialects.graph.affine_tensors import AffineTensor, affine_tensor_of
from tlf.dialects.interfaces import (
    ElementwiseInterface,
    Scalar,
    splat_attribute_of,
    to_affine_map,
)
from tlf.dialects.types import scalar_value, tensor_type, tensor_type_like
from tlf.passes.graph.graph_fold_constants import values_computed_from_constants
from tlf.support.affine.index_access import IndexAccess, identity_accesses

NAME = "graph-fold-affine-indices"

MIN_REUSE = 2
"""Minimum ratio of the elements of a tensor to the entries of its table."""

MAX_OPERATIONS = 64
"""Maximum number of operations visited for one value."""


@dataclass
class IndexCombination:
    """
    A tensor that is a function of `sum(coefficients[axis] * index[axis])` only, with
    the operations that compute it and their leaves.
    """

    coefficients: tuple[int, ...]
    """Coefficient of the index of each axis; the greatest common divisor is 1."""
    shape: tuple[int, ...]
    affine_leaves: dict[SSAValue, AffineTensor] = field(
        default_factory=dict[SSAValue, AffineTensor]
    )
    splat_constants: set[SSAValue] = field(default_factory=set[SSAValue])
    """Constants whose elements are all equal."""
    operations: list[ElementwiseInterface] = field(
        default_factory=list[ElementwiseInterface]
    )
    """Elementwise operations that compute the tensor, in order of dependence."""
    examined_count: int = 0
    """Number of operations examined, including the rejected ones."""

    @property
    def as_affine_tensor(self) -> AffineTensor:
        """The linear combination as an affine tensor."""
        return AffineTensor.from_coefficients(0, self.coefficients, self.shape)

    @property
    def value_range_extent(self) -> int:
        """
        Number of integers from the least to the greatest value of the combination.
        """
        least, most = self.as_affine_tensor.value_range
        return most - least + 1

    @staticmethod
    def find_in_tensor(value: SSAValue) -> IndexCombination | None:
        """
        Return the index combination that a tensor is a function of, if tabulating it
        pays; else None.
        """
        shape = tuple(tensor_type(value).get_shape())
        combination = IndexCombination((0,) * len(shape), shape)
        if (
            not combination._collect_operations_computing(value)
            or sum(map(bool, combination.coefficients)) < 2
        ):
            return None
        if MIN_REUSE * combination.value_range_extent > prod(shape):
            return None
        factors = map(
            combination._factor_to_affine_tensor, combination.affine_leaves.values()
        )
        return None if None in factors else combination

    def _collect_operations_computing(self, value: SSAValue) -> bool:
        """
        Collect the operations that compute a value. Return `True` if all of them are
        supported.
        """
        if value in self.affine_leaves or value in self.splat_constants:
            return True
        op = value.owner
        if splat_attribute_of(value) is not None:
            self.splat_constants.add(value)
            return True
        if (affine := affine_tensor_of(value)) is not None:
            self.affine_leaves[value] = affine = affine.broadcast_to(self.shape)
            if any(affine.coefficients) and not any(self.coefficients):
                divisor = gcd(*affine.coefficients)
                self.coefficients = tuple(
                    each // divisor for each in affine.coefficients
                )
            return True
        if op in self.operations:
            return True
        self.examined_count += 1
        if (
            not isinstance(op, ElementwiseInterface)
            or self.examined_count > MAX_OPERATIONS
        ):
            return False
        if len(op.results) > 1 or not all(
            map(self._collect_operations_computing, op.operands)
        ):
            return False
        self.operations.append(op)
        return True

    def _factor_to_affine_tensor(self, affine_tensor: AffineTensor) -> int | None:
        """Return the factor between an affine tensor and the combination, or None."""
        axis = next(n for n, factor in enumerate(self.coefficients) if factor)
        times, rest = divmod(affine_tensor.coefficients[axis], self.coefficients[axis])
        is_multiple = (
            not rest
            and affine_tensor.coefficients
            == self.as_affine_tensor.multiply_by_constant(times).coefficients
        )
        return times if is_multiple else None

    def build_table_of_value(self, value: SSAValue, builder: Builder) -> SSAValue:
        """Build the table of a value: an entry for each value of the combination."""
        tables: dict[SSAValue, SSAValue] = {}
        least, _ = self.as_affine_tensor.value_range
        for leaf, affine_tensor in self.affine_leaves.items():
            times = self._factor_to_affine_tensor(affine_tensor)
            assert times is not None
            tabulated = AffineTensor.from_coefficients(
                affine_tensor.constant_term + times * least,
                [times],
                [self.value_range_extent],
            )
            tables[leaf] = _build_affine_tensor(tabulated, leaf, builder)
        for constant in self.splat_constants:
            tables[constant] = _build_scalar_of_splat(constant, builder)
        for step in self.operations:
            tables[step.results[0]] = self._build_table_of_operation(
                step, tables, builder
            )
        return tables[value]

    def _build_table_of_operation(
        self,
        operation: ElementwiseInterface,
        tables: Mapping[SSAValue, SSAValue],
        builder: Builder,
    ) -> SSAValue:
        """Build `operation` on `tables`: one result entry per combination value."""
        operands = [tables[each] for each in operation.operands]
        ranks = [tensor_type(each).get_num_dims() for each in operands]
        model = tensor_type(operation.results[0])
        shape = [self.value_range_extent] if any(ranks) else []
        rebuilt = type(operation).create(
            operands=operands,
            result_types=[tensor_type_like(model, shape, model.element_type)],
            properties=dict(operation.properties),
            attributes=dict(operation.attributes),
        )
        rebuilt.location = operation.location
        return builder.insert(rebuilt).results[0]

    def index_access_to_table(self, axis: int) -> IndexAccess:
        """
        Return the access to the table entry of an element whose first index is iterator
        `axis`.
        """
        least, _ = self.as_affine_tensor.value_range
        pairs = enumerate(self.coefficients)
        terms = tuple((axis + each, factor) for each, factor in pairs if factor)
        return IndexAccess(terms, -least)


def _build_affine_tensor(
    affine_tensor: AffineTensor, element_type_source: SSAValue, builder: Builder
) -> SSAValue:
    """Build a one-dimensional affine tensor of the element type of a value."""
    type_ = tensor_type(element_type_source)
    if affine_tensor.uniform_value is not None:
        return _build_scalar_constant(
            affine_tensor.constant_term, element_type_source, builder
        )
    wide = tensor_type_like(type_, affine_tensor.shape, i64)
    value = builder.insert(graph.IotaOp(wide, 0)).result
    times = _build_scalar_constant(affine_tensor.coefficients[0], value, builder)
    start = _build_scalar_constant(affine_tensor.constant_term, value, builder)
    value = builder.insert(graph.MulOp(value, times)).result
    value = builder.insert(graph.AddOp(value, start)).result
    return builder.insert(graph.CastOp(value, type_.element_type)).result


def _build_scalar_of_splat(value: SSAValue, builder: Builder) -> SSAValue:
    """Build a scalar constant from a splat constant."""
    splat = splat_attribute_of(value)
    assert splat is not None
    return _build_scalar_constant(scalar_value(splat), value, builder)


def _build_scalar_constant(
    scalar: Scalar, element_type_source: SSAValue, builder: Builder
) -> SSAValue:
    type_ = TensorType(tensor_type(element_type_source).element_type, [])
    return builder.insert(graph.ConstantOp.from_splat(scalar, type_)).result


def tabulate_take(op: graph.TakeOp) -> None:
    """
    Take slices once for each value of an index combination, and gather these by a map.
    """
    if (found := IndexCombination.find_in_tensor(op.indices)) is None:
        return
    builder = Builder(InsertPoint.before(op))
    axis, shape = op.axis.value.data, tensor_type(op.result).get_shape()
    take = graph.TakeOp(
        op.operand, found.build_table_of_value(op.indices, builder), axis
    )
    take.location = op.location
    builder.insert(take)
    rank = tensor_type(take.result).get_num_dims()
    identity, inner = identity_accesses(len(shape)), len(shape) - (rank - axis - 1)
    accesses = (*identity[:axis], found.index_access_to_table(axis), *identity[inner:])
    _replace_by_map_gather(op, take.result, accesses, builder)


def tabulate_elementwise(op: ElementwiseInterface) -> None:
    """
    Compute the result once for each value of an index combination, and gather it by a
    map.
    """
    if (found := IndexCombination.find_in_tensor(op.results[0])) is None:
        return
    work = sum(
        cost_in_additions(step) // prod(found.shape) for step in found.operations
    )
    if work < FUNCTION_COST:
        return
    builder = Builder(InsertPoint.before(op))
    table = found.build_table_of_value(op.results[0], builder)
    _replace_by_map_gather(op, table, (found.index_access_to_table(0),), builder)


def _replace_by_map_gather(
    op: Operation, source: SSAValue, accesses: Sequence[IndexAccess], builder: Builder
) -> None:
    """Replace `op` by an unfold of `source` whose affine map gives the accesses."""
    shape = tensor_type(op.results[0]).get_shape()
    map_ = to_affine_map(tuple(accesses), len(shape)).data
    gather = builder.insert(graph.UnfoldOp(source, map_, shape))
    gather.location = op.location
    gather.result.name_hint = op.results[0].name_hint
    graph.add_remark(op, NAME, "passed", "computed once for each sum of indices")
    op.results[0].replace_all_uses_with(gather.result)
    Rewriter.erase_op(op)


@dataclass(frozen=True)
class GraphFoldAffineIndicesPass(ModulePass):
    """
    Tabulate functions of a linear combination of indices, such as the distance between
    row and column, and gather the entries by an indexing map.

    Applies to elements taken from a table at such indices, and to elementwise functions
    that cost more than the gather. Buckets of relative positions, for example, are
    computed once per distance.
    """

    name = NAME

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in op.ops:
            if not isinstance(function, func.FuncOp):
                continue
            for block in function.body.blocks:
                _tabulate_operations_of_block(block)


def _tabulate_operations_of_block(block: Block) -> None:
    """Tabulate takes and elementwise operations on constants, last ones first."""
    constants = values_computed_from_constants(block)
    for op in reversed(list(block.ops)):
        if isinstance(op, graph.TakeOp) and op.indices in constants:
            tabulate_take(op)
        elif isinstance(op, ElementwiseInterface) and _is_last_constant_operation(
            op, constants
        ):
            tabulate_elementwise(op)


def _is_last_constant_operation(
    op: ElementwiseInterface, constants: Collection[SSAValue]
) -> bool:
    """
    Return `True` if an operation is computed from constants and used by an operation
    that is not.
    """
    (value,) = op.results
    users = (use.operation for use in value.uses)
    return value in constants and any(
        each not in constants for user in users for each in user.results
    )
