"""Time functions of tensors on a GPU, without launch overhead."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from statistics import median
from typing import Any

import torch

COLD = 200_000_000
"""Bytes of different tensors that are used in turn: more than the cache holds."""

MOST_SETS = 64
"""The most sets of tensors that are used in turn."""

LAUNCHES = 20
"""Calls between two readings of the clock, at least."""

READINGS = 9

cuda: Any = torch.cuda
random: Callable[..., Any] = getattr(torch, "randn")
seed: Callable[[int], object] = getattr(torch, "manual_seed")

DTYPES = {"f32": torch.float32, "f16": torch.float16, "bf16": torch.bfloat16}


def random_tensors(shapes: Sequence[Sequence[int]], element: str) -> list[Any]:
    """Random tensors on the GPU."""
    return [random(*shape, device="cuda").to(DTYPES[element]) for shape in shapes]


def sets(shapes: Sequence[Sequence[int]], element: str, size: int) -> list[list[Any]]:
    """As many sets of tensors as do not fit in the cache, `size` bytes each."""
    seed(0)
    count = max(2, min(MOST_SETS, -(-COLD // max(1, size))))
    return [random_tensors(shapes, element) for _ in range(count)]


def microseconds(
    run: Callable[[Sequence[Any]], Any], given: Sequence[list[Any]]
) -> float:
    """
    Return the microseconds of one call on the GPU among many, one after the other: a
    graph of calls, on one set of tensors after the other, so that inputs come from
    memory.
    """
    side = cuda.Stream()
    side.wait_stream(cuda.current_stream())
    with cuda.stream(side):
        for each in given[:2]:
            run(each)
    cuda.current_stream().wait_stream(side)
    cuda.synchronize()
    graph, kept = cuda.CUDAGraph(), list[Any]()
    rounds = -(-LAUNCHES // len(given))
    with cuda.graph(graph):
        for _ in range(rounds):
            kept.append([run(each) for each in given])
    return _time_replay(graph) / (rounds * len(given))


def _time_replay(graph: Any) -> float:
    """The median time of a graph, in microseconds."""
    for _ in range(2):
        graph.replay()
    cuda.synchronize()
    found: list[float] = []
    for _ in range(READINGS):
        first, last = (cuda.Event(enable_timing=True) for _ in range(2))
        first.record()
        graph.replay()
        last.record()
        last.synchronize()
        found.append(1e3 * float(first.elapsed_time(last)))
    return median(found)


def error(got: Any, expected: Any) -> float:
    """The distance of two tensors relative to the size of the second."""
    wide = expected.double()
    return float((got.double() - wide).norm() / wide.norm().clamp(min=1e-30))
