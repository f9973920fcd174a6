"""The ways down: conversions from one dialect to the next, and the final targets."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from xdsl.passes import ModulePass
    from xdsl.utils.target import Target


def get_all_conversions() -> dict[str, Callable[[], type[ModulePass]]]:
    """Return all TLF conversions by name. Each is imported when it is first needed."""

    return {}


def get_all_targets() -> dict[str, Callable[[], type[Target]]]:
    """Return all TLF output targets by name, imported when first needed."""

    return {}
