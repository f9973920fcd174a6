"""Graphs of launches, by addresses."""

import logging
from dataclasses import dataclass, field

import pytest

from tlf.runtime.triton.graph_cache import (
    MAX_FAILURES,
    MAX_GRAPHS,
    MAX_SEEN,
    MAX_WASTED_CAPTURES,
    Addresses,
    GraphCache,
)


@dataclass(frozen=True)
class Captured:
    addresses: Addresses
    failing: set[Addresses] = field(default_factory=set[Addresses])

    def replay(self, stream: int) -> None:
        """Nothing runs here."""
        assert stream == 7
        if self.addresses in self.failing:
            raise RuntimeError("out of\nmemory")


class Calls:
    """Calls that are captured as a cache requests."""

    def __init__(self) -> None:
        self.cache = GraphCache("f")
        self.captured: list[Addresses] = []
        self.failing: set[Addresses] = set()
        """Addresses at which captures and replays fail."""

    def __call__(self, *addresses: int) -> bool:
        """Return `True` if a graph was replayed."""
        if self.cache.replay_graph(addresses, 7):
            return True
        self.cache.capture_if_repeated(addresses, lambda: self._capture(addresses))
        return False

    def _capture(self, addresses: Addresses) -> Captured:
        self.captured.append(addresses)
        graph = Captured(addresses, self.failing)
        graph.replay(7)
        return graph


def test_repeated_addresses_are_captured_once():
    call = Calls()
    assert [call(1, 2) for _ in range(5)] == [False, False, True, True, True]
    assert call.captured == [(1, 2)]


def test_alternating_addresses_have_a_graph_each():
    call = Calls()
    assert not any(call(at) for at in (1, 2, 1, 2))
    assert all(call(at) for at in (1, 2, 1, 2))


def test_the_least_recently_used_graph_is_dropped():
    call = Calls()
    for at in range(MAX_GRAPHS):
        assert not any((call(at), call(at)))
    assert call(0)
    assert not any((call(99), call(99)))
    assert call(0)
    assert not call(1)


def test_changing_addresses_are_not_captured():
    call = Calls()
    assert not any(call(at) for at in range(3 * MAX_SEEN))
    assert not call.captured


def test_captures_end_if_no_graph_is_replayed():
    call = Calls()
    for at in range(2 * MAX_WASTED_CAPTURES):
        call(at)
        call(at)
    assert len(call.captured) == MAX_WASTED_CAPTURES


def test_captures_that_fail_are_not_tried_for_ever(caplog: pytest.LogCaptureFixture):
    call = Calls()
    call.failing = {(1,)}
    assert not any(call(1) for _ in range(20))
    assert call.captured == MAX_FAILURES * [(1,)]
    assert not any(call(2) for _ in range(4))
    (record,) = caplog.records
    assert record.levelno == logging.WARNING
    assert record.getMessage() == (
        "`f` is launched without a CUDA graph: RuntimeError: out of memory"
    )


def test_a_capture_that_failed_once_is_repeated():
    call = Calls()
    call.failing = {(1,)}
    assert not any(call(1) for _ in range(2))
    call.failing.clear()
    assert [call(1) for _ in range(4)] == [False, False, True, True]


def test_a_graph_that_fails_is_dropped(caplog: pytest.LogCaptureFixture):
    call = Calls()
    assert [call(1) for _ in range(3)] == [False, False, True]
    call.failing.add((1,))
    assert not call(1)
    call.failing.clear()
    assert [call(1) for _ in range(2)] == [False, True]
    assert len(caplog.records) == 1


def test_no_graph_is_replayed_after_many_failures():
    call = Calls()
    assert not any((call(1), call(1), call(2), call(2)))
    call.failing.add((1,))
    assert not any(call(1) for _ in range(3 * MAX_FAILURES))
    assert not call(2)
