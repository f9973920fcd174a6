"""
The named pipelines: what `-p NAME` stands for, written as `-p` would take it.

A pipeline may name others; its options are those of the passes inside.
"""

from collections.abc import Mapping

PIPELINES: Mapping[str, str] = {
    "tidy": "canonicalize,tlf-cse,dce",
    # Whole tensors: composites become simple operations.
    "graph-pipeline": "tidy,graph-decompose,tidy",
    # One level of tiles after the other, then buffers, addresses and instructions.
    "npu-pipeline": (
        "graph-pipeline,"
        "graph-group{level=L2},graph-choose-tiles{level=L2},dce,convert-graph-to-tile,"
        "graph-group{level=L1},graph-choose-tiles{level=L1},dce,convert-graph-to-tile,"
        "tidy,convert-tile-to-mem,tidy,mem-split-maps,mem-plan,convert-mem-to-npu,tidy"
    ),
    # One kernel per group, its tiles values that Triton manages.
    "triton-pipeline": (
        "graph-pipeline,graph-group,graph-choose-tiles,dce,convert-graph-to-tile,"
        "tidy,convert-tile-to-mem,tidy,convert-mem-to-triton"
    ),
}
