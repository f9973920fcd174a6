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
from tlf.dialects.target.sizes import bytes_of

__all__ = [
    "Level",
    "LevelKind",
    "Target",
    "Tiling",
    "bytes_of",
    "from_data",
    "load",
    "presets",
]
