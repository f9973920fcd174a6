"""
Emission of kernel grids in Triton code: trip counts, axis order and iteration of each
program.
"""

import math
from collections.abc import Sequence
from typing import cast

from xdsl.dialects import scf
from xdsl.dialects.builtin import DenseArrayBase, IntegerAttr, StringAttr
from xdsl.ir import Operation
from xdsl.utils.exceptions import DiagnosticException

from tlf.lowering.mem_to_triton.index_expressions import IndexExpr, IndexTable
from tlf.lowering.mem_to_triton.python_source import PythonSource


def mapping_of(op: Operation) -> str:
    """Return the attribute `mapping` of a loop, `loop` by default."""
    mapping = op.attributes.get("mapping")
    return mapping.data if isinstance(mapping, StringAttr) else "loop"


def axis_order_of(op: scf.ParallelOp) -> Sequence[int]:
    """
    Return the axes of a nest, outermost first: its attribute `order`, or axis order.
    """
    order = op.attributes.get("order")
    rank = len(op.lowerBound)
    if not isinstance(order, DenseArrayBase):
        return range(rank)
    axes = cast(Sequence[int], order.get_values())
    if sorted(axes) != list(range(rank)):
        raise DiagnosticException(
            f"scf.parallel: expected an order of {rank} axes, got {list(axes)}"
        )
    return axes


def trip_counts(op: scf.ParallelOp, indices: IndexTable) -> list[int]:
    """Return the trip count of each axis of a grid, which must be constant."""
    counts: list[int] = []
    for bounds in zip(op.lowerBound, op.upperBound, op.step, strict=True):
        low, high, step = (indices.of(value).constant for value in bounds)
        if low is None or high is None or step is None or step < 1:
            raise DiagnosticException(
                "scf.parallel: expected constant bounds of a grid"
            )
        counts.append(max(0, -(-(high - low) // step)))
    return counts


def program_indices(
    source: PythonSource, op: scf.ParallelOp, program: IndexExpr, counts: Sequence[int]
) -> dict[int, IndexExpr]:
    """
    Return the iteration index along each axis for a program id. `counts` are the trip
    counts of the axes.

    Program ids follow the axis order, last axis fastest. The attribute `group` is the
    number of iterations of the second to last axis per iteration of the last axis.
    """
    attribute = op.attributes.get("group")
    group = attribute.value.data if isinstance(attribute, IntegerAttr) else 1
    *outer, last = axis_order_of(op)
    indices: dict[int, IndexExpr] = {}
    inner = math.prod(counts)
    for position, axis in enumerate(outer):
        if position == len(outer) - 1 and min(group, counts[axis], counts[last]) > 1:
            pair = _swizzle_program(
                source, program, (counts[axis], counts[last]), group
            )
            return indices | dict(zip((axis, last), pair, strict=True))
        inner = max(1, inner // max(1, counts[axis]))
        indices[axis], program = program.floordiv(inner), program.modulo(inner)
    return indices | {last: program}


def _swizzle_program(
    source: PythonSource, program: IndexExpr, counts: tuple[int, int], group: int
) -> tuple[IndexExpr, IndexExpr]:
    """Return the row and column of a program in grouped (swizzled) order."""
    rows, columns = counts
    group = min(group, rows)
    first = program.floordiv(group * columns) * IndexExpr.of(group)
    within = program.modulo(group * columns)
    if not within.is_atom:
        name = source.assign("g", within.text)
        within = IndexExpr(name, within.low, within.high)
    if rows % group == 0:
        return first + within.modulo(group), within.floordiv(group)
    # The last group has fewer rows.
    size = source.assign("g", f"tl.minimum({rows} - {first.atom}, {group})")
    return (
        IndexExpr(f"{first.text} + {within.text} % {size}", 0, rows - 1, False),
        IndexExpr(f"{within.text} // {size}", 0, columns - 1, False),
    )
