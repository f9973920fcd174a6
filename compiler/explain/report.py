"""A planned function, group by group: costs, bounds, memory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import BlockArgument, SSAValue

from tlf.analysis.bounds.bounds import Bounds, bounds_of, groups_of
from tlf.compiler.explain.memory import Peak, peak_of
from tlf.compiler.explain.pricing import Price, Pricing
from tlf.compiler.explain.recomputed import Recomputed, recomputed
from tlf.dialects import graph
from tlf.dialects.graph.held import is_kept
from tlf.dialects.interfaces import ConstantInterface
from tlf.dialects.parameters import is_parameter
from tlf.dialects.prepared import is_preparation, prepared_count
from tlf.dialects.target import Target
from tlf.dialects.types import byte_count, tensor_type


@dataclass(frozen=True)
class GroupReport:
    """Report on one group before it is compiled."""

    price: Price
    weights: frozenset[SSAValue]
    """Those of its arguments that are the same at every call."""
    held: int
    """Bytes of tensors that stay around it, and that it has no use for."""

    @cached_property
    def peak(self) -> Peak:
        """The most memory that it takes."""
        return peak_of(self.price, self.weights, self.held)

    @cached_property
    def recomputed(self) -> Recomputed:
        """Work of its tiles, with the part that is recomputed."""
        return recomputed(self.price.tiling)

    @property
    def gap(self) -> float:
        """Ratio of its predicted cycles to the lower bound."""
        return self.price.spent.cycles / max(self.price.bounds.cycles, 1)

    @property
    def binds(self) -> str:
        """The dominant part of its predicted time: `moves` or `computation`."""
        spent = self.price.spent
        return "moves" if spent.moves >= spent.computation else "computation"


@dataclass(frozen=True)
class FunctionReport:
    """Report on a function whose groups have plans."""

    function: func.FuncOp
    groups: Sequence[GroupReport]
    bounds: Bounds
    """Of the whole, however it is cut into groups."""

    @property
    def cycles(self) -> int:
        """By the model: groups run one after the other."""
        return sum(each.price.spent.cycles for each in self.groups)

    @property
    def bytes(self) -> int:
        """That are moved from and to the farther memory."""
        return sum(each.price.spent.bytes for each in self.groups)

    @property
    def gap(self) -> float:
        """Ratio of its predicted cycles to the lower bound."""
        return self.cycles / max(self.bounds.cycles, 1)


def reports(module: ModuleOp) -> Iterator[FunctionReport]:
    """
    Reports on the functions of a module that run at every call and have groups. Raises
    `DiagnosticException` for targets without a model.
    """
    target = Target.of(module)
    pricing = Pricing(target)
    for function in module.ops:
        if not isinstance(function, func.FuncOp) or is_preparation(function):
            continue
        if len(function.body.blocks) == 1 and (groups := groups_of(function)):
            yield _report(function, groups, pricing)


def _report(
    function: func.FuncOp, groups: Sequence[graph.GroupOp], pricing: Pricing
) -> FunctionReport:
    held = _held(groups)
    found: list[GroupReport] = []
    for number, group in enumerate(groups):
        if (price := pricing.price(group)) is None:
            continue
        weights = _weights(function, group)
        found.append(GroupReport(price, weights, held[number]))
    return FunctionReport(function, found, bounds_of(function, pricing.target))


def _held(groups: Sequence[graph.GroupOp]) -> list[int]:
    """The bytes of tensors that stay around each group, which has no use for them."""
    place = {group: number for number, group in enumerate(groups)}
    held = [0] * len(groups)
    for first, group in enumerate(groups):
        for value in filter(is_kept, group.results):
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


def _weights(function: func.FuncOp, group: graph.GroupOp) -> frozenset[SSAValue]:
    """The arguments of a group that are the same at every call."""
    pairs = zip(group.body.block.args, group.inputs, strict=True)
    return frozenset(each for each, value in pairs if _is_weight(function, value))


def _is_weight(function: func.FuncOp, value: SSAValue) -> bool:
    if not isinstance(value, BlockArgument):
        return isinstance(value.owner, ConstantInterface)
    prepared = len(function.args) - prepared_count(function)
    return is_parameter(value) or value.index >= prepared
