"""The parts of an FX graph that can be converted."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from operator import getitem
from typing import Any

import torch
from torch import fx
from torch.fx.passes.infra.partitioner import CapabilityBasedPartitioner
from torch.fx.passes.operator_support import OperatorSupportBase

from tlf.frontend.torch.convert import name_of, why_not


@dataclass(frozen=True)
class Reason:
    """An operation that cannot be converted, and why."""

    operation: str
    text: str


@dataclass(frozen=True)
class Parts:
    """A graph in which each convertible part is a call of a submodule."""

    module: fx.GraphModule
    submodules: tuple[str, ...]
    left_out: tuple[Reason, ...]
    compiled: int
    """How many operations are in submodules."""


class _Support(OperatorSupportBase):
    """Whether nodes can be converted, and why not."""

    def __init__(self) -> None:
        self.reasons: dict[fx.Node, str | None] = {}

    def is_node_supported(
        self, submodules: Mapping[str, torch.nn.Module], node: fx.Node
    ) -> bool:
        """Whether a node can be in a part."""
        return self.why_not(node) is None

    def why_not(self, node: fx.Node) -> str | None:
        """Why a node cannot be in a part; none if it can."""
        if node not in self.reasons:
            self.reasons[node] = self._judge(node)
        return self.reasons[node]

    def _judge(self, node: fx.Node) -> str | None:
        if node.op != "call_function":
            return f"it is a {node.op}"
        if node.target is getitem:
            source = node.args[0]
            assert isinstance(source, fx.Node)
            return self.why_not(source)
        return why_not(node)


def partitioned(source: fx.GraphModule) -> Parts:
    """Split a graph of ATen operations with fake tensors in its metadata."""
    support = _Support()
    partitioner: Any = CapabilityBasedPartitioner(
        source, support, allows_single_node_partition=True
    )
    calls = [node for node in source.graph.nodes if node.op == "call_function"]
    left_out = tuple(
        Reason(name_of(node.target), text)
        for node in calls
        if node.target is not getitem and (text := support.why_not(node)) is not None
    )
    kept = [node for node in calls if node.target is not getitem]
    module: fx.GraphModule = partitioner.partition_and_fuse()
    names = [
        str(node.target)
        for node in module.graph.find_nodes(op="call_module")
        if str(node.target).startswith("fused_")
    ]
    return Parts(module, tuple(names), left_out, len(kept) - len(left_out))
