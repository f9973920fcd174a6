"""Frequency of Python's cyclic garbage collection."""

from __future__ import annotations

import gc
from collections.abc import Generator
from contextlib import contextmanager

YOUNG = 50_000
"""
So many objects are made between collections. Python's own 700 to 2,000 cost a tenth of
a compilation, whose programs are full of cycles that stay.
"""


@contextmanager
def few_collections() -> Generator[None]:
    """Collect less often for a while, unless collections are off or as rare already."""
    young, *older = gc.get_threshold()
    if young:
        gc.set_threshold(max(young, YOUNG), *older)
    try:
        yield
    finally:
        gc.set_threshold(young, *older)
