"""
Pass `graph-annotate-lower-bound`: sets lower bounds of all schedules as attributes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import (
    ArrayAttr,
    DictionaryAttr,
    IntegerAttr,
    ModuleOp,
    StringAttr,
    i64,
)
from xdsl.ir import Attribute
from xdsl.passes import ModulePass

from tlf.analysis.bounds.lower_bounds import (
    LowerBounds,
    lower_bounds_of,
    lower_bounds_of_partition,
    outer_groups_of,
)
from tlf.dialects.graph import GroupOp
from tlf.dialects.target import TargetSpec
from tlf.dialects.weight_preparation_attributes import is_preparation_function

ATTRIBUTE = "tlf.bounds"
PARTITION_ATTRIBUTE = "tlf.partition_bounds"

Figures: TypeAlias = Mapping[str, int | str | list[str]]


def lower_bounds_of_functions(
    module: ModuleOp,
) -> Iterator[tuple[func.FuncOp, LowerBounds, LowerBounds | None]]:
    """
    Yield the functions of a module that run at every call, with their lower bounds, and
    the lower bounds of their groups run in sequence, or None without groups.
    """
    target = TargetSpec.read_from_module(module)
    for function in module.ops:
        if not isinstance(function, func.FuncOp) or len(function.body.blocks) != 1:
            continue
        if is_preparation_function(function):
            continue
        groups = outer_groups_of(function)
        parts = lower_bounds_of_partition(groups, target) if groups else None
        yield function, lower_bounds_of(function, target), parts


def figures_of_lower_bounds(bounds: LowerBounds) -> Figures:
    """
    Return lower bounds as a dictionary of numbers and texts, by name of the figure.
    """
    return {
        "payload_bytes": bounds.payload_bytes,
        "bus_bytes": bounds.bus_bytes,
        "macs": bounds.macs,
        "cycles": bounds.cycles,
        "cycles_quantised": bounds.cycles_quantised,
        "cycles_any_engine": bounds.cycles_any_engine,
        "binding": bounds.binding,
        "cuts": [str(cut) for cut in bounds.extra_traffic],
        "waits": [str(each) for each in bounds.binding_stalls],
    }


def attribute_of_lower_bounds(bounds: LowerBounds) -> DictionaryAttr:
    """Return lower bounds as a new dictionary attribute, which is not yet attached."""
    return DictionaryAttr(
        {
            name: _attribute_of_figure(value)
            for name, value in sorted(figures_of_lower_bounds(bounds).items())
        }
    )


def _attribute_of_figure(value: int | str | list[str]) -> Attribute:
    """Return an integer, text or list of texts as a builtin attribute."""
    match value:
        case int():
            return IntegerAttr(value, i64)
        case str():
            return StringAttr(value)
        case _:
            return ArrayAttr([StringAttr(each) for each in value])


@dataclass(frozen=True)
class GraphAnnotateLowerBoundPass(ModulePass):
    """
    Set the attribute `tlf.bounds` of every function and every `graph.group`: lower
    bounds, for any schedule, of the bytes moved to and from the outermost memory, of
    these bytes in whole bursts, and of the cycles.

    A function with groups also gets `tlf.partition_bounds`: the lower bounds of its
    groups with all intermediate traffic through the outermost memory. Operations are
    not changed.
    """

    name = "graph-annotate-lower-bound"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        target = TargetSpec.read_from_module(op)
        for function, bounds, parts in lower_bounds_of_functions(op):
            function.attributes[ATTRIBUTE] = attribute_of_lower_bounds(bounds)
            if parts is not None:
                function.attributes[PARTITION_ATTRIBUTE] = attribute_of_lower_bounds(
                    parts
                )
            for each in function.walk():
                if isinstance(each, GroupOp):
                    each.attributes[ATTRIBUTE] = attribute_of_lower_bounds(
                        lower_bounds_of(each, target)
                    )
