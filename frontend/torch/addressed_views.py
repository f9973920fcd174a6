"""Views of which PyTorch addresses the memory."""

from __future__ import annotations

from collections.abc import Callable
from operator import getitem
from typing import Any

from torch import fx

from tlf.frontend.torch.fx_arguments import OpOverload
from tlf.frontend.torch.registry import overload

ADDRESSING = frozenset(
    overload(f"{name}.default")
    for name in ("as_strided", "as_strided_copy", "as_strided_scatter")
)
"""Operations that take elements of a tensor by their places in its memory."""


def separate_addressed_views(
    graph: fx.Graph, is_computed: Callable[[fx.Node], bool]
) -> frozenset[fx.Node]:
    """
    Let views that are computed apart from PyTorch, and whose memory it addresses, be
    made a second time by itself, of what they are views of. Returns these views.
    """
    made: set[fx.Node] = set()
    for node in list(graph.nodes):
        if node.target in ADDRESSING:
            source = node.args[0]
            seen = _made_again(graph, source, node, is_computed, made)
            node.update_arg(0, seen)
            _erase_unused(graph, source)
    return frozenset(made)


def _made_again(
    graph: fx.Graph,
    source: fx.Node,
    before: fx.Node,
    is_computed: Callable[[fx.Node], bool],
    made: set[fx.Node],
) -> fx.Node:
    """A view and all views below it as other nodes in front of one that reads it."""
    if source in made or not _is_view(source) or not is_computed(source):
        return source
    below = source.args[0]
    assert isinstance(below, fx.Node)
    operand = _made_again(graph, below, before, is_computed, made)
    with graph.inserting_before(before):
        again = graph.node_copy(source, lambda node: operand if node is below else node)
    made.add(again)
    return again


def _is_view(node: fx.Node) -> bool:
    """Whether a node, or what it takes a part of, sees the memory of its operand."""
    if node.target is getitem:
        source = node.args[0]
        return isinstance(source, fx.Node) and _is_view(source)
    target: Any = node.target
    return isinstance(target, OpOverload) and bool(target.is_view)


def _erase_unused(graph: fx.Graph, node: fx.Node) -> None:
    if _is_view(node) and not node.users:
        below = node.args[0]
        graph.erase_node(node)
        assert isinstance(below, fx.Node)
        _erase_unused(graph, below)
