"""
Time of pipelined loops on the simulated NPU: the order of their moves and the slots of
their buffers determine it, to the cycle.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import pytest
from pipelined_programs import elementwise, nested, product

from tlf.runtime import npu

Compile = Callable[[str, bool], str]

FAR, NEAR, VECTOR = 500, 50, 4
"""Latencies of moves from and to L3, of those between L2 and L1, of computation."""


@dataclass
class Engine:
    """An engine that works in order, and delays what it has done by a latency."""

    latency: int
    free: int = 0

    def work(self, cycles: int, *after: int) -> int:
        """Work after some times; return when that has taken effect."""
        self.free = max(self.free, *after) + cycles
        return self.free + self.latency


@dataclass(frozen=True)
class Tile:
    """The cycles that the steps of a tile take."""

    far: int
    """A move between L3 and L2."""
    near: int
    """A move between L2 and L1."""
    compute: int

    def cycles(self, tiles: int, stages: int) -> int:
        """
        The time of a loop over tiles that are loaded, moved near, computed in place,
        moved back and stored.

        Each tile needs the slots that were used `stages` tiles before: in L2 on the way
        in, in L1, and in L2 on the way out. Loads and stores share a channel, which
        serves load 0 to `stages - 2`, then for every tile `i` load `i + stages - 1` and
        store `i`.
        """
        channel, come, go = Engine(FAR), Engine(NEAR), Engine(NEAR)
        vector = Engine(VECTOR)
        loaded, moved, computed = list[int](), list[int](), list[int]()
        back, stored = list[int](), list[int]()

        def past(times: list[int], tile: int) -> int:
            return times[tile - stages] if tile >= stages else 0

        def load(tile: int) -> None:
            if tile < tiles:
                loaded.append(channel.work(self.far, past(moved, tile)))

        for tile in range(stages - 1):
            load(tile)
        for tile in range(tiles):
            load(tile + stages - 1)
            moved.append(come.work(self.near, loaded[tile], past(back, tile)))
            computed.append(vector.work(self.compute, moved[tile]))
            back.append(go.work(self.near, computed[tile], past(stored, tile)))
            stored.append(channel.work(self.far, back[tile]))
        return stored[-1]

    @property
    def through(self) -> int:
        """The time of a tile alone."""
        moves = 2 * (self.far + FAR) + 2 * (self.near + NEAR)
        return moves + self.compute + VECTOR


def _simulated(compile_mem: Compile, tiles: int, stages: int, steps: int) -> int:
    """The cycles of a program whose control processor takes no time."""
    rows = 8
    text = elementwise((tiles * rows, 256), (rows, 256), stages, steps=steps)
    code = compile_mem(text, False).replace("issue_cycles=1", "issue_cycles=0")
    return npu.run(npu.parse(code), {}, functional=False).cycles


def _tile(steps: int) -> Tile:
    """A tile of 8 x 256 f32, 8 KiB."""
    size = 8 * 256 * 4
    return Tile(size // 64, size // 512, steps * 8 * 256 // 256)


@pytest.mark.one_in(4)
@pytest.mark.parametrize("stages", [1, 2, 3, 4])
@pytest.mark.parametrize("steps", [1, 20, 60])
def test_time_of_a_loop(stages: int, steps: int, compile_mem: Compile) -> None:
    for tiles in (1, 2, 3, 7, 20):
        expected = _tile(steps).cycles(tiles, min(stages, tiles))

        assert _simulated(compile_mem, tiles, stages, steps) == expected


@pytest.mark.parametrize("tiles", [8, 20])
def test_computation_hides_moves(tiles: int, compile_mem: Compile) -> None:
    """The engine waits for the first tile, and for nothing after that."""
    tile = _tile(100)

    expected = tile.through + (tiles - 1) * tile.compute
    assert _simulated(compile_mem, tiles, 3, 100) == expected


@pytest.mark.parametrize("tiles", [12, 20])
def test_moves_hide_computation(tiles: int, compile_mem: Compile) -> None:
    """The channel is never idle, and the last store takes its time."""
    expected = 2 * tiles * _tile(1).far + FAR

    assert _simulated(compile_mem, tiles, 12, 1) == expected


@pytest.mark.parametrize(
    "text",
    [
        elementwise((70, 256), (3, 128), 3),
        nested((64, 64), ((9, 16), (4, 4)), (2, 3), 2),
        product((64, 64, 64), (16, 8, 5), (2, 3)),
    ],
    ids=["elementwise", "nested", "product"],
)
def test_settled_loops_are_not_gone_through(text: str, compile_mem: Compile) -> None:
    program = npu.parse(compile_mem(text, False))
    short = npu.run(program, {}, functional=False)

    assert short == npu.run(program, {}, functional=False, step_by_step=True)
