"""
Launch of Triton kernels: CUDA graphs of the launches of a plan, by the addresses that
they access.

A graph contains addresses, so it is replayed only for the same ones. The allocator of
PyTorch
returns the same few addresses to programs that call a function repeatedly.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from typing import Protocol, TypeAlias

import torch

Addresses: TypeAlias = tuple[int, ...]

MAX_GRAPHS = 8
"""Maximum number of graphs of a plan."""

MAX_SEEN = 64
"""Number of addresses without a graph that are remembered."""

MAX_WASTED_CAPTURES = 16
"""Captures without as many replays after which nothing is captured any more."""


class Graph(Protocol):
    """Launches that are started together."""

    def replay(self) -> None:
        """Start the launches on the current stream."""
        ...


class GraphCache:
    """
    Graphs of the launches of a plan on one device, at most `MAX_GRAPHS`.

    Launches are captured when they repeat with the same addresses. If the addresses of
    calls differ so often that graphs are not replayed, no further ones are captured.
    """

    def __init__(self) -> None:
        self._graphs = OrderedDict[Addresses, Graph]()
        self._seen = OrderedDict[Addresses, None]()
        self._wasted = 0

    def find_graph(self, addresses: Addresses) -> Graph | None:
        """Return the graph for some addresses, or `None` if there is none."""
        if (graph := self._graphs.get(addresses)) is not None:
            self._graphs.move_to_end(addresses)
            self._wasted = 0
        return graph

    def capture_if_repeated(
        self, addresses: Addresses, capture: Callable[[], Graph]
    ) -> None:
        """
        Capture the launches at some addresses if these have been seen before, by
        `capture`.
        """
        if self._wasted >= MAX_WASTED_CAPTURES:
            return
        if addresses not in self._seen:
            self._seen[addresses] = None
            if len(self._seen) > MAX_SEEN:
                self._seen.popitem(last=False)
            return
        del self._seen[addresses]
        self._wasted += 1
        if len(self._graphs) == MAX_GRAPHS:
            self._graphs.popitem(last=False)
        self._graphs[addresses] = capture()


def capture_launches(
    launch: Callable[[torch.cuda.Stream], None], device: torch.device
) -> Graph:
    """
    Return a graph of the launches on a stream, which do not run now. Other threads may
    use the device meanwhile. The kernels must be loaded, and must not allocate memory.
    """
    graph, stream = torch.cuda.CUDAGraph(), torch.cuda.Stream(device)
    with torch.cuda.stream(stream):
        graph.capture_begin(capture_error_mode="thread_local")
        try:
            launch(stream)
        finally:
            graph.capture_end()
    return graph
