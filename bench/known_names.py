"""What scripts say of names that they do not know."""

from __future__ import annotations

import sys
from collections.abc import Collection, Sequence


def are_known(names: Sequence[str], known: Collection[str]) -> bool:
    """Whether all names are known; the first one that is not is told."""
    unknown = next((name for name in names if name not in known), None)
    if unknown is not None:
        print(f"expected some of {', '.join(known)}, got {unknown}", file=sys.stderr)
    return unknown is None
