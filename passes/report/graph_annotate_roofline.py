"""Lower bounds on the cost of the operations of a graph, as attributes."""

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

from tlf.analysis.work.roofline import class_of, floor_of
from tlf.analysis.work.work import Work, size_in_bytes, work_of
from tlf.dialects.graph import GroupOp, YieldOp
from tlf.dialects.interfaces import OperationClass
from tlf.dialects.target import Target

ATTRIBUTE = "tlf.analysis"


@dataclass(frozen=True)
class Cost:
    """Lower bounds on the cost of one operation, or several."""

    kind: str
    work: Work
    seconds: float

    def attribute(self) -> DictionaryAttr:
        """The figures as an attribute of an operation."""
        figures: dict[str, Attribute] = {
            "bytes": IntegerAttr(self.work.bytes, i64),
            "class": StringAttr(self.kind),
            "floor_us": FloatAttr(round(self.seconds * 1e6, 6), f64),
            "flops": IntegerAttr(self.work.flops, i64),
            "intensity": FloatAttr(round(self.work.intensity, 4), f64),
        }
        return DictionaryAttr(figures)


def analyzed(module: ModuleOp) -> Iterator[tuple[Operation, Cost]]:
    """
    The operations of the graph dialect in a module, in order, with their cost; a group
    comes after those inside.
    """
    target = Target.of(module)
    inside = list[Cost]()
    for op in module.walk():
        if not op.name.startswith("graph."):
            continue
        if isinstance(op, GroupOp):
            inside = []
        elif isinstance(op, YieldOp):
            group = op.parent_op()
            assert isinstance(group, GroupOp)
            work = _work_of_group(group, inside)
            floor = floor_of(work, target)
            yield group, Cost(class_of(work, floor), work, floor.seconds)
        else:
            work = work_of(op)
            floor = floor_of(work, target)
            inside.append(cost := Cost(class_of(work, floor), work, floor.seconds))
            yield op, cost


def _work_of_group(group: GroupOp, inside: Sequence[Cost]) -> Work:
    """The work inside of a group, and the bytes that go into it and come out."""
    moved = size_in_bytes((*group.operands, *group.results))
    return replace(total(inside).work, bytes=moved)


@dataclass(frozen=True)
class GraphAnnotateRooflinePass(ModulePass):
    """
    Give every operation of `graph` the attribute `tlf.analysis`, and every function the
    sum of those inside: its class, its scalar operations, the bytes of its operands and
    results, operations per byte, and the least time it takes on the target by the
    roofline model (Williams, Waterman and Patterson, Roofline, 2009).

    The class is `compute` where arithmetic takes longest on the target, `memory` where
    the bandwidth of the outermost memory does, and `movement` where nothing is
    computed. Views and constants cost nothing. A group moves what goes into it and
    comes out, each tensor once; functions count groups, not what is inside of them. The
    program computes what it did.
    """

    name = "graph-annotate-roofline"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        costs = dict(analyzed(op))
        for each, cost in costs.items():
            each.attributes[ATTRIBUTE] = cost.attribute()
        for function in op.walk():
            if isinstance(function, func.FuncOp):
                inside = [
                    costs[each]
                    for each in function.walk()
                    if each in costs and not isinstance(each.parent_op(), GroupOp)
                ]
                function.attributes[ATTRIBUTE] = total(inside).attribute()


def total(costs: Sequence[Cost]) -> Cost:
    """The sum of costs, one operation after the other, by its greatest class."""
    matrix = dict[str, int]()
    for cost in costs:
        for element, count in cost.work.matrix:
            matrix[element] = matrix.get(element, 0) + count
    work = Work(
        tuple(sorted(matrix.items())),
        sum(cost.work.vector for cost in costs),
        sum(cost.work.bytes for cost in costs),
    )
    seconds = {
        kind: sum(cost.seconds for cost in costs if cost.kind == kind)
        for kind in OperationClass
    }
    greatest = max(seconds, key=lambda kind: seconds[kind])
    return Cost(greatest, work, sum(seconds.values()))
