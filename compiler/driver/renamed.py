"""Former names of passes, for errors that say the new ones."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

PASSES: Mapping[str, str] = MappingProxyType(
    {
        "graph-analyze": "graph-annotate-roofline",
        "graph-bound": "graph-annotate-lower-bound",
        "graph-choose-layouts": "graph-assign-layouts",
        "graph-choose-tiles": "graph-select-tile-sizes",
        "graph-collapse-axes": "graph-collapse-dims",
        "graph-copy-joined": "graph-materialize-concat-operands",
        "graph-expose-cascades": "graph-expose-cascaded-reductions",
        "graph-fold-movements": "graph-fold-transposes",
        "graph-fold-ramps": "graph-fold-affine-indices",
        "graph-free-layouts": "graph-relax-io-layouts",
        "graph-keep-wide": "graph-promote-intermediates",
        "graph-merge-products": "graph-merge-matmuls",
        "graph-move-factors": "graph-hoist-scales",
        "graph-narrow-integers": "graph-int-range-narrowing",
        "graph-share-joined": "graph-reuse-concat",
        "graph-split-joined": "graph-distribute-over-concat",
        "graph-split-reductions": "graph-split-k-reductions",
        "mem-assign-cores": "mem-distribute-to-cores",
        "mem-check-copies": "mem-report-copies",
        "mem-fold-unit-extents": "mem-fold-unit-dims",
        "tile-predict": "tile-estimate-cycles",
    }
)
"""The present name of each pass that had another one in version 0.1.0."""
