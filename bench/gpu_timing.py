"""Time functions of tensors on a GPU, without launch overhead."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from statistics import median
from typing import Any

import torch

COLD = 200_000_000
"""Bytes of the distinct tensors that calls cycle through; larger than the cache."""

MOST_SETS = 64
"""Maximum number of sets of tensors that calls cycle through."""

LAUNCHES = 20
"""Minimum number of calls between two readings of the clock."""

READINGS = 9

cuda: Any = torch.cuda
random: Callable[..., Any] = getattr(torch, "randn")
seed: Callable[[int], object] = getattr(torch, "manual_seed")

DTYPES = {"f32": torch.float32, "f16": torch.float16, "bf16": torch.bfloat16}


def random_tensors(shapes: Sequence[Sequence[int]], element: str) -> list[Any]:
    """Return random tensors on the GPU."""
    return [random(*shape, device="cuda").to(DTYPES[element]) for shape in shapes]


def sets(shapes: Sequence[Sequence[int]], element: str, size: int) -> list[list[Any]]:
    """Return sets of tensors, `size` bytes each, that together exceed the cache."""
    seed(0)
    count = max(2, min(MOST_SETS, -(-COLD // max(1, size))))
    return [random_tensors(shapes, element) for _ in range(count)]


def microseconds(
    run: Callable[[Sequence[Any]], Any], given: Sequence[list[Any]]
) -> float:
    """
    Return the microseconds of one call among many in a CUDA graph.

    The calls cycle through the sets of tensors, so that inputs come from memory.
    """
    stream = cuda.Stream()
    stream.wait_stream(cuda.current_stream())
    with cuda.stream(stream):
        for each in given[:2]:
            run(each)
    cuda.current_stream().wait_stream(stream)
    cuda.synchronize()
    graph, results = cuda.CUDAGraph(), list[Any]()
    rounds = -(-LAUNCHES // len(given))
    with cuda.graph(graph):
        for _ in range(rounds):
            results.append([run(each) for each in given])
    return _time_replay(graph) / (rounds * len(given))


def _time_replay(graph: Any) -> float:
    """Return the median time of a graph, in microseconds."""
    for _ in range(2):
        graph.replay()
    cuda.synchronize()
    times: list[float] = []
    for _ in range(READINGS):
        first, last = (cuda.Event(enable_timing=True) for _ in range(2))
        first.record()
        graph.replay()
        last.record()
        last.synchronize()
        times.append(1e3 * float(first.elapsed_time(last)))
    return median(times)


def error(got: Any, expected: Any) -> float:
    """Return the distance of two tensors relative to the norm of the second."""
    reference = expected.double()
    return float((got.double() - reference).norm() / reference.norm().clamp(min=1e-30))
