"""
Analysis in the lowering of contractions to Triton: roles of their dims as batch, rows,
columns, depth or one-sided.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from tlf.dialects import mem
from tlf.lowering.mem_to_triton.tile_broadcasting import domain_dims_of

DomainDims: TypeAlias = tuple[int | None, ...]
"""Dim of the domain along each axis of an operand; `None` for extent 1."""


@dataclass(frozen=True)
class ContractionRoles:
    """
    Roles in a matrix product of those dims of a `mem.contract` that have an extent over
    1.
    """

    extents: tuple[int, ...]
    batch: tuple[int, ...]
    """Dims of both inputs and the output."""
    rows: tuple[int, ...]
    """Dims of the left input and the output."""
    columns: tuple[int, ...]
    """Dims of the right input and the output."""
    depth: tuple[int, ...]
    """Reduction dims of both inputs."""
    one_sided: tuple[int, ...]
    """Reduction dims of one input only."""
    output_only: tuple[int, ...]
    """Dims of neither input: the products repeat along them."""

    @staticmethod
    def classify_dims(op: mem.ContractOp) -> "ContractionRoles":
        """
        Classify the dims of a contraction, in the order of the output, or of the left
        input for reduction dims. Raises `DiagnosticException` for inputs that are read
        through windows.
        """
        lhs, rhs, acc = (
            domain_dims_of(indexing, op.domain_extents) for indexing in op.maps
        )
        nonunit = [dim for dim, extent in enumerate(op.domain_extents) if extent > 1]
        output_dims = [dim for dim in acc if dim in nonunit]
        reduced = [dim for dim in lhs if dim in nonunit and dim not in acc]
        return ContractionRoles(
            op.domain_extents,
            tuple(dim for dim in output_dims if dim in lhs and dim in rhs),
            tuple(dim for dim in output_dims if dim in lhs and dim not in rhs),
            tuple(dim for dim in output_dims if dim in rhs and dim not in lhs),
            tuple(dim for dim in reduced if dim in rhs),
            tuple(d for d in nonunit if d not in acc and (d in lhs) != (d in rhs)),
            tuple(dim for dim in nonunit if dim not in lhs and dim not in rhs),
        )

    def swap_operands(self) -> "ContractionRoles":
        """Return the roles with swapped operands."""
        return replace(self, rows=self.columns, columns=self.rows)

    def iteration_count_along(self, dims: Sequence[int]) -> int:
        """Return the number of iterations along several dims."""
        return math.prod(self.extents[dim] for dim in dims)
