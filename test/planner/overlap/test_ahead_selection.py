"""Loads and products that start early, on facts written by hand."""

from collections.abc import Collection, Hashable, Sequence
from dataclasses import dataclass, replace

import pytest

from tlf.dialects.target import load_target_spec
from tlf.planner.overlap.ahead_selection import (
    find_last_loop_in_queue,
    find_loop_before_load,
    find_waits_before_product,
    select_loads_ahead,
    select_products_ahead,
)
from tlf.planner.overlap.body_facts import (
    BodyBuffer,
    BodyMove,
    BodyOperation,
    RingSlices,
)
from tlf.planner.overlap.loop_memory import LiveBuffer, LoopMemory
from tlf.planner.overlap.slot_selection import (
    select_slots,
    select_slots_for_inner_loops,
)
from tlf.support.affine.index_access import AffineSum

LEVELS = list(load_target_spec("npu").levels.values())
L1, L2, L3 = LEVELS

SIZE = L1.capacity // 8


@dataclass(frozen=True)
class Body:
    """A body whose local buffers have `SIZE` bytes."""

    operations: Sequence[BodyOperation]
    overwriting: Collection[tuple[int, int]] = ()
    """Loads, and operations that overwrite what they read."""
    has_early_addresses: bool = True
    filled: RingSlices | None = None
    read: Sequence[tuple[int, RingSlices | None]] = ()

    def measure_memory(self) -> LoopMemory:
        moves = [each.move for each in self.operations if each.move]
        ends = [end for move in moves for end in (move.source, move.destination)]
        ends += [end for each in self.operations for end in each.accumulators]
        buffers = [each for each in dict.fromkeys(ends) if each.is_local]

        def collect_buffers(level: str) -> list[LiveBuffer]:
            return [
                LiveBuffer(each.identity, SIZE, (1, 2))
                for each in buffers
                if each.level == level
            ]

        return LoopMemory(collect_buffers, (0, 3), temporary_bytes=0)

    def can_overwrite_source(self, load: int, writer: int) -> bool:
        return (load, writer) in self.overwriting

    def has_early_address(self, load: int) -> bool:
        return self.has_early_addresses

    def ring_slices_of(self, load: int) -> RingSlices | None:
        return self.filled

    def other_ring_slices(self, load: int) -> Sequence[tuple[int, RingSlices | None]]:
        return self.read


def load(buffer: str, indices: str | None = None) -> BodyOperation:
    source = BodyBuffer("rows", L2.name, is_local=False)
    destination = BodyBuffer(buffer, L1.name, is_local=True)
    move = BodyMove(source, destination, index_buffer=indices)
    return BodyOperation({"rows", buffer}, {buffer}, move)


def product(result: str, *inputs: str) -> BodyOperation:
    return BodyOperation(
        {result, *inputs},
        {result},
        accumulators=[BodyBuffer(result, L1.name, is_local=True)],
        is_product=True,
        can_start_early=True,
    )


def wait(*moves: int | None) -> BodyOperation:
    return BodyOperation(awaited_moves=moves)


def work(*buffers: str) -> BodyOperation:
    return BodyOperation(set(buffers), {buffers[-1]})


def inner_loop(*buffers: str, stages: int = 2) -> BodyOperation:
    queue = (L2.name, L1.name)
    return BodyOperation(set(buffers), queues=[queue], stages=stages)


BODY = Body([load("x"), wait(0), work("x", "y")])


def test_loads_into_multibuffers_start_early():
    assert select_loads_ahead(BODY, ["x"], 1, LEVELS).early == [0]
    selection = select_loads_ahead(BODY, [], 1, LEVELS)
    assert (selection.early, selection.reasons) == ([], {})


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (replace(BODY, overwriting=[(0, 2)]), "the loop writes"),
        (replace(BODY, has_early_addresses=False), "its source offsets"),
        (replace(BODY, operations=[work("x"), load("x")]), "its buffer is accessed"),
    ],
)
def test_other_loads_have_a_reason(body: Body, reason: str):
    selection = select_loads_ahead(body, ["x"], 1, LEVELS)
    assert not selection.early
    (found,) = selection.reasons.values()
    assert found.startswith(reason)


