"""Loops accumulate tiles of partial results as long as registers have room for them."""

from collections.abc import Sequence

import pytest
from gpu_programs import price, rows_sum

from tlf.planner.cost.gpu import program_resources
from tlf.planner.cost.gpu.wide_accumulators import can_widen_accumulators


@pytest.mark.parametrize(
    ("sizes", "warps", "fits"),
    [
        ([4096], 4, True),
        ([4096, 4096], 4, False),
        ([4096, 4096], 8, True),
        ([16384], 4, False),
        ([], 4, False),
    ],
)
def test_partial_results_have_room(sizes: list[int], warps: int, fits: bool):
    assert can_widen_accumulators(sizes, warps) == fits


def test_results_are_exchanged_once(monkeypatch: pytest.MonkeyPatch):
    text = rows_sum(132, 65536)
    wide = price(text, (1,), (2048,))

    def has_no_room(sizes: Sequence[int], warps: int) -> bool:
        return False

    monkeypatch.setattr(program_resources, "can_widen_accumulators", has_no_room)
    narrow = price(text, (1,), (2048,))

    assert wide.cycles < narrow.cycles
    assert wide.resources.registers_per_thread == (
        narrow.resources.registers_per_thread + 2048 // (4 * 32)
    )
