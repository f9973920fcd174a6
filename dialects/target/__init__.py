"""Target descriptions: chips as data, with presets and user files."""

from tlf.dialects.target.description import (
    DescriptionError,
    Target,
    from_data,
    load,
    presets,
)
from tlf.dialects.target.schema import Level, LevelKind, Tiling
from tlf.dialects.target.sizes import bytes_of

__all__ = [
    "DescriptionError",
    "Level",
    "LevelKind",
    "Target",
    "Tiling",
    "bytes_of",
    "from_data",
    "load",
    "presets",
]
