"""Graphs of launches, by addresses."""

from dataclasses import dataclass

from tlf.runtime.triton.graph_cache import (
    MAX_GRAPHS,
    MAX_SEEN,
    MAX_WASTED_CAPTURES,
    Addresses,
    GraphCache,
)


@dataclass(frozen=True)
class Captured:
    addresses: Addresses

    def replay(self) -> None:
        """Nothing runs here."""


class Calls:
    """Calls that are captured as a cache requests."""

    def __init__(self) -> None:
        self.cache = GraphCache()
        self.captured: list[Addresses] = []

    def __call__(self, *addresses: int) -> bool:
        """Return `True` if a graph was found."""
        if (graph := self.cache.find_graph(addresses)) is not None:
            assert graph == Captured(addresses)
            return True
        self.cache.capture_if_repeated(addresses, lambda: self._capture(addresses))
        return False

    def _capture(self, addresses: Addresses) -> Captured:
        self.captured.append(addresses)
        return Captured(addresses)


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
