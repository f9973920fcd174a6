"""Accelerators that the nodes of an FX graph compute on."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import fx
from torch.utils import _pytree as pytree


def accelerators_of(node: fx.Node) -> frozenset[torch.device]:
    """
    Devices other than the CPU that a node reads tensors from or leaves its results on,
    by the fake tensors in `node.meta["val"]`.
    """
    values = [each.meta.get("val") for each in (node, *node.all_input_nodes)]
    return frozenset(
        leaf.device
        for leaf in pytree.tree_leaves(values)
        if isinstance(leaf, torch.Tensor) and leaf.device.type != "cpu"
    )


def list_accelerators(graph: fx.Graph) -> Sequence[torch.device]:
    """The accelerators that the operations of a graph use, in order of first use."""
    found: dict[torch.device, None] = {}
    for node in graph.nodes:
        found |= dict.fromkeys(sorted(accelerators_of(node), key=str))
    return tuple(found)
