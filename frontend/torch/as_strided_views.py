"""
Import of FX graphs: rewrites, before conversion, of views that PyTorch addresses by
memory offsets (`as_strided`).
"""

from __future__ import annotations

from collections.abc import Callable
from operator import getitem
from typing import Any

from torch import Tensor, fx

from tlf.frontend.torch.fx_typing import OpOverload
from tlf.frontend.torch.registry import find_aten_overload

AS_STRIDED_OPS = frozenset(
    find_aten_overload(f"{name}.default")
    for name in ("as_strided", "as_strided_copy", "as_strided_scatter")
)
"""Operations that access elements of a tensor by their offsets in memory."""

_AS_STRIDED = find_aten_overload("as_strided.default")

_NAMES = frozenset(each._schema.name.partition("::")[2] for each in AS_STRIDED_OPS)


def has_as_strided(graph: fx.Graph) -> bool:
    """
    Return `True` if a graph, before or after tracing, accesses elements by their
    offsets in memory, which depend on the memory layouts of all preceding results.
    """
    return any(_called_function_name(node) in _NAMES for node in graph.nodes)


def find_nodes_of_uncertain_layout(graph: fx.Graph) -> frozenset[fx.Node]:
    """Return nodes before `as_strided` whose memory layout tracing may not know."""
    ancestors: set[fx.Node] = set()
    for node in reversed(graph.nodes):
        if node.target in AS_STRIDED_OPS or any(
            user in ancestors for user in node.users
        ):
            ancestors.add(node)
    uncertain: set[fx.Node] = set()
    for node in graph.nodes:
        if (
            node in ancestors
            and node.op == "call_function"
            and node.target is not getitem
        ):
            operands = node.all_input_nodes
            if uncertain.intersection(map(_producing_call_of, operands)) or not (
                _is_view(node) or all(map(_is_row_major, (node, *operands)))
            ):
                uncertain.add(node)
    return frozenset(each for each in uncertain if each.target not in AS_STRIDED_OPS)


def erase_noop_as_strided(graph: fx.Graph) -> None:
    """
    Erase calls of `as_strided` that only change strides of axes of extent 1, in a
    traced graph whose program does not use `as_strided`. PyTorch's own operations end
    in such calls, for example a global pooling of a channels-last image.
    """
    for node in graph.find_nodes(op="call_function", target=_AS_STRIDED):
        source = node.args[0]
        if _has_same_layout(source.meta.get("val"), node.meta.get("val")):
            node.replace_all_uses_with(source)
            graph.erase_node(node)


def _has_same_layout(operand_value: Any, result_value: Any) -> bool:
    """Return `True` if two values have equal elements at equal offsets in memory."""
    if (
        not isinstance(operand_value, Tensor)
        or operand_value.shape != result_value.shape
    ):
        return False
    axes = [axis for axis, extent in enumerate(operand_value.shape) if extent != 1]
    return operand_value.storage_offset() == result_value.storage_offset() and all(
        operand_value.stride(axis) == result_value.stride(axis) for axis in axes
    )


def _producing_call_of(node: fx.Node) -> fx.Node:
    """Return the call that a `getitem` selects a result of, or the node itself."""
    source = node.args[0] if node.target is getitem else node
    return source if isinstance(source, fx.Node) else node


def _is_row_major(node: fx.Node) -> bool:
    value: Any = node.meta.get("val")
    return not isinstance(value, Tensor) or value.is_contiguous()


def _called_function_name(node: fx.Node) -> str | None:
    """Return the name of a called tensor method or PyTorch function, or `None`."""
    target: Any = node.target
    if node.op == "call_method":
        return str(target)
    if isinstance(target, OpOverload):
        return target._schema.name.partition("::")[2]
    return getattr(target, "__name__", None) if node.op == "call_function" else None


def duplicate_addressed_views(
    graph: fx.Graph, is_compiled: Callable[[fx.Node], bool]
) -> frozenset[fx.Node]:
    """
    Duplicate compiled views that `as_strided` reads, so that PyTorch computes its own.
    Return the duplicates.
    """
    duplicates: set[fx.Node] = set()
    for node in list(graph.nodes):
        if node.target in AS_STRIDED_OPS:
            source = node.args[0]
            view = _copy_view_chain(graph, source, node, is_compiled, duplicates)
            node.update_arg(0, view)
            _erase_unused_views(graph, source)
    return frozenset(duplicates)


def _copy_view_chain(
    graph: fx.Graph,
    source: fx.Node,
    reader: fx.Node,
    is_compiled: Callable[[fx.Node], bool],
    duplicates: set[fx.Node],
) -> fx.Node:
    """Copy a view, and the views that it is a view of, in front of a reader."""
    if source in duplicates or not _is_view(source) or not is_compiled(source):
        return source
    base = source.args[0]
    assert isinstance(base, fx.Node)
    operand = _copy_view_chain(graph, base, reader, is_compiled, duplicates)
    with graph.inserting_before(reader):
        copy = graph.node_copy(source, lambda node: operand if node is base else node)
    duplicates.add(copy)
    return copy


def _is_view(node: fx.Node) -> bool:
    """
    Return `True` if a node, or the node whose result it selects, is a view of its
    operand's memory.
    """
    if node.target is getitem:
        source = node.args[0]
        return isinstance(source, fx.Node) and _is_view(source)
    target: Any = node.target
    return isinstance(target, OpOverload) and bool(target.is_view)


def _erase_unused_views(graph: fx.Graph, node: fx.Node) -> None:
    """
    Erase `node` if it is a view without users, then likewise what it is a view of.
    """
    if _is_view(node) and not node.users:
        base = node.args[0]
        graph.erase_node(node)
        assert isinstance(base, fx.Node)
        _erase_unused_views(graph, base)
