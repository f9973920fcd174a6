"""
The `mem` dialect: buffers in memory levels, moves between them, and compute.

Buffers are memrefs whose memory space names a level (`memref<16x64xf32, "L2">`).
`mem.dma` moves boxes between levels, and compute operations work on whole buffers. On
targets whose innermost level holds values, `mem.load` and `mem.store` move between
memrefs and tensors, and compute operations return tensors. Loops are `scf.parallel` and
`scf.for`. Views are `memref.subview` and `memref.reinterpret_cast`; views with indices
that wrap are `mem.window` and `mem.collapse`.

```mlir
func.func @double(%x: memref<1000xf32, "L3">, %y: memref<1000xf32, "L3">)
    attributes {tlf.results = 1 : i64} {
  %zero = arith.constant 0 : index
  %n = arith.constant 1000 : index
  %step = arith.constant 128 : index
  %far = mem.alloc : memref<128xf32, "L2">
  %near = mem.alloc : memref<128xf32, "L1">
  scf.for %i = %zero to %n step %step {
    %t0 = mem.dma %x[%i] to %far[0] size [128] fill 0.0
        : memref<1000xf32, "L3"> to memref<128xf32, "L2">
    mem.wait %t0
    %t1 = mem.dma %far[0] to %near[0] size [128]
        : memref<128xf32, "L2"> to memref<128xf32, "L1">
    mem.wait %t1
    mem.map ins(%near : memref<128xf32, "L1">) outs(%near : memref<128xf32, "L1">)
        domain [128] maps [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>] {
    ^bb0(%a: f32):
      %b = arith.addf %a, %a : f32
      mem.yield %b : f32
    }
    %t2 = mem.dma %near[0] to %far[0] size [128]
        : memref<128xf32, "L1"> to memref<128xf32, "L2">
    mem.wait %t2
    %t3 = mem.dma %far[0] to %y[%i] size [128]
        : memref<128xf32, "L2"> to memref<1000xf32, "L3">
    mem.wait %t3
  }
  func.return
}
```
"""

from typing import TypeAlias

from xdsl.ir import Dialect

from tlf.dialects.combining_kind import CombiningKind, CombiningKindAttr
from tlf.dialects.mem.accumulating_operation import AccumulatingOp
from tlf.dialects.mem.alloc_and_dma import AllocOp, DmaOp, TokenType, WaitOp
from tlf.dialects.mem.argsort import ArgsortOp
from tlf.dialects.mem.atomic_scatter import ScatterOp
from tlf.dialects.mem.buffer_checks import dimensions_in_subview_type, level_of
from tlf.dialects.mem.collapse import CollapseOp
from tlf.dialects.mem.compute_ops import COMBINERS, ContractOp, MapOp, ReduceOp
from tlf.dialects.mem.dma_gather import DmaGatherOp
from tlf.dialects.mem.dma_scatter import DmaScatterOp
from tlf.dialects.mem.fill import FillOp, MaskOp
from tlf.dialects.mem.gather_load import GatherOp
from tlf.dialects.mem.im2col_load import Im2colOp
from tlf.dialects.mem.load_store import LoadOp, StoreOp
from tlf.dialects.mem.remainder import RemFOp
from tlf.dialects.mem.ring_window import WindowOp, window_type
from tlf.dialects.mem.scan import ScanOp
from tlf.dialects.mem.structured_operation import StructuredOp, YieldOp
from tlf.dialects.mixed_offsets import Index, merge_offsets, split_offsets
from tlf.dialects.types import Shaped
from tlf.support.affine.linear_access import (
    is_identity,
    is_projection,
    linear_accesses_of_map,
)

Move: TypeAlias = DmaOp | DmaGatherOp | DmaScatterOp
"""Operations that start a move between two buffers and return its token."""

Mem = Dialect(
    "mem",
    [
        AllocOp,
        ArgsortOp,
        CollapseOp,
        ContractOp,
        DmaGatherOp,
        DmaOp,
        DmaScatterOp,
        FillOp,
        GatherOp,
        Im2colOp,
        LoadOp,
        MapOp,
        MaskOp,
        ReduceOp,
        RemFOp,
        ScanOp,
        ScatterOp,
        StoreOp,
        WaitOp,
        WindowOp,
        YieldOp,
    ],
    [
        CombiningKindAttr,
        TokenType,
    ],
)

__all__ = [
    "COMBINERS",
    "AccumulatingOp",
    "AllocOp",
    "ArgsortOp",
    "CollapseOp",
    "CombiningKind",
    "CombiningKindAttr",
    "ContractOp",
    "DmaGatherOp",
    "DmaOp",
    "DmaScatterOp",
    "FillOp",
    "GatherOp",
    "Im2colOp",
    "Index",
    "LoadOp",
    "MapOp",
    "MaskOp",
    "Mem",
    "Move",
    "ReduceOp",
    "RemFOp",
    "ScanOp",
    "ScatterOp",
    "Shaped",
    "StoreOp",
    "StructuredOp",
    "TokenType",
    "WaitOp",
    "WindowOp",
    "YieldOp",
    "dimensions_in_subview_type",
    "is_identity",
    "is_projection",
    "level_of",
    "linear_accesses_of_map",
    "merge_offsets",
    "split_offsets",
    "window_type",
]
