"""Memory of a GPU that calls allocate, and that compiled programs keep."""

from __future__ import annotations

import gc
from collections.abc import Callable, Sequence
from typing import Any

import torch

from tlf.runtime.triton.executable_plan import Executable

MEGABYTE = 1e6

cuda: Any = torch.cuda


def measure_peak(run: Callable[..., Any], arguments: Sequence[Any]) -> float:
    """Return the peak memory of a call, in MB, above the memory allocated before."""
    cuda.synchronize()
    before = cuda.memory_allocated()
    cuda.reset_peak_memory_stats()
    run(*arguments)
    cuda.synchronize()
    return (cuda.max_memory_allocated() - before) / MEGABYTE


def measure_kept_memory() -> float:
    """Return the MB of temporaries and constants that programs keep for calls."""
    # Unlike `isinstance`, this does not ask objects for their class.
    programs = [each for each in gc.get_objects() if type(each) is Executable]
    return sum(each.kept_bytes for each in programs) / MEGABYTE
