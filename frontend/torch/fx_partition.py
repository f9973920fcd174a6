"""Import of FX graphs: partition into convertible subgraphs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from operator import getitem
from typing import Any

import torch
from torch import fx
from torch.fx.passes.infra.partitioner import CapabilityBasedPartitioner
from torch.fx.passes.operator_support import OperatorSupportBase
from torch.utils import _pytree as pytree

from tlf.frontend.torch.as_strided_views import (
    duplicate_addressed_views,
    find_uncertain_layouts,
)
from tlf.frontend.torch.convert import Objection, Refusal, find_refusal, name_of
from tlf.frontend.torch.value_checks import needs_value_check


@dataclass(frozen=True)
class UnconvertedOperation:
    """Operation that cannot be converted, with the reason."""

    operation: str
    text: str
    is_fault: bool = False
    """True if the conversion failed; false if there is no conversion."""


@dataclass(frozen=True)
class PartitionedGraph:
    """Graph in which each convertible partition is a call of a submodule."""

    module: fx.GraphModule
    submodules: tuple[str, ...]
    left_out: tuple[UnconvertedOperation, ...]
    operation_count: int
    """Number of operations in submodules."""


class _NodeSupport(OperatorSupportBase):
    """Support of nodes for partitioning, with the reason for each unsupported node."""

    def __init__(self, objection: Objection | None, checked: bool) -> None:
        self.objection = objection
        self.checked = checked
        self.refusals: dict[fx.Node, Refusal | None] = {}

    def is_node_supported(
        self, submodules: Mapping[str, torch.nn.Module], node: fx.Node
    ) -> bool:
        """Return `True` if a node can be in a partition."""
        return self.refusal_of(node) is None

    def refusal_of(self, node: fx.Node) -> Refusal | None:
        """Return the reason why a node cannot be in a partition; `None` if it can."""
        if node not in self.refusals:
            self.refusals[node] = self._find_refusal(node)
        return self.refusals[node]

    def _find_refusal(self, node: fx.Node) -> Refusal | None:
        if node.op != "call_function":
            return Refusal(f"it is a {node.op}")
        if node.target is getitem:
            source = node.args[0]
            assert isinstance(source, fx.Node)
            return self.refusal_of(source)
        if len(accelerators_of(node)) > 1:
            return Refusal("it moves tensors between accelerators")
        if self.checked and needs_value_check(node):
            return Refusal("PyTorch checks its indices or divisors")
        return find_refusal(node, self.objection)


class _DeviceSupport(OperatorSupportBase):
    """Support of the nodes that use no other accelerator than one; on a CPU, of all."""

    def __init__(self, support: _NodeSupport, device: torch.device | None) -> None:
        self.support = support
        self.devices = frozenset([device] if device is not None else [])

    def is_node_supported(
        self, submodules: Mapping[str, torch.nn.Module], node: fx.Node
    ) -> bool:
        """Return `True` if a node can be in a part for the accelerator."""
        return accelerators_of(node) <= self.devices and (
            self.support.is_node_supported(submodules, node)
        )


def _fuse_supported(source: fx.GraphModule, support: _NodeSupport) -> None:
    """
    Move convertible nodes into submodules `fused_*`, each for one accelerator: all of
    one accelerator before those of the next, so that no two need each other's results.
    """
    for index, device in enumerate(list_accelerators(source.graph) or [None]):
        partitioner: Any = CapabilityBasedPartitioner(
            source, _DeviceSupport(support, device), allows_single_node_partition=True
        )
        parts = partitioner.propose_partitions()
        partitioner.fuse_partitions(parts, prefix=f"fused_{index}_")


def partition_graph(
    source: fx.GraphModule,
    objection: Objection | None = None,
    checked: bool = False,
) -> PartitionedGraph:
    """
    Partition a graph of ATen operations with fake tensors in its metadata.

    `objection` may reject the operations that a call is converted to. If `checked`,
    operations whose indices or divisors PyTorch checks are in no partition.
    """
    support = _NodeSupport(objection, checked)
    for node in find_uncertain_layouts(source.graph):
        support.refusals[node] = Refusal("PyTorch addresses what it leads to")
    addressed = duplicate_addressed_views(
        source.graph, lambda node: support.refusal_of(node) is None
    )
    for node in addressed:
        support.refusals[node] = Refusal("PyTorch addresses its memory")
    calls = [node for node in source.graph.nodes if node.op == "call_function"]
    left_out = tuple(
        UnconvertedOperation(name_of(node.target), refusal.text, refusal.is_fault)
        for node in calls
        if node.target is not getitem
        and (refusal := support.refusal_of(node)) is not None
    )
    operations = [node for node in calls if node.target is not getitem]
    _fuse_supported(source, support)
    names = [
        str(node.target)
        for node in source.graph.find_nodes(op="call_module")
        if str(node.target).startswith("fused_")
    ]
    return PartitionedGraph(
        source, tuple(names), left_out, len(operations) - len(left_out)
    )


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
