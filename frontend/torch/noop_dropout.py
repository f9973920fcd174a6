"""Import of FX graphs: removal of dropout that drops nothing."""

from __future__ import annotations

from typing import Any

import torch
from torch import fx

from tlf.frontend.torch.registry import find_aten_overload

_LIBRARY: Any = torch

DROPOUT = frozenset(
    [
        torch.nn.functional.dropout,
        _LIBRARY.dropout,
        find_aten_overload("dropout.default"),
    ]
)
"""Calls with a tensor, the dropped fraction, and the training flag."""


def find_noop_dropout(graph: fx.Graph) -> list[fx.Node]:
    """Return the dropout calls outside of training or with `p` of 0, in graph order."""
    return [
        node
        for node in graph.nodes
        if node.target in DROPOUT and _is_noop_dropout(node)
    ]


def replace_noop_dropout(graph: fx.Graph) -> dict[str, str]:
    """
    Replace each dropout that drops nothing by its operand; its result aliases the
    operand rather than being a copy. Return the names of the erased values, with those
    of their operands.
    """
    erased: dict[str, str] = {}
    for node in find_noop_dropout(graph):
        operand = _argument_of(node, 0, "input", None)
        node.replace_all_uses_with(operand)
        graph.erase_node(node)
        erased[node.name] = operand.name
    return erased


def _is_noop_dropout(node: fx.Node) -> bool:
    share = _argument_of(node, 1, "p", 0.5)
    training = node.kwargs.get("train", _argument_of(node, 2, "training", True))
    return training is False or (isinstance(share, int | float) and share == 0)


def _argument_of(node: fx.Node, position: int, name: str, default: Any) -> Any:
    """Return an argument of an FX call by position, else by name, else `default`."""
    return (
        node.args[position]
        if len(node.args) > position
        else node.kwargs.get(name, default)
    )
