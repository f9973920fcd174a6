"""
The `tile` dialect: loop nests over tiles of tensors.

Tiles are extracted with `tile.slice`, computed with operations of the `graph` dialect,
and inserted with `tile.deslice`. The encoding of a tensor is its memory level, and the
order of its axes in memory.
"""

from xdsl.ir import Dialect

from tlf.dialects.encoding_attribute import (
    EncodingAttr,
    layout_of,
    level_of,
    with_axis_order,
)
from tlf.dialects.mixed_offsets import Index
from tlf.dialects.tile.argsort import ArgsortOp
from tlf.dialects.tile.gather import GatherOp
from tlf.dialects.tile.im2col import Im2colOp
from tlf.dialects.tile.loop_attributes import (
    LoopKind,
    LoopKindAttr,
    Mapping,
    MappingAttr,
)
from tlf.dialects.tile.mask import MaskOp
from tlf.dialects.tile.scatter import ScatterOp
from tlf.dialects.tile.slice_ops import DesliceOp, SliceOp
from tlf.dialects.tile.tile_creation import EmptyOp, FillOp, RollOp
from tlf.dialects.tile.while_loop import WhileOp, YieldOp

Tile = Dialect(
    "tile",
    [
        ArgsortOp,
        DesliceOp,
        EmptyOp,
        FillOp,
        GatherOp,
        Im2colOp,
        ScatterOp,
        MaskOp,
        RollOp,
        SliceOp,
        WhileOp,
        YieldOp,
    ],
    [
        EncodingAttr,
        LoopKindAttr,
        MappingAttr,
    ],
)

__all__ = [
    "ArgsortOp",
    "DesliceOp",
    "EmptyOp",
    "EncodingAttr",
    "FillOp",
    "GatherOp",
    "Im2colOp",
    "Index",
    "LoopKind",
    "LoopKindAttr",
    "Mapping",
    "MappingAttr",
    "MaskOp",
    "RollOp",
    "ScatterOp",
    "SliceOp",
    "Tile",
    "WhileOp",
    "YieldOp",
    "layout_of",
    "level_of",
    "with_axis_order",
]
