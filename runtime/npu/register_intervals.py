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
    Scalar,
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


def compute_intervals(body: Sequence[Instruction]) -> dict[int, Intervals]:
    """
    Return the intervals of the operands of every instruction, by line.

    Raises `IrregularError` unless every register is read after a write in the same run
    of the same block or of an enclosing one, and no scalar operation can overflow.
    """
    by_line: dict[int, Intervals] = {}
    _analyze_block(body, {}, by_line)
    return by_line


def _analyze_block(
    body: Sequence[Instruction],
    known: dict[str, Interval],
    found: dict[int, Intervals],
) -> None:
    for op in body:
        found[op.line] = {
            value: _interval_of(value, known) for value in _values_read(op)
        }
        if isinstance(op, Scalar):
            known[op.target] = _result_interval(op, known)
        elif isinstance(op, Loop):
            for name in (op.register, *_written_registers(op.body)):
                known.pop(name, None)
            lower, upper = found[op.line][op.lower], found[op.line][op.upper]
            inner = {**known, op.register: (lower[0], max(upper[1] - 1, lower[1]))}
            _analyze_block(op.body, inner, found)
        elif isinstance(op, Cores):
            _analyze_block(op.body, {**known, op.register: (0, op.count - 1)}, found)


def _written_registers(body: Iterable[Instruction]) -> Iterable[str]:
    for op in body:
        if isinstance(op, Scalar):
            yield op.target
        elif isinstance(op, Loop):
            yield op.register
            yield from _written_registers(op.body)


def _values_read(op: Instruction) -> Iterable[Value]:
    match op:
        case Scalar():
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


def _interval_of(value: Value, known: dict[str, Interval]) -> Interval:
    if isinstance(value, int):
        return value, value
    if value.name not in known:
        raise IrregularError(f"{value.name} may come from another iteration")
    low, high = known[value.name]
    return low + value.offset, high + value.offset


def _result_interval(op: Scalar, known: dict[str, Interval]) -> Interval:
    low, high = _evaluate_interval(
        op, [_interval_of(value, known) for value in op.operands]
    )
    if low < -_LIMIT or high > _LIMIT:
        raise IrregularError(f"{op.target} may not fit")
    return low, high


def _evaluate_interval(op: Scalar, operands: Sequence[Interval]) -> Interval:
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
