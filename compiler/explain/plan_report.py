"""Explanation of plans: reports by group of cost, lower bounds and peak memory."""

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
from tlf.compiler.explain.peak_memory import MemoryPeak, peak_of_group
from tlf.compiler.explain.recomputation import Recomputation, measure_recomputation
from tlf.dialects import graph
from tlf.dialects.graph.residency import is_retained
from tlf.dialects.interfaces import ConstantInterface
from tlf.dialects.parameter_attribute import is_parameter
from tlf.dialects.target import TargetSpec
from tlf.dialects.types import byte_count, tensor_type
from tlf.dialects.weight_preparation_attributes import (
    is_preparation_function,
    prepared_argument_count,
)


@dataclass(frozen=True)
class GroupReport:
    """
    Predicted cost, peak memory and recomputation of one planned group, before lowering.
    """

    estimate: GroupEstimate
    weights: frozenset[SSAValue]
    """Arguments of the group that are the same for all calls."""
    resident_bytes: int
    """Bytes of tensors that are resident around the group and not used by it."""

    @cached_property
    def peak(self) -> MemoryPeak:
        """Peak memory use of the group."""
        return peak_of_group(self.estimate, self.weights, self.resident_bytes)

    @cached_property
    def recomputation(self) -> Recomputation:
        """Work of the tiles, with the recomputed fraction."""
        return measure_recomputation(self.estimate.tiling)

    @property
    def gap(self) -> float:
        """Ratio of the predicted cycles to the lower bound."""
        return self.estimate.predicted.cycles / max(self.estimate.bounds.cycles, 1)

    @property
    def bottleneck(self) -> str:
        """Dominant component of the predicted time: `moves` or `computation`."""
        predicted = self.estimate.predicted
        return (
            "moves"
            if predicted.move_cycles >= predicted.compute_cycles
            else "computation"
        )


@dataclass(frozen=True)
class FunctionReport:
    """
    Predicted costs of the planned groups of one function, with bounds of the function.
    """

    function: func.FuncOp
    groups: Sequence[GroupReport]
    bounds: LowerBounds
    """Lower bounds of the function, for any partition into groups."""

    @property
    def cycles(self) -> int:
        """Predicted cycles, if groups run one after the other."""
        return sum(each.estimate.predicted.cycles for each in self.groups)

    @property
    def bytes(self) -> int:
        """Bytes moved from and to the outer level."""
        return sum(each.estimate.predicted.bytes for each in self.groups)

    @property
    def gap(self) -> float:
        """Ratio of the predicted cycles to the lower bound."""
        return self.cycles / max(self.bounds.cycles, 1)


def report_functions(module: ModuleOp) -> Iterator[FunctionReport]:
    """
    Yield reports on the functions of a module that run at every call and contain
    groups. Raises `DiagnosticException` for targets without a cost model.
    """
    target = TargetSpec.read_from_module(module)
    estimator = GroupEstimator(target)
    for function in module.ops:
        if not isinstance(function, func.FuncOp) or is_preparation_function(function):
            continue
        if len(function.body.blocks) == 1 and (groups := outer_groups_of(function)):
            yield _report_function(function, groups, estimator)


def _report_function(
    function: func.FuncOp, groups: Sequence[graph.GroupOp], estimator: GroupEstimator
) -> FunctionReport:
    """Estimate each group with a plan, and compute the bounds of the function."""
    resident_bytes = _resident_bytes_around(groups)
    reports: list[GroupReport] = []
    for index, group in enumerate(groups):
        if (estimate := estimator.estimate_group(group)) is None:
            continue
        weights = _weight_arguments(function, group)
        reports.append(GroupReport(estimate, weights, resident_bytes[index]))
    return FunctionReport(
        function, reports, lower_bounds_of(function, estimator.target)
    )


def _resident_bytes_around(groups: Sequence[graph.GroupOp]) -> list[int]:
    """Return the bytes of unrelated tensors that are resident around each group."""
    indices = {group: index for index, group in enumerate(groups)}
    resident_bytes = [0] * len(groups)
    for first, group in enumerate(groups):
        for value in filter(is_retained, group.results):
            users = [use.operation for use in value.uses]
            readers = [
                indices[each]
                for each in users
                if isinstance(each, graph.GroupOp) and each in indices
            ]
            for index in range(first + 1, max(readers, default=first)):
                if index not in readers:
                    resident_bytes[index] += byte_count(tensor_type(value))
    return resident_bytes


def _weight_arguments(
    function: func.FuncOp, group: graph.GroupOp
) -> frozenset[SSAValue]:
    """Return the arguments of a group that are the same for all calls."""
    pairs = zip(group.body.block.args, group.inputs, strict=True)
    return frozenset(each for each, value in pairs if _is_weight(function, value))


def _is_weight(function: func.FuncOp, value: SSAValue) -> bool:
    """Return `True` if `value` is a constant, a parameter or a prepared argument."""
    if not isinstance(value, BlockArgument):
        return isinstance(value.owner, ConstantInterface)
    prepared = len(function.args) - prepared_argument_count(function)
    return is_parameter(value) or value.index >= prepared
