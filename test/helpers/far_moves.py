"""Byte ranges of the outermost memory accessed by each DMA of an NPU program."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import prod

from tlf.runtime.npu.dtypes import ITEMSIZE
from tlf.runtime.npu.npu_program import (
    Address,
    Dma,
    Instruction,
    Loop,
    Program,
    Register,
    ScalarInstruction,
    Value,
)
from tlf.runtime.npu.scalar_arithmetic import evaluate_scalar_operation


@dataclass(frozen=True)
class Box:
    """Byte range that one DMA reads or writes: first byte, end, and number of bytes."""

    low: int
    high: int
    nbytes: int
    is_write: bool


def far_boxes(program: Program, level: str = "L3") -> list[Box]:
    """Return all nonempty DMAs from and to a level, in program order."""
    return list(_walk(program.body, {}, level))


def _walk(
    body: tuple[Instruction, ...], known: dict[str, int], level: str
) -> Iterator[Box]:
    for op in body:
        if isinstance(op, ScalarInstruction):
            operands = [_value(each, known) for each in op.operands]
            known[op.target] = evaluate_scalar_operation(op.operation, operands)
        elif isinstance(op, Loop) and _moves(op, level):
            ends = (_value(each, known) for each in (op.lower, op.upper, op.step))
            for known[op.register] in range(*ends):
                yield from _walk(op.body, known, level)
        elif isinstance(op, Dma):
            yield from _box(op, known, level)


def _moves(op: Instruction, level: str) -> bool:
    """
    Return `True` if an instruction is, or a loop contains, a DMA from or to a level.
    """
    if isinstance(op, Loop):
        return any(_moves(each, level) for each in op.body)
    return isinstance(op, Dma) and level in (op.source.level, op.destination.level)


def _value(value: Value, known: Mapping[str, int]) -> int:
    if isinstance(value, Register):
        return known[value.name] + value.offset
    return value


def _box(op: Dma, known: Mapping[str, int], level: str) -> Iterator[Box]:
    is_write = op.destination.level == level
    address: Address = op.destination if is_write else op.source
    if address.level != level:
        return
    shape = [_value(each, known) for each in op.shape]
    ranges = [(0, extent) for extent in shape]
    if op.inside is not None and not is_write:
        ranges = [
            (max(0, _value(low, known)), min(extent, _value(high, known)))
            for (low, high), extent in zip(op.inside, shape, strict=True)
        ]
    if any(low >= high for low, high in ranges):
        return
    size = ITEMSIZE[address.dtype]
    base = _value(address.base, known)
    ends = [
        sorted((low * stride, (high - 1) * stride))
        for (low, high), stride in zip(ranges, address.strides, strict=True)
    ]
    yield Box(
        base + sum(low for low, _ in ends),
        base + sum(high for _, high in ends) + size,
        size * prod(high - low for low, high in ranges),
        is_write,
    )
