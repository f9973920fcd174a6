"""Views that PyTorch addresses by memory offset (`as_strided`)."""

from __future__ import annotations

from collections.abc import Callable
from operator import getitem
from typing import Any

from torch import Tensor, fx

from tlf.frontend.torch.fx_typing import OpOverload
from tlf.frontend.torch.registry import overload

AS_STRIDED_OPS = frozenset(
    overload(f"{name}.default")
    for name in ("as_strided", "as_strided_copy", "as_strided_scatter")
)
"""Operations that take elements of a tensor by their places in its memory."""

_AS_STRIDED = overload("as_strided.default")

_NAMES = frozenset(each._schema.name.partition("::")[2] for each in AS_STRIDED_OPS)


def has_as_strided(graph: fx.Graph) -> bool:
    """
    Return `True` if a graph, before or after tracing, addresses elements by their
    offsets in memory, which depend on the memory layouts of the results of all
    operations before.
    """
    return any(_operation_name(node) in _NAMES for node in graph.nodes)


def find_uncertain_layouts(graph: fx.Graph) -> frozenset[fx.Node]:
    """Return nodes before `as_strided` whose memory layout tracing may not know."""
    leading: set[fx.Node] = set()
    for node in reversed(graph.nodes):
        if node.target in AS_STRIDED_OPS or any(user in leading for user in node.users):
            leading.add(node)
    doubtful: set[fx.Node] = set()
    for node in graph.nodes:
        if (
            node in leading
            and node.op == "call_function"
            and node.target is not getitem
        ):
            operands = node.all_input_nodes
            if doubtful.intersection(map(_producer_call, operands)) or not (
                _is_view(node) or all(map(_is_row_major, (node, *operands)))
            ):
                doubtful.add(node)
    return frozenset(each for each in doubtful if each.target not in AS_STRIDED_OPS)


def erase_trivial_restrides(graph: fx.Graph) -> None:
    """
    Erase calls of `as_strided` that change strides of axes of one element alone, in a
    traced graph whose program addresses no memory: PyTorch's own operations end with
    these, such as a global pooling of an image with its channels last.
    """
    for node in graph.find_nodes(op="call_function", target=_AS_STRIDED):
        source = node.args[0]
        if _has_same_layout(source.meta.get("val"), node.meta.get("val")):
            node.replace_all_uses_with(source)
            graph.erase_node(node)


def _has_same_layout(before: Any, after: Any) -> bool:
    """Return `True` if two values have the same elements at the same places."""
    if not isinstance(before, Tensor) or before.shape != after.shape:
        return False
    at = [axis for axis, extent in enumerate(before.shape) if extent != 1]
    return before.storage_offset() == after.storage_offset() and all(
        before.stride(axis) == after.stride(axis) for axis in at
    )


def _producer_call(node: fx.Node) -> fx.Node:
    """The call that a node is a result of, or the node itself."""
    source = node.args[0] if node.target is getitem else node
    return source if isinstance(source, fx.Node) else node


def _is_row_major(node: fx.Node) -> bool:
    value: Any = node.meta.get("val")
    return not isinstance(value, Tensor) or value.is_contiguous()


def _operation_name(node: fx.Node) -> str | None:
    """The name of a call of a tensor's method, or of a function of PyTorch."""
    target: Any = node.target
    if node.op == "call_method":
        return str(target)
    if isinstance(target, OpOverload):
        return target._schema.name.partition("::")[2]
    return getattr(target, "__name__", None) if node.op == "call_function" else None


def duplicate_addressed_views(
    graph: fx.Graph, is_computed: Callable[[fx.Node], bool]
) -> frozenset[fx.Node]:
    """
    Duplicate compiled views that PyTorch addresses, so that it computes its own.
    Returns these views.
    """
    made: set[fx.Node] = set()
    for node in list(graph.nodes):
        if node.target in AS_STRIDED_OPS:
            source = node.args[0]
            seen = _copy_view_chain(graph, source, node, is_computed, made)
            node.update_arg(0, seen)
            _erase_unused(graph, source)
    return frozenset(made)


def _copy_view_chain(
    graph: fx.Graph,
    source: fx.Node,
    before: fx.Node,
    is_computed: Callable[[fx.Node], bool],
    made: set[fx.Node],
) -> fx.Node:
    """Copy a view, and all views below it, in front of a reader."""
    if source in made or not _is_view(source) or not is_computed(source):
        return source
    below = source.args[0]
    assert isinstance(below, fx.Node)
    operand = _copy_view_chain(graph, below, before, is_computed, made)
    with graph.inserting_before(before):
        again = graph.node_copy(source, lambda node: operand if node is below else node)
    made.add(again)
    return again


def _is_view(node: fx.Node) -> bool:
    """
    Return `True` if a node, or the node that it takes a result of, is a view of its
    operand's memory.
    """
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
