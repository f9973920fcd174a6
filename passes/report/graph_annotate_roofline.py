"""
Pass `graph-annotate-roofline`: sets work and roofline bounds of operations as
attributes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import (
    DictionaryAttr,
    FloatAttr,
    IntegerAttr,
    ModuleOp,
    StringAttr,
    f64,
    i64,
)
from xdsl.ir import Attribute, Operation
from xdsl.passes import ModulePass

from tlf.analysis.work.flops_and_bytes import Work, size_in_bytes, work_of
from tlf.analysis.work.roofline import bottleneck_class_of, roofline_time_of
from tlf.dialects.graph import GroupOp, YieldOp
from tlf.dialects.interfaces import BottleneckKind
from tlf.dialects.target import TargetSpec

ATTRIBUTE = "tlf.analysis"


@dataclass(frozen=True)
class OperationRooflineCost:
    """
    Kind of bottleneck, work, and roofline lower bound in seconds, of one or several
    operations.
    """

    kind: str
    work: Work
    seconds: float

    def to_attribute(self) -> DictionaryAttr:
        """
        Return the figures as a new dictionary attribute, with the bound in
        microseconds.
        """
        figures: dict[str, Attribute] = {
            "bytes": IntegerAttr(self.work.bytes, i64),
            "class": StringAttr(self.kind),
            "floor_us": FloatAttr(round(self.seconds * 1e6, 6), f64),
            "flops": IntegerAttr(self.work.flops, i64),
            "intensity": FloatAttr(round(self.work.intensity, 4), f64),
        }
        return DictionaryAttr(figures)


def roofline_costs_of_operations(
    module: ModuleOp,
) -> Iterator[tuple[Operation, OperationRooflineCost]]:
    """
    Yield the graph operations of a module in program order with their costs; a group
    follows its members.
    """
    target = TargetSpec.read_from_module(module)
    members = list[OperationRooflineCost]()
    for op in module.walk():
        if not op.name.startswith("graph."):
            continue
        if isinstance(op, GroupOp):
            members = []
        elif isinstance(op, YieldOp):
            group = op.parent_op()
            assert isinstance(group, GroupOp)
            work = _work_of_group(group, members)
            floor = roofline_time_of(work, target)
            yield (
                group,
                OperationRooflineCost(
                    bottleneck_class_of(work, floor), work, floor.seconds
                ),
            )
        else:
            work = work_of(op)
            floor = roofline_time_of(work, target)
            members.append(
                cost := OperationRooflineCost(
                    bottleneck_class_of(work, floor), work, floor.seconds
                )
            )
            yield op, cost


def _work_of_group(
    group: GroupOp, member_costs: Sequence[OperationRooflineCost]
) -> Work:
    """
    Return the work of a group: the scalar operations of its members, and the bytes of
    its inputs and results.
    """
    traffic = size_in_bytes((*group.operands, *group.results))
    return replace(total_roofline_cost(member_costs).work, bytes=traffic)


@dataclass(frozen=True)
class GraphAnnotateRooflinePass(ModulePass):
    """
    Set the attribute `tlf.analysis` of every operation of `graph`, and its sum over the
    operations of every function: class, scalar operations, bytes of operands and
    results, operations per byte, and the roofline bound of the time on the target
    (Williams, Waterman and Patterson, Roofline, 2009).

    The class is `compute` if arithmetic takes longest on the target, `memory` if the
    bandwidth of the outermost memory is the bottleneck, and `movement` if nothing is
    computed. Views and constants cost nothing. A group moves each of its inputs and
    results once; functions count groups, not the operations inside of them. Operations
    are not changed.
    """

    name = "graph-annotate-roofline"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        costs = dict(roofline_costs_of_operations(op))
        for each, cost in costs.items():
            each.attributes[ATTRIBUTE] = cost.to_attribute()
        for function in op.walk():
            if isinstance(function, func.FuncOp):
                top_level = [
                    costs[each]
                    for each in function.walk()
                    if each in costs and not isinstance(each.parent_op(), GroupOp)
                ]
                function.attributes[ATTRIBUTE] = total_roofline_cost(
                    top_level
                ).to_attribute()


def total_roofline_cost(
    costs: Sequence[OperationRooflineCost],
) -> OperationRooflineCost:
    """
    Return the total cost of operations run in sequence, with the class that takes the
    most time.
    """
    matrix = dict[str, int]()
    for cost in costs:
        for element, count in cost.work.matrix_operations:
            matrix[element] = matrix.get(element, 0) + count
    work = Work(
        tuple(sorted(matrix.items())),
        sum(cost.work.vector_operations for cost in costs),
        sum(cost.work.bytes for cost in costs),
    )
    seconds = {
        kind: sum(cost.seconds for cost in costs if cost.kind == kind)
        for kind in BottleneckKind
    }
    greatest = max(seconds, key=lambda kind: seconds[kind])
    return OperationRooflineCost(greatest, work, sum(seconds.values()))
