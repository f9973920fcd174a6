"""Loads move up as far as their buffers fit."""

from tlf.support.allocation import Buffer, LoadHoisting


def test_loads_are_hoisted_in_order_while_their_buffers_fit():
    """The first load stays below item 1, a barrier, and the second one below it."""
    buffers = [
        Buffer.live_during(256, 0, 2),
        Buffer.live_during(512, 2, 6),
        Buffer.live_during(256, 4, 6),
    ]
    steps = [(step, step) for step in range(6)]

    def targets(capacity: int) -> list[dict[int, int]]:
        hoisting = LoadHoisting(
            buffers, steps, {2: 1, 4: 2}, capacity, lambda _, position: position == 1
        )
        return list(hoisting.candidate_target_positions())

    assert targets(768)[0] == {4: 3}
    assert targets(767) == []
