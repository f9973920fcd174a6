"""Loads move up as far as their buffers fit."""

from tlf.support.allocation import Buffer, LoadHoisting


def test_loads_are_hoisted_while_their_buffers_fit():
    """The second load fits above item 3, the first one above item 1, a barrier."""
    buffers = [
        Buffer.live_during(256, 0, 2),
        Buffer.live_during(512, 2, 6),
        Buffer.live_during(256, 4, 6),
    ]
    steps = [(step, step) for step in range(6)]

    def first_targets(capacity: int, keeps_order: bool) -> dict[int, int]:
        return next(
            LoadHoisting(
                buffers,
                steps,
                {2: 1, 4: 2},
                capacity,
                lambda _, position: position == 1,
                keeps_order=keeps_order,
            ).candidate_target_positions()
        )

    assert first_targets(768, keeps_order=True) == {4: 3}
    assert first_targets(768, keeps_order=False) == {4: 2}
