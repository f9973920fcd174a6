"""Ranges of bytes by which accesses of instructions are compared first."""

from itertools import product

from tlf.lowering.mem_to_npu.instruction_tree import AccessedBytes, BufferAccess
from tlf.lowering.mem_to_npu.memref_views import BufferExtent

ACCESSES = [
    BufferAccess(BufferExtent(level, low, low + size), writes)
    for level, low, size, writes in product(
        ("L1", "L2"), (0, 64, 128), (64, 128), (False, True)
    )
]


def have_conflict(one: BufferAccess, other: BufferAccess) -> bool:
    """Return `True` if both share bytes that one of them writes."""
    return one.extent.is_overlapping(other.extent) and (one.is_write or other.is_write)


def test_accesses_that_conflict_have_common_bytes():
    for some in product(ACCESSES, repeat=2):
        for other in ACCESSES:
            conflicts = [have_conflict(each, other) for each in some]
            accessed = AccessedBytes.of(some)
            assert accessed.can_conflict_with(AccessedBytes.of([other])) >= any(
                conflicts
            )


def test_a_single_access_is_compared_exactly():
    for one, other in product(ACCESSES, repeat=2):
        accessed = AccessedBytes.of([one])
        assert accessed.can_conflict_with(AccessedBytes.of([other])) == have_conflict(
            one, other
        )
