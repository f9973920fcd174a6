"""
Import of FX graphs: partition of a graph into subgraphs that can be converted, and
operations that PyTorch runs.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
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
    find_nodes_of_uncertain_layout,
)
from tlf.frontend.torch.convert import (
    Objection,
    Refusal,
    find_conversion_refusal,
    operation_name_of,
    structure_of_call,
)
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
    unconverted_operations: tuple[UnconvertedOperation, ...]
    operation_count: int
    """Number of operations in submodules."""


class _NodeSupport(OperatorSupportBase):
    """Support of nodes for partitioning, with the reason for each unsupported node."""

    def __init__(
        self, objection: Objection | None, excludes_value_checks: bool
    ) -> None:
        self.objection = objection
        self.checked = excludes_value_checks
        self.refusals: dict[fx.Node, Refusal | None] = {}
        self._conversion_refusals: dict[tuple[object, ...], Refusal | None] = {}
        """By the structure of calls: repeated layers have equal ones."""

    def is_node_supported(
        self, submodules: Mapping[str, torch.nn.Module], node: fx.Node
    ) -> bool:
        """Return `True` if a node can be in a partition."""
        return self.refusal_of(node) is None

    def refusal_of(self, node: fx.Node) -> Refusal | None:
        """Return the reason why a node cannot be in a partition; `None` if it can."""
        if node not in self.refusals:
            self.refusals[node] = self._find_partition_refusal(node)
        return self.refusals[node]

    def _find_partition_refusal(self, node: fx.Node) -> Refusal | None:
        """
        Check kind, devices, value checks and conversion of `node`; `None` if all pass.
        """
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
        structure = structure_of_call(node)
        if structure not in self._conversion_refusals:
            self._conversion_refusals[structure] = find_conversion_refusal(
                node, self.objection
            )
        return self._conversion_refusals[structure]


class _DeviceSupport(OperatorSupportBase):
    """
    Filter for FX nodes that `support` allows and that use no accelerator but `device`.
    """

    def __init__(self, support: _NodeSupport, device: torch.device) -> None:
        self.support = support
        self.device = device

    def is_node_supported(
        self, submodules: Mapping[str, torch.nn.Module], node: fx.Node
    ) -> bool:
        """Return `True` if a node can be in a partition for the accelerator."""
        is_supported = self.support.is_node_supported(submodules, node)
        return is_supported and accelerators_of(node) <= {self.device}


def _fuse_supported_nodes(source: fx.GraphModule, support: _NodeSupport) -> None:
    """
    Move supported nodes into submodules `fused_*`, each for at most one accelerator.
    The nodes of one accelerator are moved before those of the next are partitioned, so
    that no two submodules depend on each other.
    """
    devices = list_accelerators(source.graph)
    supports = [_DeviceSupport(support, device) for device in devices]
    for index, each in enumerate(supports if len(devices) > 1 else [support]):
        partitioner: Any = CapabilityBasedPartitioner(
            source, each, allows_single_node_partition=True
        )
        partitions = partitioner.propose_partitions()
        partitioner.fuse_partitions(partitions, prefix=f"fused_{index}_")


def partition_graph(
    source: fx.GraphModule,
    objection: Objection | None = None,
    excludes_value_checks: bool = False,
) -> PartitionedGraph:
    """
    Partition a graph of ATen operations with fake tensors in its metadata.

    `objection` may reject the operations that a call is converted to. Operations whose
    values PyTorch checks are in no partition if `excludes_value_checks`.
    """
    support = _NodeSupport(objection, excludes_value_checks)
    for node in find_nodes_of_uncertain_layout(source.graph):
        support.refusals[node] = Refusal(
            "a later `as_strided` addresses memory whose layout depends on its result"
        )
    addressed = duplicate_addressed_views(
        source.graph, lambda node: support.refusal_of(node) is None
    )
    for node in addressed:
        support.refusals[node] = Refusal("PyTorch addresses its memory")
    operations = [
        node
        for node in source.graph.nodes
        if node.op == "call_function" and node.target is not getitem
    ]
    left_out = tuple(
        UnconvertedOperation(
            operation_name_of(node.target), refusal.reason, refusal.is_fault
        )
        for node in operations
        if (refusal := support.refusal_of(node)) is not None
    )
    _fuse_supported_nodes(source, support)
    return PartitionedGraph(
        source,
        tuple(_names_of_fused_modules(source)),
        left_out,
        len(operations) - len(left_out),
    )


def _names_of_fused_modules(source: fx.GraphModule) -> Iterator[str]:
    """Yield the names of the submodules that partitions were fused into."""
    for node in source.graph.find_nodes(op="call_module"):
        if str(node.target).startswith("fused_"):
            yield str(node.target)


def accelerators_of(node: fx.Node) -> frozenset[torch.device]:
    """
    Return the devices other than the CPU on which operands and results of a node are,
    by the fake tensors in `node.meta["val"]`.
    """
    values = [each.meta.get("val") for each in (node, *node.all_input_nodes)]
    return frozenset(
        leaf.device
        for leaf in pytree.tree_leaves(values)
        if isinstance(leaf, torch.Tensor) and leaf.device.type != "cpu"
    )


def list_accelerators(graph: fx.Graph) -> Sequence[torch.device]:
    """Return the accelerators that the nodes of a graph use, in order of first use."""
    found: dict[torch.device, None] = {}
    for node in graph.nodes:
        found |= dict.fromkeys(sorted(accelerators_of(node), key=str))
    return tuple(found)
