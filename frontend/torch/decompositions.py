"""Which operations of ATen are taken apart before conversion."""

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
from tlf.frontend.torch.fx_arguments import OpOverload
from tlf.frontend.torch.registry import CONVERTERS, overload

Table = dict[Any, Callable[..., Any]]

_KEPT = frozenset([overload("lift.default"), overload("lift_fresh.default")])
"""What makes a tensor that a graph holds one that is traced: PyTorch looks for it."""


@cache
def decompositions() -> Table:
    """
    PyTorch's own decompositions of all operations that have one and no converter: those
    of core ATen, then any other; and those of layers and of bags.
    """
    source = cast(Any, library)
    core: Table = dict(source.core_aten_decompositions())
    others: Table = source.decomposition_table
    table = {**others, **core, **FUSED_LAYERS, **EMBEDDING_BAGS}
    return {
        target: function
        for target, function in table.items()
        if target not in CONVERTERS
        and isinstance(target, OpOverload)
        and target not in _KEPT
    }


def is_converted(program: ExportedProgram) -> bool:
    """
    Whether a program is in operations with converters already, and changes no tensor.
    What it computes for nothing may have no conversion.
    """
    signature = program.graph_signature
    if any(each.kind is not OutputKind.USER_OUTPUT for each in signature.output_specs):
        return False
    calls = [node for node in program.graph.nodes if node.op == "call_function"]
    return all(
        node.users and (node.target is getitem or _is_pure(node.target))
        for node in calls
    )


def _is_pure(target: Any) -> bool:
    """Whether a target has a converter and changes no tensor."""
    return (
        isinstance(target, OpOverload)
        and target in CONVERTERS
        and not target._schema.is_mutable
    )
