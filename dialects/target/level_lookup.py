"""Target description of the dialects: lookup of its memory levels by name."""

from __future__ import annotations

from xdsl.utils.exceptions import PassFailedException

from tlf.dialects.target import Level, TargetSpec


def find_tile_level(target: TargetSpec, name: str | None) -> Level:
    """
    Return the level `name` among those that tiles are moved to, by default the
    outermost. Raises `PassFailedException` for other names.
    """
    levels = {level.name: level for level in target.tile_levels}
    if name is None:
        return target.tile_levels[0]
    if name not in levels:
        known = ", ".join(levels)
        raise PassFailedException(f"expected one of the levels {known}, got {name}")
    return levels[name]
