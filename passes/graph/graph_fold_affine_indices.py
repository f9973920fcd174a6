"""Tabulation of values that depend on indices by a sum of them alone."""

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

from tlf.analysis.work.once import FUNCTION, effort
from tlf.dialects import graph
from tlf.dialects.graph.ramps import Ramp, ramp_of
from tlf.dialects.interfaces import (
    ConstantInterface,
    ElementwiseInterface,
    Scalar,
    indexing_map,
)
from tlf.dialects.types import like, scalar_value, tensor_type
from tlf.passes.graph.graph_fold_constants import constant_values
from tlf.support.affine.access import Access, identity

NAME = "graph-fold-affine-indices"

REPEATED = 2
"""So many times less has to be computed."""

MOST = 64
"""So many operations are looked at for one value."""


@dataclass
class Sum:
    """
    A tensor whose elements depend on indices by `sum(factors[axis] * index[axis])`
    alone: what computes it, and where that starts.
    """

    factors: tuple[int, ...]
    """Without a common divisor."""
    shape: tuple[int, ...]
    leaves: dict[SSAValue, Ramp] = field(default_factory=dict[SSAValue, Ramp])
    numbers: set[SSAValue] = field(default_factory=set[SSAValue])
    """Constants, all of whose elements are one."""
    steps: list[ElementwiseInterface] = field(
        default_factory=list[ElementwiseInterface]
    )
    """In the order in which they are computed."""
    looked: int = 0
    """Number of operations examined, these and others."""

    @property
    def along(self) -> Ramp:
        """The sum itself."""
        return Ramp.of(0, self.factors, self.shape)

    @property
    def extent(self) -> int:
        """Number of values from the least to the greatest sum."""
        least, most = self.along.bounds
        return most - least + 1

    @staticmethod
    def of(value: SSAValue) -> Sum | None:
        """
        Return the sum of indices along several axes that a tensor is computed from, if
        it is and computing the tensor by that sum pays; else None.
        """
        shape = tuple(tensor_type(value).get_shape())
        found = Sum((0,) * len(shape), shape)
        if not found._gather(value) or sum(map(bool, found.factors)) < 2:
            return None
        if REPEATED * found.extent > prod(shape):
            return None
        times = map(found._times, found.leaves.values())
        return None if None in times else found

    def _gather(self, value: SSAValue) -> bool:
        """
        Collect the operations that compute a value. Return `True` if all are known.
        """
        if value in self.leaves or value in self.numbers:
            return True
        op = value.owner
        if isinstance(op, ConstantInterface) and op.splat() is not None:
            self.numbers.add(value)
            return True
        if (ramp := ramp_of(value)) is not None:
            self.leaves[value] = ramp = ramp.spread(self.shape)
            if any(ramp.factors) and not any(self.factors):
                divisor = gcd(*ramp.factors)
                self.factors = tuple(each // divisor for each in ramp.factors)
            return True
        if op in self.steps:
            return True
        self.looked += 1
        if not isinstance(op, ElementwiseInterface) or self.looked > MOST:
            return False
        if len(op.results) > 1 or not all(map(self._gather, op.operands)):
            return False
        self.steps.append(op)
        return True

    def _times(self, ramp: Ramp) -> int | None:
        """Return the factor of the sum in a ramp, or None if it is not a multiple."""
        axis = next(n for n, factor in enumerate(self.factors) if factor)
        times, rest = divmod(ramp.factors[axis], self.factors[axis])
        is_multiple = not rest and ramp.factors == self.along.times(times).factors
        return times if is_multiple else None

    def build(self, value: SSAValue, builder: Builder) -> SSAValue:
        """Compute a value for each sum, the least first."""
        made: dict[SSAValue, SSAValue] = {}
        least, _ = self.along.bounds
        for leaf, ramp in self.leaves.items():
            times = self._times(ramp)
            assert times is not None
            one = Ramp.of(ramp.start + times * least, [times], [self.extent])
            made[leaf] = _ramp(one, leaf, builder)
        for number in self.numbers:
            made[number] = _number(number, builder)
        for step in self.steps:
            made[step.results[0]] = self._step(step, made, builder)
        return made[value]

    def _step(
        self,
        step: ElementwiseInterface,
        made: Mapping[SSAValue, SSAValue],
        builder: Builder,
    ) -> SSAValue:
        operands = [made[each] for each in step.operands]
        ranks = [tensor_type(each).get_num_dims() for each in operands]
        model = tensor_type(step.results[0])
        shape = [self.extent] if any(ranks) else []
        new = type(step).create(
            operands=operands,
            result_types=[like(model, shape, model.element_type)],
            properties=dict(step.properties),
            attributes=dict(step.attributes),
        )
        new.location = step.location
        return builder.insert(new).results[0]

    def place(self, axis: int) -> Access:
        """
        Return the access to the value of an element, whose first index is iterator
        `axis`.
        """
        least, _ = self.along.bounds
        pairs = enumerate(self.factors)
        terms = tuple((axis + each, factor) for each, factor in pairs if factor)
        return Access(terms, -least)


def _ramp(ramp: Ramp, model: SSAValue, builder: Builder) -> SSAValue:
    """A ramp along one axis, of the element type of a value."""
    type_ = tensor_type(model)
    if ramp.number is not None:
        return _constant(ramp.start, model, builder)
    wide = like(type_, ramp.shape, i64)
    value = builder.insert(graph.IotaOp(wide, 0)).result
    times = _constant(ramp.factors[0], value, builder)
    start = _constant(ramp.start, value, builder)
    value = builder.insert(graph.MulOp(value, times)).result
    value = builder.insert(graph.AddOp(value, start)).result
    return builder.insert(graph.CastOp(value, type_.element_type)).result


def _number(value: SSAValue, builder: Builder) -> SSAValue:
    """A constant as a single number."""
    op = value.owner
    assert isinstance(op, ConstantInterface)
    splat = op.splat()
    assert splat is not None
    return _constant(scalar_value(splat), value, builder)


def _constant(number: Scalar, model: SSAValue, builder: Builder) -> SSAValue:
    type_ = TensorType(tensor_type(model).element_type, [])
    return builder.insert(graph.ConstantOp.filled(number, type_)).result


def fold_taken(op: graph.TakeOp) -> None:
    """Take slices once for each sum of indices, and gather them by a map."""
    if (found := Sum.of(op.indices)) is None:
        return
    builder = Builder(InsertPoint.before(op))
    axis, shape = op.axis.value.data, tensor_type(op.result).get_shape()
    taken = graph.TakeOp(op.operand, found.build(op.indices, builder), axis)
    taken.location = op.location
    builder.insert(taken)
    rank = tensor_type(taken.result).get_num_dims()
    own, behind = identity(len(shape)), len(shape) - (rank - axis - 1)
    accesses = (*own[:axis], found.place(axis), *own[behind:])
    _replace(op, taken.result, accesses, builder)


def fold_computed(op: ElementwiseInterface) -> None:
    """Compute once for each sum of indices, and gather that by a map."""
    if (found := Sum.of(op.results[0])) is None:
        return
    work = sum(effort(step) // prod(found.shape) for step in found.steps)
    if work < FUNCTION:
        return
    builder = Builder(InsertPoint.before(op))
    computed = found.build(op.results[0], builder)
    _replace(op, computed, (found.place(0),), builder)


def _replace(
    op: Operation, source: SSAValue, accesses: Sequence[Access], builder: Builder
) -> None:
    """Replace an operation by a gather with a map."""
    shape = tensor_type(op.results[0]).get_shape()
    map_ = indexing_map(tuple(accesses), len(shape)).data
    made = builder.insert(graph.UnfoldOp(source, map_, shape))
    made.location = op.location
    made.result.name_hint = op.results[0].name_hint
    graph.remark(op, NAME, "passed", "computed once for each sum of indices")
    op.results[0].replace_all_uses_with(made.result)
    Rewriter.erase_op(op)


@dataclass(frozen=True)
class GraphFoldAffineIndicesPass(ModulePass):
    """
    Compute what depends on indices by a sum of them alone, such as by the distance of
    rows and columns, once for each value of that sum, and gather it by a map: what is
    taken of a table at such places, and functions that cost more than that. So there
    are as many buckets of relative positions as there are distances.
    """

    name = NAME

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in op.ops:
            if not isinstance(function, func.FuncOp):
                continue
            for block in function.body.blocks:
                _fold(block)


def _fold(block: Block) -> None:
    known = constant_values(block)
    for op in reversed(list(block.ops)):
        if isinstance(op, graph.TakeOp) and op.indices in known:
            fold_taken(op)
        elif isinstance(op, ElementwiseInterface) and _is_root(op, known):
            fold_computed(op)


def _is_root(op: ElementwiseInterface, known: Collection[SSAValue]) -> bool:
    """
    Return `True` if a value is computed from constants and used by an operation that is
    not.
    """
    (value,) = op.results
    users = (use.operation for use in value.uses)
    return value in known and any(
        each not in known for user in users for each in user.results
    )
