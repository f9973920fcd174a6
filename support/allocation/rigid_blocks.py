"""Rigid blocks: buffers at fixed distances that share one offset."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import gcd

from tlf.support.allocation.allocation_fault import Fault
from tlf.support.allocation.buffer import Buffer, Span


@dataclass(frozen=True)
class Block:
    """
    Buffers at fixed distances from each other. The offset is `residue` modulo
    `modulus`.
    """

    members: tuple[tuple[int, int], ...]
    """Index of each buffer, and its offset in the block in bytes."""
    spans: tuple[Span, ...]
    """Live bytes, relative to the start of the block; no span is empty."""
    extent: int
    """End of the highest buffer, in bytes."""
    modulus: int
    residue: int
    offset: int | None
    """Fixed offset in bytes, if any."""
    hint: int | None

    def align_up(self, offset: int) -> int:
        """
        Return the lowest offset from `offset` on that satisfies the alignment of every
        member.
        """
        return offset + (self.residue - offset) % self.modulus


def blocks_of(buffers: Sequence[Buffer]) -> list[Block]:
    """
    Group buffers that share an enclosing buffer.

    Raises `Fault` if their constraints contradict each other.
    """
    groups: dict[int, list[tuple[int, int]]] = {}
    for index in range(len(buffers)):
        root, distance = _find_root(buffers, index)
        groups.setdefault(root, []).append((index, distance))
    return [_build_block(buffers, members) for members in groups.values()]


def _find_root(buffers: Sequence[Buffer], number: int) -> tuple[int, int]:
    root, distance = number, 0
    for _ in buffers:
        if (within := buffers[root].within) is None:
            return root, distance
        root, step = within
        if not 0 <= root < len(buffers) or step < 0:
            raise Fault(
                f"expected buffer {{}} at a byte of one of {len(buffers)} buffers, "
                f"got byte {step} of buffer {root}",
                number,
            )
        distance += step
    raise Fault("expected a buffer that is in no other, got a cycle at {}", number)


def _build_block(buffers: Sequence[Buffer], members: list[tuple[int, int]]) -> Block:
    modulus, residue = 1, 0
    fixed: int | None = None
    hints: list[int] = []
    for index, distance in members:
        buffer = buffers[index]
        both = _intersect_congruences(modulus, residue, buffer.alignment, -distance)
        if both is None:
            raise Fault(
                f"expected a distance that suits both alignments, {modulus} and "
                f"{buffer.alignment} of buffer {{}}",
                index,
            )
        modulus, residue = both
        if buffer.offset is not None:
            fixed = _check_fixed_offset(index, buffer.offset - distance, fixed)
        if buffer.hint is not None and buffer.hint >= distance:
            hints.append(buffer.hint - distance)
    if fixed is not None and (fixed - residue) % modulus:
        raise Fault(
            f"expected an offset that is a multiple of the alignment, got {fixed} of "
            "buffer {}",
            members[0][0],
        )
    return Block(
        members=tuple(members),
        spans=tuple(
            Span(each.start, each.end, each.low + distance, each.high + distance)
            for index, distance in members
            for each in buffers[index].spans
            if each.start < each.end and each.low < each.high
        ),
        extent=max(distance + buffers[index].size for index, distance in members),
        modulus=modulus,
        residue=residue,
        offset=fixed,
        hint=min(hints, default=None),
    )


def _check_fixed_offset(number: int, offset: int, others: int | None) -> int:
    if offset < 0 or others not in (None, offset):
        raise Fault(
            "expected one offset of at least 0 for the place of buffer {}, "
            f"got {offset}",
            number,
        )
    return offset


def _intersect_congruences(
    one: int, first: int, other: int, second: int
) -> tuple[int, int] | None:
    """
    Return modulus and residue of the integers that are `first` modulo `one` and
    `second` modulo `other` (Chinese remainder theorem), or None if there are none.
    """
    common = gcd(one, other)
    if (second - first) % common:
        return None
    steps = (second - first) // common * pow(one // common, -1, other // common)
    modulus = one * other // common
    return modulus, (first + one * (steps % (other // common))) % modulus
