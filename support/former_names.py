"""
Tables without IR of former names of passes, options and plan keys, for errors that name
the new ones.
"""

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
"""Current name of each pass that was renamed after version 0.1.0."""

OPTIONS: Mapping[str, Mapping[str, str]] = MappingProxyType(
    {
        "graph-assign-layouts": {"roll": "sliding-window"},
        "graph-group": {
            "contractions": "max-contractions",
            "operations": "max-operations",
        },
        "graph-partition": {
            "contractions": "max-contractions",
            "effort": "max-evaluated-operations",
            "groups": "max-group-size",
            "keep": "residency",
            "operations": "max-operations",
            "roll": "sliding-window",
            "states": "max-states",
            "traffic": "traffic-weight",
            "tries": "max-evaluations",
            "work": "max-analyzed-operations",
        },
        "graph-select-tile-sizes": {
            "roll": "sliding-window",
            "tries": "max-evaluations",
        },
    }
)
"""Current name of each pass option that was renamed after version 0.1.0."""

PLAN_KEYS: Mapping[str, str] = MappingProxyType(
    {
        "hold": "resident",
        "keep": "retain",
        "lead": "prefetch_distance",
        "pieces": "reduce_stages",
        "roll": "sliding",
    }
)
"""Current name of each plan key that was renamed after version 0.1.0."""
