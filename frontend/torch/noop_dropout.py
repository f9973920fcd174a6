"""Removal of dropout that drops nothing."""

from __future__ import annotations

from typing import Any

import torch
from torch import fx

from tlf.frontend.torch.registry import overload

_LIBRARY: Any = torch

DROPOUT = frozenset(
    [
        torch.nn.functional.dropout,
        _LIBRARY.dropout,
        overload("dropout.default"),
    ]
)
"""Calls of a tensor, the part to drop, and if it is in training."""


def find_noop_dropout(graph: fx.Graph) -> list[fx.Node]:
    """The calls of dropout that drop nothing."""
    return [node for node in graph.nodes if node.target in DROPOUT and _is_noop(node)]


def replace_noop_dropout(graph: fx.Graph) -> dict[str, str]:
    """
    Put the operand in the place of dropout that drops nothing: the result is not a copy
    of it, and what is written to one is written to the other. Returns the names of
    values that are gone, and those of their operands.
    """
    gone: dict[str, str] = {}
    for node in find_noop_dropout(graph):
        operand = _argument_of(node, 0, "input", None)
        node.replace_all_uses_with(operand)
        graph.erase_node(node)
        gone[node.name] = operand.name
    return gone


def _is_noop(node: fx.Node) -> bool:
    share = _argument_of(node, 1, "p", 0.5)
    training = node.kwargs.get("train", _argument_of(node, 2, "training", True))
    return training is False or (isinstance(share, int | float) and share == 0)


def _argument_of(node: fx.Node, place: int, name: str, default: Any) -> Any:
    """An argument of a call, given in order or by name."""
    return (
        node.args[place] if len(node.args) > place else node.kwargs.get(name, default)
    )
