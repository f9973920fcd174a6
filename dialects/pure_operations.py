"""IR utility of the dialects: query for classes of operations without effects."""

from __future__ import annotations

from functools import cache

from xdsl.ir import Operation
from xdsl.traits import MemoryEffect, NoMemoryEffect


@cache
def is_pure(kind: type[Operation]) -> bool:
    """Return `True` if no operation of a class has effects."""
    effects = kind.get_traits_of_type(MemoryEffect)
    return bool(effects) and all(isinstance(each, NoMemoryEffect) for each in effects)
