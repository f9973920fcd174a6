"""Import of PyTorch: tables of decompositions of ATen operations before conversion."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from operator import getitem
from typing import Any, cast

from torch import _decomp as library
from torch.export import ExportedProgram
from torch.export.graph_signature import OutputKind

from tlf.frontend.torch import aten as aten
from tlf.frontend.torch.embedding_bag import EMBEDDING_BAGS
from tlf.frontend.torch.fused_layers import FUSED_LAYERS
from tlf.frontend.torch.fx_typing import OpOverload
from tlf.frontend.torch.linspace import LINSPACE
from tlf.frontend.torch.registry import CONVERTERS, find_aten_overload
from tlf.frontend.torch.running_statistics import FUNCTIONAL_UPDATES, UPDATES_IN_PLACE
from tlf.frontend.torch.unpooling import UNPOOLING

Table = dict[Any, Callable[..., Any]]

_UNDECOMPOSED = frozenset(
    find_aten_overload(f"{name}.default")
    for name in ("lift", "lift_fresh", "complex", "polar")
)
"""
Operations that are not decomposed: those that turn a tensor of a graph into a traced
one, which PyTorch looks for, and those that create complex numbers, which are not
imported.
"""


@cache
def all_decompositions() -> Table:
    """
    Return the decompositions of all operations without a converter: those of
    `core_decompositions`, and PyTorch's own for other operations.
    """
    library_table: Table = cast(Any, library).decomposition_table
    table = {**library_table, **UPDATES_IN_PLACE}
    return {**_drop_converted_operations(table), **core_decompositions()}


@cache
def core_decompositions() -> Table:
    """
    Return the decompositions of core ATen, fused layers, embedding bags, unpooling,
    `linspace` and batch normalizations. All are functional; some of PyTorch's other
    decompositions write to tensors, which it rejects in a graph.
    """
    core: Table = dict(cast(Any, library).core_aten_decompositions())
    layers = {**FUSED_LAYERS, **EMBEDDING_BAGS, **FUNCTIONAL_UPDATES}
    ours = {**layers, **UNPOOLING, **LINSPACE}
    return _drop_converted_operations({**core, **ours})


def _drop_converted_operations(table: Table) -> Table:
    """Return `table` without operations that have a converter or stay undecomposed."""
    return {
        target: function
        for target, function in table.items()
        if target not in CONVERTERS
        and isinstance(target, OpOverload)
        and target not in _UNDECOMPOSED
    }


def has_only_converted_operations(program: ExportedProgram) -> bool:
    """
    Return `True` if all operations of a program have converters, and none mutates a
    tensor. Calls without users may have no converter.
    """
    signature = program.graph_signature
    if any(each.kind is not OutputKind.USER_OUTPUT for each in signature.output_specs):
        return False
    calls = [node for node in program.graph.nodes if node.op == "call_function"]
    return all(
        node.users and (node.target is getitem or _is_convertible_and_pure(node.target))
        for node in calls
    )


def _is_convertible_and_pure(target: Any) -> bool:
    """Return `True` if a target has a converter and mutates no tensor."""
    return (
        isinstance(target, OpOverload)
        and target in CONVERTERS
        and not target._schema.is_mutable
    )