@pytest.mark.parametrize(("indices", "early"), [("i", [0, 2]), ("other", [0])])
def test_indices_may_be_loaded_equally_early(indices: str, early: Sequence[int]):
    operations = [load("i"), wait(0), load("x", indices)]
    body = Body(operations, overwriting=[(2, 0)])
    assert select_loads_ahead(body, ["i", "x"], 1, LEVELS).early == early


def slices(start: int) -> RingSlices:
    return RingSlices("ring", AffineSum(start), step=1, extent=1, ring_extent=4)


@pytest.mark.parametrize(
    ("start", "distance", "is_free"), [(2, 1, True), (2, 2, False), (3, 1, False)]
)
def test_slices_of_a_ring_have_to_be_free(start: int, distance: int, is_free: bool):
    """A read of slice 0 in each iteration, and a write of slices `start` later."""
    move = load("ring").move
    assert move is not None
    ring = replace(move.destination, is_local=False)
    fill = BodyOperation(move=replace(move, destination=ring, is_into_ring=True))
    body = Body([fill, work("ring")], filled=slices(start), read=[(1, slices(0))])
    found = select_loads_ahead(body, [], distance, LEVELS)
    assert found.early == ([0] if is_free else [])
    unknown = replace(body, read=[(1, None)])
    assert not select_loads_ahead(unknown, [], distance, LEVELS).early


def test_loads_come_after_loops_that_they_would_delay():
    operations = [load("x"), inner_loop("y"), wait(0), inner_loop("x")]
    assert find_loop_before_load(operations, 0, [0]) == 1
    other = replace(operations[1], queues=[])
    assert find_loop_before_load([load("x"), other, wait(0)], 0, [0]) is None
    joint = [load("x"), wait(0, None), inner_loop("y")]
    assert find_loop_before_load(joint, 0, [0]) is None


def test_loops_without_stages_issue_early_loads_after_their_loops():
    operations = [load("x"), inner_loop("x"), work("x"), inner_loop("y"), wait(0)]
    assert find_last_loop_in_queue(operations, 0) == 3
    assert find_last_loop_in_queue(operations[:1], 0) is None


CASCADE = [load("x"), wait(0), product("s", "x"), work("s", "p"), product("o", "p")]


def early_products(operations: Sequence[BodyOperation]) -> Sequence[Hashable]:
    return select_products_ahead(Body(operations), [0], ["x", "s"], 2, L1)


def test_products_that_others_depend_on_start_early():
    assert early_products(CASCADE) == [2]
    assert find_waits_before_product(CASCADE, 2, [0]) == [1]


@pytest.mark.parametrize(
    "operations",
    [
        CASCADE[:4],
        [*CASCADE, inner_loop("z")],
        [load("x"), wait(0), work("x"), *CASCADE[2:]],
        [load("x"), wait(0, None), *CASCADE[2:]],
        [load("x"), work("s"), *CASCADE[2:]],
        [load("x"), wait(0), replace(CASCADE[2], can_start_early=False), *CASCADE[3:]],
    ],
)
def test_other_products_stay(operations: Sequence[BodyOperation]):
    assert not early_products(operations)


def test_buffers_get_slots_while_they_fit():
    body = Body([load("x"), load("y"), product("s", "x", "y")])
    assert select_slots(body, LEVELS, 2).multibuffers == ["x", "y", "s"]
    assert select_slots(body, LEVELS, 3).multibuffers == ["x", "y"]
    missed = select_slots(body, LEVELS, 4)
    assert not missed.is_overlapped
    assert [each.level for each in missed.missed] == [L1.name, L1.name]
    assert not select_slots(body, LEVELS, 1).is_overlapped


@pytest.mark.parametrize(("stages", "count"), [(2, 4), (1, 0)])
def test_outer_loops_load_for_overlapping_inner_loops(stages: int, count: int):
    loads = [load(name) for name in "abcd"]
    body = Body([*loads, inner_loop(*"abcd", stages=stages)])
    assert len(select_slots_for_inner_loops(body, L1)) == count
