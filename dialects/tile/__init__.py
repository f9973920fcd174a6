"""
The `tile` dialect: loops over tiles of tensors.

Tiles are cut with `tile.slice`, computed with the operations of the `graph` dialect on
smaller tensors, and put into their place with `tile.deslice`. A tensor's encoding names
the memory level it lives in, and the order of its axes there.
"""

from xdsl.ir import Dialect

from tlf.dialects.encoding import EncodingAttr, layout_of, level_of, stored_in
from tlf.dialects.tile.attributes import (
    LoopKind,
    LoopKindAttr,
    Mapping,
    MappingAttr,
)
from tlf.dialects.tile.gather import GatherOp
from tlf.dialects.tile.loops import WhileOp, YieldOp
from tlf.dialects.tile.make import EmptyOp, FillOp, RollOp
from tlf.dialects.tile.mask import MaskOp
from tlf.dialects.tile.moves import DesliceOp, SliceOp
from tlf.dialects.tile.scatter import ScatterOp
from tlf.support.affine.mixed_index import Index

Tile = Dialect(
    "tile",
    [
        DesliceOp,
        EmptyOp,
        FillOp,
        GatherOp,
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
    "DesliceOp",
    "EmptyOp",
    "EncodingAttr",
    "FillOp",
    "GatherOp",
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
    "stored_in",
]
