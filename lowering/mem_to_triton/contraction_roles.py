"""Roles of a contraction's dimensions: batch, rows, columns, depth, one-sided."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from tlf.dialects import mem
from tlf.lowering.mem_to_triton.tile_broadcasting import domain_dims_of

DomainDims: TypeAlias = tuple[int | None, ...]
"""The dimension of the domain along each axis of an operand; None for extent 1."""


@dataclass(frozen=True)
class ContractionRoles:
    """The roles of a contraction's dimensions of more than one iteration."""

    extents: tuple[int, ...]
    batch: tuple[int, ...]
    """In both inputs and the output."""
    rows: tuple[int, ...]
    """In the left input and the output."""
    columns: tuple[int, ...]
    """In the right input and the output."""
    depth: tuple[int, ...]
    """In both inputs, summed over."""
    alone: tuple[int, ...]
    """In one input, summed over."""
    others: tuple[int, ...]
    """In neither input: the products repeat along them."""

    @staticmethod
    def of(op: mem.ContractOp) -> "ContractionRoles":
        """
        Sort the dimensions; within a role they keep the order of the output, or of the
        left input. Raises `DiagnosticException` for inputs read through windows.
        """
        lhs, rhs, acc = (domain_dims_of(indexing, op.extents) for indexing in op.maps)
        long = [dim for dim, extent in enumerate(op.extents) if extent > 1]
        kept = [dim for dim in acc if dim in long]
        summed = [dim for dim in lhs if dim in long and dim not in acc]
        return ContractionRoles(
            op.extents,
            tuple(dim for dim in kept if dim in lhs and dim in rhs),
            tuple(dim for dim in kept if dim in lhs and dim not in rhs),
            tuple(dim for dim in kept if dim in rhs and dim not in lhs),
            tuple(dim for dim in summed if dim in rhs),
            tuple(d for d in long if d not in acc and (d in lhs) != (d in rhs)),
            tuple(dim for dim in long if dim not in lhs and dim not in rhs),
        )

    def swap_operands(self) -> "ContractionRoles":
        """Return the roles with swapped operands."""
        return replace(self, rows=self.columns, columns=self.rows)

    def extent_of(self, dims: Sequence[int]) -> int:
        """
        The number of iterations along several dimensions.
        """
        return math.prod(self.extents[dim] for dim in dims)
