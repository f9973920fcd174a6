"""Reports on planned functions by group: cost, lower bounds, peak memory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import BlockArgument, SSAValue

from tlf.analysis.bounds.lower_bounds import (
    LowerBounds,
    lower_bounds_of,
    outer_groups_of,
)
from tlf.compiler.explain.cost_estimates import GroupEstimate, GroupEstimator
from tlf.compiler.explain.peak_memory import Peak, peak_of
from tlf.compiler.explain.recomputation import Recomputation, measure_recomputation
from tlf.dialects import graph
from tlf.dialects.graph.residency import is_retained
from tlf.dialects.interfaces import ConstantInterface
from tlf.dialects.parameters import is_parameter
from tlf.dialects.prepack import is_preparation, prepared_argument_count
from tlf.dialects.target import TargetSpec
from tlf.dialects.types import byte_count, tensor_type


@dataclass(frozen=True)
class GroupReport:
    """Report on one group before it is compiled."""

    estimate: GroupEstimate
    weights: frozenset[SSAValue]
    """Those of its arguments that are the same at every call."""
    resident_bytes: int
    """Bytes of tensors that stay around it, and that it has no use for."""

    @cached_property
    def peak(self) -> Peak:
        """The most memory that it takes."""
        return peak_of(self.estimate, self.weights, self.resident_bytes)

    @cached_property
    def recomputation(self) -> Recomputation:
        """Work of its tiles, with the part that is recomputed."""
        return measure_recomputation(self.estimate.tiling)

    @property
    def gap(self) -> float:
        """Ratio of its predicted cycles to the lower bound."""
        return self.estimate.predicted.cycles / max(self.estimate.bounds.cycles, 1)

    @property
    def bottleneck(self) -> str:
        """The dominant part of its predicted time: `moves` or `computation`."""
        spent = self.estimate.predicted
        return "moves" if spent.moves >= spent.computation else "computation"


@dataclass(frozen=True)
class FunctionReport:
    """Report on a function whose groups have plans."""

    function: func.FuncOp
    groups: Sequence[GroupReport]
    bounds: LowerBounds
    """Of the whole, however it is cut into groups."""

    @property
    def cycles(self) -> int:
        """By the model: groups run one after the other."""
        return sum(each.estimate.predicted.cycles for each in self.groups)

    @property
    def bytes(self) -> int:
        """That are moved from and to the farther memory."""
        return sum(each.estimate.predicted.bytes for each in self.groups)

    @property
    def gap(self) -> float:
        """Ratio of its predicted cycles to the lower bound."""
        return self.cycles / max(self.bounds.cycles, 1)


def report_functions(module: ModuleOp) -> Iterator[FunctionReport]:
    """
    Reports on the functions of a module that run at every call and have groups. Raises
    `DiagnosticException` for targets without a model.
    """
    target = TargetSpec.of(module)
    pricing = GroupEstimator(target)
    for function in module.ops:
        if not isinstance(function, func.FuncOp) or is_preparation(function):
            continue
        if len(function.body.blocks) == 1 and (groups := outer_groups_of(function)):
            yield _report_function(function, groups, pricing)


def _report_function(
    function: func.FuncOp, groups: Sequence[graph.GroupOp], pricing: GroupEstimator
) -> FunctionReport:
    held = _resident_bytes_around(groups)
    found: list[GroupReport] = []
    for number, group in enumerate(groups):
        if (price := pricing.estimate_group(group)) is None:
            continue
        weights = _weight_arguments(function, group)
        found.append(GroupReport(price, weights, held[number]))
    return FunctionReport(function, found, lower_bounds_of(function, pricing.target))


def _resident_bytes_around(groups: Sequence[graph.GroupOp]) -> list[int]:
    """Return the bytes of unrelated tensors that are resident around each group."""
    place = {group: number for number, group in enumerate(groups)}
    held = [0] * len(groups)
    for first, group in enumerate(groups):
        for value in filter(is_retained, group.results):
            users = [use.operation for use in value.uses]
            readers = [
                place[each]
                for each in users
                if isinstance(each, graph.GroupOp) and each in place
            ]
            for number in range(first + 1, max(readers, default=first)):
                if number not in readers:
                    held[number] += byte_count(tensor_type(value))
    return held


def _weight_arguments(
    function: func.FuncOp, group: graph.GroupOp
) -> frozenset[SSAValue]:
    """The arguments of a group that are the same at every call."""
    pairs = zip(group.body.block.args, group.inputs, strict=True)
    return frozenset(each for each, value in pairs if _is_weight(function, value))


def _is_weight(function: func.FuncOp, value: SSAValue) -> bool:
    if not isinstance(value, BlockArgument):
        return isinstance(value.owner, ConstantInterface)
    prepared = len(function.args) - prepared_argument_count(function)
    return is_parameter(value) or value.index >= prepared
