"""Decisions on chunked loads and stores, on facts written by hand."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import pytest

from tlf.dialects.target import load_target_spec
from tlf.planner.chunking.block_facts import BoxFacts, BufferUser, MoveFacts
from tlf.planner.chunking.chunk_selection import ChunkedMove
from tlf.planner.chunking.load_chunking import select_chunked_loads
from tlf.planner.chunking.store_chunking import select_chunked_stores

OUTER = load_target_spec("npu").outermost_level
ROWS, COLUMNS, TILE = 512, 512, 64


@dataclass(frozen=True)
class RowTiles:
    """Access to `TILE` rows at a time, in order."""

    box_shape: Sequence[int] = (TILE, COLUMNS)
    trip_counts: Sequence[int | None] = (ROWS // TILE,)

    def view_offset(self, axis: int) -> int | None:
        return 0

    def offsets_in_loop(self, loop_index: int, axis: int) -> Sequence[int] | None:
        return range(0, ROWS, TILE) if axis == 0 else [0] * (ROWS // TILE)


def box(buffer: str, level: str, start: int = 0) -> BoxFacts:
    strides = (2 * COLUMNS, 2)
    address = (0, 2 * COLUMNS * start)
    shape = (ROWS, COLUMNS)
    return BoxFacts(buffer, level, shape, (start, 0), strides, 2, address)


def load(buffer: str, start: int = 0) -> MoveFacts:
    source = box(f"outer {buffer}", OUTER.name, start)
    return MoveFacts(source, box(buffer, "L2"), (ROWS, COLUMNS), is_filled=False)


LOAD = load("weights")
STORE = MoveFacts(LOAD.destination, LOAD.source, LOAD.box_shape, is_filled=False)


@dataclass(frozen=True)
class Block:
    """A block: moves, loops as sets of the buffers that they access, and waits."""

    items: Sequence[MoveFacts | frozenset[str] | str]
    users: Sequence[BufferUser[RowTiles]]
    waits: Sequence[int | None] = ()

    @property
    def length(self) -> int:
        return len(self.items)

    @property
    def loop_positions(self) -> Sequence[int]:
        pairs = enumerate(self.items)
        return [at for at, item in pairs if isinstance(item, frozenset)]

    def move_at(self, position: int) -> MoveFacts | None:
        item = self.items[position]
        return item if isinstance(item, MoveFacts) else None

    def is_passive_at(self, position: int) -> bool:
        return self.items[position] == "wait"

    def buffers_at(self, position: int) -> frozenset[str]:
        item = self.items[position]
        return item if isinstance(item, frozenset) else frozenset()

    def wait_positions_of(self, position: int) -> Sequence[int | None]:
        return self.waits

    def other_users(
        self, position: int, is_load: bool
    ) -> Sequence[BufferUser[RowTiles]]:
        return self.users


LOOP = frozenset(["weights"])
BLOCK = Block([LOAD, "wait", LOOP], [BufferUser(2, RowTiles())], [1])


def only_load(block: Block) -> ChunkedMove[RowTiles]:
    (found,) = select_chunked_loads(block, OUTER)
    return found


def test_a_load_is_split_along_the_axis_of_the_tiles():
    found = only_load(BLOCK)
    assert (found.position, found.insertion_position) == (0, 2)
    assert (found.chunking.axis, found.chunking.size) == (0, ROWS // 8)
    assert (found.chunking.rate.depth, found.chunking.rate.period) == (1, 1)


@pytest.mark.parametrize(
    "block",
    [
        replace(BLOCK, items=[LOAD, "computation", LOOP]),
        replace(BLOCK, users=[BufferUser(2, None)]),
        replace(BLOCK, users=[*BLOCK.users, BufferUser(1, None)]),
        replace(BLOCK, users=[*BLOCK.users, BufferUser(None, None)]),
        replace(BLOCK, users=[*BLOCK.users, *BLOCK.users]),
        replace(BLOCK, waits=[3]),
        replace(BLOCK, waits=[None]),
    ],
)
def test_a_load_with_other_uses_stays_whole(block: Block):
    assert select_chunked_loads(block, OUTER) == []


def test_a_use_after_the_loop_sees_all_chunks():
    assert only_load(replace(BLOCK, users=[*BLOCK.users, BufferUser(3, None)]))


def test_chunks_come_before_loads_of_later_loops():
    needed, later = load("bias"), load("later")
    loop = LOOP | {"bias"}
    block = replace(BLOCK, items=[LOAD, needed, later, loop])
    block = replace(block, users=[BufferUser(3, RowTiles())])
    first, *_ = select_chunked_loads(block, OUTER)
    assert (first.position, first.insertion_position) == (0, 2)


@pytest.mark.parametrize(("is_filled", "first"), [(False, 64), (True, 0)])
def test_only_filled_loads_start_before_their_source(is_filled: bool, first: int):
    move = replace(load("weights", -64), is_filled=is_filled)
    found = only_load(replace(BLOCK, items=[move, "wait", LOOP]))
    assert found.start == (first, 0)
    assert found.shape == (ROWS - first, COLUMNS)


def test_a_store_is_split_if_one_move_in_the_loop_before_it_fills_its_buffer():
    block = Block([LOOP, STORE, "wait"], [BufferUser(0, RowTiles())], [2])
    (found,) = select_chunked_stores(block, OUTER)
    assert (found.position, found.insertion_position) == (1, 1)
    assert (found.chunking.axis, found.is_clipped) == (0, False)

    unknown = replace(block, users=[BufferUser(0, None)])
    outside = replace(block, users=[*block.users, BufferUser(None, None)])
    part = replace(STORE, box_shape=(ROWS - 1, COLUMNS))
    others = [unknown, outside, replace(block, items=[LOOP, part, "wait"])]
    assert not any(select_chunked_stores(each, OUTER) for each in others)
