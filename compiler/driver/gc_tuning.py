"""Driver: tuning of Python's cyclic garbage collection during a compilation."""

from __future__ import annotations

import gc
from collections.abc import Generator
from contextlib import contextmanager

YOUNG_THRESHOLD = 50_000
"""
Number of allocations between collections. Python's default of 700 to 2,000 costs a
tenth of the compile time, because programs contain many long-lived cycles.
"""


@contextmanager
def reduce_garbage_collections() -> Generator[None]:
    """Reduce the frequency of garbage collection inside of the context."""
    young, *older = gc.get_threshold()
    if young:
        gc.set_threshold(max(young, YOUNG_THRESHOLD), *older)
    try:
        yield
    finally:
        gc.set_threshold(young, *older)
