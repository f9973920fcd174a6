"""Simulator: intervals of scalar registers that are functions of enclosing loops."""

from collections.abc import Iterable, Mapping, Sequence

from tlf.runtime.npu.npu_program import (
    Cores,
    Dma,
    Immediate,
    Instruction,
    Loop,
    Matmul,
    Reduce,
    ScalarInstruction,
    Value,
    Vector,
)

_LIMIT = 1 << 61

Interval = tuple[int, int]
"""Least and greatest value."""


class IrregularError(Exception):
    """The program can be simulated only step by step."""


Intervals = Mapping[Value, Interval]
"""Intervals of scalar operands."""


def compute_operand_intervals(body: Sequence[Instruction]) -> dict[int, Intervals]:
    """
    Return the intervals of the operands of every instruction, by line.

    Raises `IrregularError` unless every register is read after a write in the same run
    of the same block or of an enclosing one, and no scalar operation can overflow.
    """
    by_line: dict[int, Intervals] = {}
    _compute_block_intervals(body, {}, by_line)
    return by_line


def _compute_block_intervals(
    body: Sequence[Instruction],
    register_intervals: dict[str, Interval],
    intervals_by_line: dict[int, Intervals],
) -> None:
    """
    Interpret `body` on intervals: update `register_intervals`, and record the operands
    in `intervals_by_line`.
    """
    for op in body:
        intervals_by_line[op.line] = {
            value: _interval_of_operand(value, register_intervals)
            for value in _values_read_by(op)
        }
        if isinstance(op, ScalarInstruction):
            register_intervals[op.target] = _interval_of_scalar_result(
                op, register_intervals
            )
        elif isinstance(op, Loop):
            for name in (op.register, *_registers_written_by(op.body)):
                register_intervals.pop(name, None)
            lower, upper = (
                intervals_by_line[op.line][op.lower],
                intervals_by_line[op.line][op.upper],
            )
            inner = {
                **register_intervals,
                op.register: (lower[0], max(upper[1] - 1, lower[1])),
            }
            _compute_block_intervals(op.body, inner, intervals_by_line)
        elif isinstance(op, Cores):
            _compute_block_intervals(
                op.body,
                {**register_intervals, op.register: (0, op.count - 1)},
                intervals_by_line,
            )


def _registers_written_by(body: Iterable[Instruction]) -> Iterable[str]:
    """
    Yield the targets of scalar operations and loop registers, also of inner loops.
    """
    for op in body:
        if isinstance(op, ScalarInstruction):
            yield op.target
        elif isinstance(op, Loop):
            yield op.register
            yield from _registers_written_by(op.body)


def _values_read_by(op: Instruction) -> Iterable[Value]:
    """Yield the scalar operands of `op`: bases, sizes, bounds and conditions."""
    match op:
        case ScalarInstruction():
            yield from op.operands
        case Loop():
            yield from (op.lower, op.upper, op.step)
        case Dma():
            yield from (op.source.base, op.destination.base, *op.shape)
            yield from (value for pair in op.inside or () for value in pair)
            if op.indexed is not None:
                yield op.indexed.indices.base
        case Matmul():
            yield from (op.a.base, op.b.base, op.c.base, op.accumulate)
            yield from (*op.batch, *op.m, *op.n, *op.k)
        case Vector():
            yield op.destination.base
            for source in op.sources:
                if not isinstance(source, Immediate):
                    yield source.base
            yield from op.shape
        case Reduce():
            yield from (op.source.base, op.destination.base, op.accumulate)
            yield from op.shape
        case _:
            pass


def _interval_of_operand(
    value: Value, register_intervals: dict[str, Interval]
) -> Interval:
    """
    Return the interval of `value`. Raises `IrregularError` if its register has none.
    """
    if isinstance(value, int):
        return value, value
    if value.name not in register_intervals:
        raise IrregularError(f"{value.name} may come from another iteration")
    low, high = register_intervals[value.name]
    return low + value.offset, high + value.offset


def _interval_of_scalar_result(
    op: ScalarInstruction, register_intervals: dict[str, Interval]
) -> Interval:
    """Return the interval of the result. Raises `IrregularError` beyond `_LIMIT`."""
    low, high = _evaluate_scalar_on_intervals(
        op, [_interval_of_operand(value, register_intervals) for value in op.operands]
    )
    if low < -_LIMIT or high > _LIMIT:
        raise IrregularError(f"{op.target} may not fit")
    return low, high


def _evaluate_scalar_on_intervals(
    op: ScalarInstruction, operands: Sequence[Interval]
) -> Interval:
    """Return an interval that contains all results of `op`, by interval arithmetic."""
    (a, b), (c, d) = operands[0], operands[-1]
    match op.operation:
        case "add":
            return a + c, b + d
        case "sub":
            return a - d, b - c
        case "mul":
            corners = [x * y for x in (a, b) for y in (c, d)]
            return min(corners), max(corners)
        case "min":
            return min(a, c), min(b, d)
        case "max":
            return max(a, c), max(b, d)
        case "mov":
            return a, b
        case "div":
            size = max(abs(a), abs(b))
            return -size - 1, size
        case _:
            size = max(abs(c), abs(d))
            return -size, size
