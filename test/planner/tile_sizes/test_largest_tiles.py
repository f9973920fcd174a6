"""Largest tiles: every tile size is analyzed at most once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import pytest
from gpu_programs import H200, elementwise, members, product, rows_sum

from tlf.analysis.tiling.group_analysis import GroupMembers, tile_rules_of
from tlf.analysis.tiling.group_tiling import GroupTiling, TilingError
from tlf.analysis.tiling.tile_rules import TileRules
from tlf.planner.tile_sizes.largest_tiles import TileSizes, TileSizeSelector

(LEVEL,) = (level for level in H200.tile_levels if level.name == "L1")
RULES = tile_rules_of(H200, LEVEL.name)

PROGRAMS = [
    pytest.param(elementwise(4096, 4096), ((1, 1024), ()), id="elementwise"),
    pytest.param(rows_sum(16384, 4096), ((1,), (2048,)), id="rows"),
    pytest.param(rows_sum(4096, 4096, 0), ((1,), (2048,)), id="columns"),
    pytest.param(product(4096, 4096, 4096), ((128, 256), (64,)), id="product"),
]


def selector_of(text: str) -> TileSizeSelector:
    _, group = members(text)
    return TileSizeSelector(group, group.tileable_axes(RULES), LEVEL, H200, RULES)


@pytest.mark.parametrize(("text", "sizes"), PROGRAMS)
def test_sizes_are_analyzed_once(
    text: str,
    sizes: tuple[tuple[int, ...], tuple[int, ...]],
    monkeypatch: pytest.MonkeyPatch,
):
    selector = selector_of(text)
    analyzed = Counter[object]()
    original = GroupMembers.analyze_tiles_of_sizes

    def counted(
        group: GroupMembers,
        tile: Sequence[int],
        reduction_tile: Sequence[int],
        rules: TileRules,
    ) -> GroupTiling:
        analyzed[tuple(tile), tuple(reduction_tile), rules] += 1
        return original(group, tile, reduction_tile, rules)

    monkeypatch.setattr(GroupMembers, "analyze_tiles_of_sizes", counted)

    assert selector.select_sizes() == TileSizes(*sizes)
    assert set(analyzed.values()) == {1}


def test_illegal_sizes_raise_again():
    selector = selector_of(elementwise(64, 64))
    sizes = TileSizes((3, 64, 64), ())
    for _ in range(2):
        with pytest.raises(TilingError, match="expected 2 tile sizes, got 3"):
            selector.tiling_with(sizes)
