"""Tuning of the cyclic garbage collection during a compilation."""

from __future__ import annotations

import gc
from collections.abc import Generator
from contextlib import contextmanager

YOUNG_THRESHOLD = 50_000
"""
So many objects are made between collections. Python's own 700 to 2,000 cost a tenth of
a compilation, whose programs are full of cycles that stay.
"""


@contextmanager
def reduce_collections() -> Generator[None]:
    """Reduce the frequency of garbage collection for a while."""
    young, *older = gc.get_threshold()
    if young:
        gc.set_threshold(max(young, YOUNG_THRESHOLD), *older)
    try:
        yield
    finally:
        gc.set_threshold(young, *older)
