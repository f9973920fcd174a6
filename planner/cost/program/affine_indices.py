"""
Cost model of NPU tile programs: index operations read as affine functions of loop
counters.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.affine import ApplyOp
from xdsl.ir import Operation, SSAValue
from xdsl.utils.exceptions import PassFailedException

from tlf.dialects.affine_values import affine_sum_of_map
from tlf.dialects.mixed_offsets import Index
from tlf.planner.cost.program.instruction_nests import LoopCounter
from tlf.support.affine.index_access import AffineSum


class UnpredictableTimeError(PassFailedException):
    """A tile program whose time cannot be estimated."""

    def __init__(self, op: Operation, message: str) -> None:
        super().__init__(f"{op.name}: {message}")


class AffineIndices:
    """Map from the index values of a function to affine sums of loop counters."""

    def __init__(self) -> None:
        self.known: dict[SSAValue, AffineSum] = {}

    def bind_counter(self, value: SSAValue, counter: LoopCounter) -> None:
        """Record a value as the counter of a loop, or as constant for a single trip."""
        if counter.trips == 1:
            self.known[value] = AffineSum(counter.lower)
        else:
            self.known[value] = AffineSum.of_symbol(counter)

    def to_affine_sum(self, index: Index) -> AffineSum:
        """Return an index as an affine sum of loop counters; raise if it is none."""
        if isinstance(index, int):
            return AffineSum(index)
        if index not in self.known and isinstance(owner := index.owner, ApplyOp):
            self.record_affine_apply(owner)
        if (known := self.known.get(index)) is None:
            user = next(iter(index.uses)).operation
            raise UnpredictableTimeError(
                user, "expected an affine index of loop counters"
            )
        return known

    def to_affine_sums(self, indices: Sequence[Index]) -> tuple[AffineSum, ...]:
        """Return indices as affine functions of loop counters."""
        return tuple(self.to_affine_sum(index) for index in indices)

    def record_affine_apply(self, op: ApplyOp) -> None:
        """Record the result of an `affine.apply` as an affine sum of loop counters."""
        operands = [self.to_affine_sum(each) for each in op.mapOperands]
        if (form := affine_sum_of_map(op.map.data, operands)) is None:
            raise UnpredictableTimeError(
                op, f"expected a linear index, got {op.map.data.results[0]}"
            )
        self.known[op.result] = form
