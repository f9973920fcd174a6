"""
Rigid blocks of the allocator, without IR: buffers at fixed distances that share one
offset.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import gcd

from tlf.support.allocation.allocation_fault import AllocationFault
from tlf.support.allocation.buffer_model import Buffer, LiveSpan


@dataclass(frozen=True)
class RigidBlock:
    """
    Buffers at fixed distances from each other. The offset is `residue` modulo
    `modulus`.
    """

    members: tuple[tuple[int, int], ...]
    """Index of each buffer, and its offset in the block in bytes."""
    spans: tuple[LiveSpan, ...]
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


def group_into_rigid_blocks(buffers: Sequence[Buffer]) -> list[RigidBlock]:
    """
    Return one new block per set of buffers with a common outermost enclosing buffer.

    Raises `Fault` if their constraints contradict each other.
    """
    groups: dict[int, list[tuple[int, int]]] = {}
    for index in range(len(buffers)):
        root, distance = _find_outermost_buffer(buffers, index)
        groups.setdefault(root, []).append((index, distance))
    return [_build_block(buffers, members) for members in groups.values()]


def _find_outermost_buffer(
    buffers: Sequence[Buffer], buffer_index: int
) -> tuple[int, int]:
    """
    Return the outermost buffer around a buffer, and the offset in it in bytes; raise
    `AllocationFault` for an invalid index, distance or cycle.
    """
    root, distance = buffer_index, 0
    for _ in buffers:
        if (within := buffers[root].enclosing) is None:
            return root, distance
        root, step = within
        if not 0 <= root < len(buffers) or step < 0:
            raise AllocationFault(
                f"expected buffer {{}} at a byte of one of {len(buffers)} buffers, "
                f"got byte {step} of buffer {root}",
                buffer_index,
            )
        distance += step
    raise AllocationFault(
        "expected a buffer that is in no other, got a cycle at {}", buffer_index
    )


def _build_block(
    buffers: Sequence[Buffer], members: list[tuple[int, int]]
) -> RigidBlock:
    """
    Build a rigid block; raise `AllocationFault` if alignments or offsets conflict.
    """
    modulus, residue = 1, 0
    fixed: int | None = None
    hints: list[int] = []
    for index, distance in members:
        buffer = buffers[index]
        both = _intersect_congruences(modulus, residue, buffer.alignment, -distance)
        if both is None:
            raise AllocationFault(
                f"expected a distance that suits both alignments, {modulus} and "
                f"{buffer.alignment} of buffer {{}}",
                index,
            )
        modulus, residue = both
        if buffer.offset is not None:
            fixed = _check_consistent_fixed_offset(
                index, buffer.offset - distance, fixed
            )
        if buffer.hint is not None and buffer.hint >= distance:
            hints.append(buffer.hint - distance)
    if fixed is not None and (fixed - residue) % modulus:
        raise AllocationFault(
            f"expected an offset that is a multiple of the alignment, got {fixed} of "
            "buffer {}",
            members[0][0],
        )
    return RigidBlock(
        members=tuple(members),
        spans=_shift_spans(buffers, members),
        extent=max(distance + buffers[index].size for index, distance in members),
        modulus=modulus,
        residue=residue,
        offset=fixed,
        hint=min(hints, default=None),
    )


def _shift_spans(
    buffers: Sequence[Buffer], members: Sequence[tuple[int, int]]
) -> tuple[LiveSpan, ...]:
    """Return the spans of the members, relative to the start of their block."""
    return tuple(
        LiveSpan(
            each.start,
            each.end,
            each.start_byte + distance,
            each.end_byte + distance,
        )
        for index, distance in members
        for each in buffers[index].spans
        if each.start < each.end and each.start_byte < each.end_byte
    )


def _check_consistent_fixed_offset(
    buffer_index: int, offset: int, known_offset: int | None
) -> int:
    """
    Return `offset`; raise `AllocationFault` if it is negative or not `known_offset`.
    """
    if offset < 0 or known_offset not in (None, offset):
        raise AllocationFault(
            "expected one offset of at least 0 for the place of buffer {}, "
            f"got {offset}",
            buffer_index,
        )
    return offset


def _intersect_congruences(
    first_modulus: int, first_residue: int, second_modulus: int, second_residue: int
) -> tuple[int, int] | None:
    """
    Return modulus and residue of the integers that are `first_residue` modulo
    `first_modulus` and `second_residue` modulo `second_modulus` (Chinese remainder
    theorem), or None if there are none.
    """
    common = gcd(first_modulus, second_modulus)
    if (second_residue - first_residue) % common:
        return None
    steps = (
        (second_residue - first_residue)
        // common
        * pow(first_modulus // common, -1, second_modulus // common)
    )
    modulus = first_modulus * second_modulus // common
    return modulus, (
        first_residue + first_modulus * (steps % (second_modulus // common))
    ) % modulus
