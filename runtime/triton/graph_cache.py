"""
Launch of Triton kernels: CUDA graphs of the launches of a plan, by the addresses that
they access.

A graph contains addresses, so it is replayed only for the same ones. The allocator of
PyTorch returns the same few addresses to programs that call a function repeatedly.
"""

from __future__ import annotations

import logging
from collections import OrderedDict
from collections.abc import Callable
from typing import Protocol, TypeAlias

LOG = logging.getLogger("tlf.triton")

Addresses: TypeAlias = tuple[int, ...]

MAX_GRAPHS = 8
"""Maximum number of graphs of a plan."""

MAX_SEEN = 64
"""Number of addresses without a graph that are remembered."""

MAX_WASTED_CAPTURES = 16
"""Captures without as many replays after which nothing is captured any more."""

MAX_FAILURES = 3
"""Failures of graphs after which nothing is captured or replayed any more."""


class Graph(Protocol):
    """Launches that are started together."""

    def replay(self, stream: int) -> None:
        """Start the launches on a stream."""
        ...


class GraphCache:
    """
    Graphs of the launches of a plan on one device, at most `MAX_GRAPHS`.

    Launches are captured when they repeat with the same addresses. If the addresses of
    calls differ so often that graphs are not replayed, no further ones are captured. A
    failure of a graph is no error, as its launches can be started one by one: it is
    logged once.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._graphs = OrderedDict[Addresses, Graph]()
        self._seen = OrderedDict[Addresses, None]()
        self._wasted = 0
        self._failures = 0

    def replay_graph(self, addresses: Addresses, stream: int) -> bool:
        """
        Replay the graph for some addresses on a stream. Returns `False` if there is
        none, or if it failed, after which nothing was started.
        """
        if (graph := self._graphs.get(addresses)) is None:
            return False
        try:
            graph.replay(stream)
        except Exception as error:
            self._note_failure(error)
            self._graphs.pop(addresses, None)
            return False
        self._graphs.move_to_end(addresses)
        self._wasted = 0
        return True

    def capture_if_repeated(
        self, addresses: Addresses, capture: Callable[[], Graph]
    ) -> None:
        """
        Capture the launches at some addresses if these have been seen before, by
        `capture`.
        """
        if self._wasted >= MAX_WASTED_CAPTURES or self._failures >= MAX_FAILURES:
            return
        if addresses not in self._seen:
            self._seen[addresses] = None
            if len(self._seen) > MAX_SEEN:
                self._seen.popitem(last=False)
            return
        del self._seen[addresses]
        try:
            graph = capture()
        except Exception as error:
            self._note_failure(error)
            return
        self._wasted += 1
        if len(self._graphs) == MAX_GRAPHS:
            self._graphs.popitem(last=False)
        self._graphs[addresses] = graph

    def _note_failure(self, error: Exception) -> None:
        """Log the first failure; after the last one, forget all graphs."""
        self._failures += 1
        if self._failures == 1:
            kind, text = type(error).__name__, " ".join(str(error).split())
            LOG.warning(
                "`%s` is launched without a CUDA graph: %s: %s", self._name, kind, text
            )
        if self._failures >= MAX_FAILURES:
            self._graphs.clear()
