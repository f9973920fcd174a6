"""
Emission of kernel grids in Triton code: trip counts, axis order and iteration of each
program.
"""

import math
from collections.abc import Sequence
from typing import cast

from typing_extensions import TypeIs
from xdsl.dialects import scf
from xdsl.dialects.builtin import DenseArrayBase, IntegerAttr, StringAttr
from xdsl.ir import Operation
from xdsl.utils.exceptions import DiagnosticException

from tlf.lowering.mem_to_triton.index_expressions import IndexExpr, IndexTable
from tlf.lowering.mem_to_triton.python_source import PythonSource


def loop_mapping_of(op: Operation) -> str:
    """Return the attribute `mapping` of a loop, `loop` by default."""
    mapping = op.attributes.get("mapping")
    return mapping.data if isinstance(mapping, StringAttr) else "loop"


def is_grid_loop(op: Operation) -> TypeIs[scf.ParallelOp]:
    """Return `True` if the iterations of a loop are those of a kernel's programs."""
    return isinstance(op, scf.ParallelOp) and (
        loop_mapping_of(op) == "grid" or is_persistent_loop(op)
    )


def is_persistent_loop(op: Operation) -> bool:
    """
    Return `True` if each program of a kernel runs several iterations of a grid loop.
    """
    return loop_mapping_of(op) == "persistent"


def persistent_program_count_of(op: scf.ParallelOp) -> int | None:
    """
    Return the attribute `programs` of a persistent grid loop, the number of programs
    that run its iterations; None for other loops.
    """
    if not is_persistent_loop(op):
        return None
    programs = op.attributes.get("programs")
    if not isinstance(programs, IntegerAttr) or programs.value.data < 1:
        raise DiagnosticException(
            f"scf.parallel: expected a positive number of programs, got {programs}"
        )
    return programs.value.data


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


def grid_trip_counts(op: scf.ParallelOp, indices: IndexTable) -> list[int]:
    """Return the trip count of each axis of a grid, which must be constant."""
    counts: list[int] = []
    for bounds in zip(op.lowerBound, op.upperBound, op.step, strict=True):
        low, high, step = (indices.expression_of(value).constant for value in bounds)
        if low is None or high is None or step is None or step < 1:
            raise DiagnosticException(
                "scf.parallel: expected constant bounds of a grid"
            )
        counts.append(max(0, -(-(high - low) // step)))
    return counts


def iteration_indices_of_program(
    source: PythonSource,
    op: scf.ParallelOp,
    program: IndexExpr,
    axis_trip_counts: Sequence[int],
) -> dict[int, IndexExpr]:
    """
    Return the iteration index along each axis for a program id. `axis_trip_counts` are
    the trip counts of the axes.

    Program ids follow the axis order, last axis fastest. The attribute `group` is the
    number of iterations of the second to last axis per iteration of the last axis.
    """
    attribute = op.attributes.get("group")
    group = attribute.value.data if isinstance(attribute, IntegerAttr) else 1
    *outer, last = axis_order_of(op)
    indices: dict[int, IndexExpr] = {}
    inner = math.prod(axis_trip_counts)
    for position, axis in enumerate(outer):
        if (
            position == len(outer) - 1
            and min(group, axis_trip_counts[axis], axis_trip_counts[last]) > 1
        ):
            pair = _swizzled_row_and_column(
                source, program, (axis_trip_counts[axis], axis_trip_counts[last]), group
            )
            return indices | dict(zip((axis, last), pair, strict=True))
        inner = max(1, inner // max(1, axis_trip_counts[axis]))
        indices[axis], program = program.floordiv(inner), program.modulo(inner)
    return indices | {last: program}


def _swizzled_row_and_column(
    source: PythonSource,
    program: IndexExpr,
    axis_trip_counts: tuple[int, int],
    group_size: int,
) -> tuple[IndexExpr, IndexExpr]:
    """Return the row and column of a program in grouped (swizzled) order."""
    rows, columns = axis_trip_counts
    group_size = min(group_size, rows)
    first = program.floordiv(group_size * columns) * IndexExpr.of_constant(group_size)
    within = program.modulo(group_size * columns)
    if not within.is_atom:
        name = source.assign_variable("g", within.text)
        within = within.bind_to_variable(name)
    if rows % group_size == 0:
        return first + within.modulo(group_size), within.floordiv(group_size)
    # The last group has fewer rows.
    size = source.assign_variable(
        "g", f"tl.minimum({rows} - {first.parenthesised_text}, {group_size})"
    )
    return (
        IndexExpr(f"{first.text} + {within.text} % {size}", 0, rows - 1, False),
        IndexExpr(f"{within.text} // {size}", 0, columns - 1, False),
    )
