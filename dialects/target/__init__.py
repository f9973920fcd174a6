"""Target descriptions: chips as data, with presets and user files."""

from tlf.dialects.target.description import (
    Level,
    LevelKind,
    Target,
    Tiling,
    from_data,
    load,
    presets,
)

__all__ = ["Level", "LevelKind", "Target", "Tiling", "from_data", "load", "presets"]
