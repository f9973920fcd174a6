"""Lower bounds of a program over all schedules, as attributes."""

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

from tlf.analysis.bounds.bounds import (
    Bounds,
    bounds_of,
    bounds_of_partition,
    groups_of,
)
from tlf.dialects.graph import GroupOp
from tlf.dialects.prepared import is_preparation
from tlf.dialects.target import Target

ATTRIBUTE = "tlf.bounds"
PARTITION = "tlf.partition_bounds"

Figures: TypeAlias = Mapping[str, int | str | list[str]]


def bounded(module: ModuleOp) -> Iterator[tuple[func.FuncOp, Bounds, Bounds | None]]:
    """
    The functions of a module that have a body and run at every call, with the bounds of
    each, and those of its groups one after the other if it has any.
    """
    target = Target.of(module)
    for function in module.ops:
        if not isinstance(function, func.FuncOp) or len(function.body.blocks) != 1:
            continue
        if is_preparation(function):
            continue
        groups = groups_of(function)
        parts = bounds_of_partition(groups, target) if groups else None
        yield function, bounds_of(function, target), parts


def figures(bounds: Bounds) -> Figures:
    """The figures, by name."""
    return {
        "payload_bytes": bounds.payload_bytes,
        "bus_bytes": bounds.bus_bytes,
        "macs": bounds.macs,
        "cycles": bounds.cycles,
        "cycles_quantised": bounds.cycles_quantised,
        "cycles_any_engine": bounds.cycles_any_engine,
        "binding": bounds.binding,
        "cuts": [str(cut) for cut in bounds.cuts],
        "waits": [str(each) for each in bounds.waits],
    }


def attribute(bounds: Bounds) -> DictionaryAttr:
    """The figures as an attribute."""
    return DictionaryAttr(
        {name: _attribute(value) for name, value in sorted(figures(bounds).items())}
    )


def _attribute(value: int | str | list[str]) -> Attribute:
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
    Give every function and every `graph.group` the attribute `tlf.bounds`: the bytes
    that it moves to and from the outermost memory at least, the same in whole bursts,
    and the cycles that it takes at least, whatever the schedule.

    A function with groups also has `tlf.partition_bounds`: those of its groups, where
    what one hands to another goes through the outermost memory. The program computes
    what it did.
    """

    name = "graph-annotate-lower-bound"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        target = Target.of(op)
        for function, bounds, parts in bounded(op):
            function.attributes[ATTRIBUTE] = attribute(bounds)
            if parts is not None:
                function.attributes[PARTITION] = attribute(parts)
            for each in function.walk():
                if isinstance(each, GroupOp):
                    each.attributes[ATTRIBUTE] = attribute(bounds_of(each, target))
