"""Analysis of loop nests that only accumulate sums in f32."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import Float32Type
from xdsl.ir import Block, Operation, SSAValue

from tlf.analysis.buffers.normalized_loops import loop_ranges_of
from tlf.dialects import mem
from tlf.dialects.target import TargetSpec
from tlf.dialects.types import itemsize_of, tensor_type
from tlf.dialects.value_users import single_user_of

MATRIX_DEPTH_BYTES = 32
"""Bytes of depth whose products a matrix instruction adds at once."""


@dataclass(frozen=True)
class AccumulatingNest:
    """Loops with constant bounds that carry nothing but sums in f32."""

    loops: tuple[scf.ForOp, ...]
    """Loops, outermost first."""
    iterations: tuple[range, ...]
    """Values of the induction variable of each loop."""
    additions_per_iteration: int
    """Additions to one accumulator in an iteration of the innermost loop."""

    @property
    def trip_counts(self) -> Sequence[int]:
        """Number of iterations of each loop."""
        return [len(each) for each in self.iterations]


def find_accumulating_nest(
    loop: scf.ForOp, target: TargetSpec | None
) -> AccumulatingNest | None:
    """Return the nest of a loop that only accumulates sums in f32, or None."""
    (counter,) = loop_ranges_of(loop)
    users = [single_user_of(each) for each in loop.body.block.args[1:]]
    if not users or not counter.values:
        return None
    if isinstance(inner := users[0], scf.ForOp):
        if not all(each is inner for each in users) or not _passes_on_totals(
            loop, inner
        ):
            return None
        if (nest := find_accumulating_nest(inner, target)) is None:
            return None
        return AccumulatingNest(
            (loop, *nest.loops),
            (counter.values, *nest.iterations),
            nest.additions_per_iteration,
        )
    counts = [
        _additions_to_accumulator(user, argument, target)
        for user, argument in zip(users, loop.body.block.args[1:], strict=True)
    ]
    known = [each for each in counts if each is not None]
    yielded = _yielded_values(loop.body.block)
    results = [each.results[0] for each in users if each is not None and each.results]
    if len(known) < len(users) or yielded != results:
        return None
    return AccumulatingNest((loop,), (counter.values,), max(known))


def _yielded_values(block: Block) -> list[SSAValue]:
    """Return the values that the terminator of a loop body yields."""
    return [] if block.last_op is None else list(block.last_op.operands)


def _passes_on_totals(loop: scf.ForOp, inner: scf.ForOp) -> bool:
    """Return `True` if an inner loop updates all carried values, and nothing else."""
    carried = list(loop.body.block.args[1:])
    return (
        list(inner.iter_args) == carried
        and _yielded_values(loop.body.block) == list(inner.results)
        and all(single_user_of(each) is not None for each in inner.results)
    )


def _additions_to_accumulator(
    op: Operation | None, accumulator: SSAValue, target: TargetSpec | None
) -> int | None:
    """
    Return the number of sequential additions of an operation to its accumulator; None
    if it does anything else with the value, or other operations read its result.
    """
    is_plain = (
        isinstance(op, mem.ContractOp | mem.ReduceOp)
        and list(op.output_operands) == [accumulator]
        and len(op.results) == 1
        and single_user_of(op.results[0]) is not None
        and isinstance(tensor_type(accumulator).element_type, Float32Type)
    )
    if not is_plain:
        return None
    if isinstance(op, mem.ContractOp):
        return _additions_of_contraction(op, target)
    assert isinstance(op, mem.ReduceOp)
    return 1 if isinstance(op.combiners[0], arith.AddfOp) else None


def _additions_of_contraction(op: mem.ContractOp, target: TargetSpec | None) -> int:
    """
    Return the number of sequential additions of a contraction: one per product, or per
    matrix instruction. Threads sum small contractions in parallel.
    """
    if not _is_matrix_product(op, target):
        return 1
    *_, depth = _matrix_extents_of(op)
    if is_multiplied_by_lanes(op, target):
        return depth
    return -(-depth * itemsize_of(op.lhs) // MATRIX_DEPTH_BYTES)


def is_multiplied_by_lanes(op: mem.ContractOp, target: TargetSpec | None) -> bool:
    """
    Return `True` if a contraction is a matrix product in a type without matrix
    instructions.
    """
    is_f32 = isinstance(op.input_types[0].element_type, Float32Type)
    return is_f32 and op.precision == "ieee" and _is_matrix_product(op, target)


def _is_matrix_product(op: mem.ContractOp, target: TargetSpec | None) -> bool:
    """Return `True` if rows, columns and depth have the minimum of the target."""
    minimum = 1 if target is None else target.tiling.matrix_minimum
    return min(_matrix_extents_of(op)) >= minimum


def _matrix_extents_of(op: mem.ContractOp) -> tuple[int, int, int]:
    """Return the rows, columns and depth of a contraction as a matrix product."""
    lhs, rhs, acc = ({*each.used_dims()} for each in op.maps)
    rows, columns, depth = (
        prod(op.domain_extents[dim] for dim in dims)
        for dims in (acc - rhs, acc - lhs, (lhs | rhs) - acc)
    )
    return rows, columns, depth
