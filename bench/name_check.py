"""Check of the names given to a script."""

from __future__ import annotations

import sys
from collections.abc import Collection, Sequence


def are_known(names: Sequence[str], known: Collection[str]) -> bool:
    """Return `True` if all names are known; report the first unknown name."""
    unknown = next((name for name in names if name not in known), None)
    if unknown is not None:
        print(f"expected some of {', '.join(known)}, got {unknown}", file=sys.stderr)
    return unknown is None
