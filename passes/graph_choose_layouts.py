"""Choose in which order the axes of tensors lie in the outermost memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp, TensorType
from xdsl.ir import SSAValue
from xdsl.passes import ModulePass
from xdsl.utils.exceptions import PassFailedException

from tlf.dialects.layouts import declared_arguments, declared_results
from tlf.dialects.prepared import is_preparation, prepared_count
from tlf.dialects.target import Target
from tlf.passes.cost.timed import TimedTiles
from tlf.passes.fusion.notes import Notes
from tlf.passes.graph_group import level_named
from tlf.passes.layouts.costs import LayoutCosts
from tlf.passes.layouts.orders import Order, row_major
from tlf.passes.layouts.search import LayoutSearch
from tlf.passes.layouts.tensors import StoredTensor, stored_tensors, update_signature

FREE = ("arguments", "results")

Declared: TypeAlias = Mapping[SSAValue, Order | None]
"""Of arguments and returned values, the layout they must have; None if any will do."""


@dataclass(frozen=True)
class GraphChooseLayoutsPass(ModulePass):
    """
    Choose the order in which the axes of tensors lie in the outermost memory.

    That memory moves bursts. Of an image that is cut along its width a row is short,
    and its bursts carry what nobody needs; with the channels last, a row has them all.
    The order is a property of storage: operations and tilings keep the axes they have.

    Tensors that one group writes and others read get the order with which these take
    least time by the model of the level, each with the tiles that are best then. A
    group whose plan is the model's own gets a new one, other plans stay. Arguments and
    results lie as `tlf.layout` says, else in row-major order unless they are free.
    What others than groups read stays in row-major order.
    """

    name = "graph-choose-layouts"

    level: str | None = None
    """The memory level that tiles are brought to; the outermost one unless given."""

    free: tuple[str, ...] = ()
    """`arguments`, `results`, or both: they may lie in any order, unless declared."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        if unknown := [each for each in self.free if each not in FREE]:
            known = ", ".join(FREE)
            raise PassFailedException(
                f"expected what is free among {known}, got {unknown[0]}"
            )
        target = Target.of(op)
        level = level_named(target, self.level)
        timed = TimedTiles.of(target, level)
        if timed is None or timed.is_nearest:
            return
        costs = LayoutCosts(target, level)
        notes = Notes(self.name)
        for function in op.walk():
            if isinstance(function, func.FuncOp) and function.body.blocks:
                self._choose(function, costs, notes)
        notes.write()

    def _choose(self, function: func.FuncOp, costs: LayoutCosts, notes: Notes) -> None:
        if is_preparation(function) or len(function.body.blocks) != 1:
            return
        declared = _declared(function, self.free)
        tensors = list(stored_tensors(function))
        _note_unmet(function, declared, tensors, notes)
        fixed = {
            tensor: order
            for tensor in tensors
            if (order := declared.get(tensor.value)) is not None
        }
        free = [tensor for tensor in tensors if tensor not in fixed]
        search = LayoutSearch(free, fixed, costs)
        found = search.best()
        for group, plan in search.plans(found).items():
            group.plan = plan
        for tensor, order in found.items():
            if order != tensor.order:
                notes.add(tensor.groups[0], "passed", _told(tensor, order))
                tensor.store_in(order)
        update_signature(function)


def _declared(function: func.FuncOp, free: Sequence[str]) -> Declared:
    """The layouts of arguments and of returned values."""
    arguments = list[SSAValue](function.body.block.args)
    fixed = len(arguments) - prepared_count(function)
    wanted: dict[SSAValue, Order | None] = {}
    for number, (value, order) in enumerate(
        zip(arguments, declared_arguments(function), strict=True)
    ):
        is_free = "arguments" in free and number < fixed
        wanted[value] = order if order or is_free else _plain(value)
    returned = function.body.block.last_op
    if isinstance(returned, func.ReturnOp):
        for value, order in zip(
            returned.arguments, declared_results(function), strict=True
        ):
            is_free = "results" in free
            wanted[value] = order if order or is_free else _plain(value)
    return wanted


def _plain(value: SSAValue) -> Order:
    type_ = value.type
    return row_major(type_.get_num_dims()) if isinstance(type_, TensorType) else ()


def _note_unmet(
    function: func.FuncOp,
    declared: Declared,
    tensors: Sequence[StoredTensor],
    notes: Notes,
) -> None:
    """Say where a declared layout is not the one that the program works with."""
    known = {tensor.value for tensor in tensors}
    for value, order in declared.items():
        if order and value not in known and order != _plain(value):
            name = value.name_hint or "a value"
            text = f"{name} does not lie as declared: others than groups use it"
            notes.add(function, "missed", text)


def _told(tensor: StoredTensor, order: Order) -> str:
    name = tensor.value.name_hint or "a tensor"
    return f"the axes of {name} lie in the order {', '.join(map(str, order))}"
