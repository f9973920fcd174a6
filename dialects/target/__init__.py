"""
Target description of the dialects, the module attribute `tlf.target`: memory levels,
engines and tiling constraints.
"""

from tlf.dialects.target.description import (
    DescriptionError,
    TargetSpec,
    load_target_spec,
    preset_names,
    target_from_data,
)
from tlf.dialects.target.schema import Level, LevelKind, TilingConstraints
from tlf.dialects.target.setting_parsing import parse_bytes

__all__ = [
    "DescriptionError",
    "Level",
    "LevelKind",
    "TargetSpec",
    "TilingConstraints",
    "load_target_spec",
    "parse_bytes",
    "preset_names",
    "target_from_data",
]
