"""In-place destinations of group results: inputs whose buffers they may overwrite."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import chain
from typing import TypeAlias

from xdsl.ir import Operation, SSAValue

from tlf.analysis.tiling.group_tiling import GroupTiling
from tlf.analysis.tiling.in_place_results import is_read_in_place
from tlf.dialects import graph, tile
from tlf.dialects.graph.in_place import in_place_operands_of
from tlf.dialects.interfaces import (
    AccumulatingInterface,
    ConstantInterface,
    ViewInterface,
)
from tlf.dialects.slice_views import is_stored_slice

InPlacePair: TypeAlias = tuple[int, int]
"""A result of a group, and the input that it may overwrite, both by number."""


def find_in_place_destinations(
    group: graph.GroupOp, tiling: GroupTiling, inputs: Mapping[SSAValue, SSAValue]
) -> dict[SSAValue, SSAValue]:
    """
    Return the input that each yielded value overwrites in place. `inputs` are what
    tiles are cut from, for each argument. That is what the group is marked with, what a
    loop hands on to its next iteration, or what a sum starts from; each for one result
    alone.
    """
    arguments = group.body.block.args
    found = dict[int, int]()
    for number, position in _in_place_candidates(group, tiling, inputs):
        value = inputs[arguments[position]]
        same_type = value.type == group.results[number].type
        if same_type and number not in found and position not in found.values():
            found[number] = position
    return {
        group.yielded_values[number]: inputs[arguments[position]]
        for number, position in found.items()
    }


def _in_place_candidates(
    group: graph.GroupOp, tiling: GroupTiling, inputs: Mapping[SSAValue, SSAValue]
) -> Iterator[InPlacePair]:
    """
    Yield the inputs that results may overwrite, the more certain ones first, some more
    than once.
    """
    for number, position in enumerate(in_place_operands_of(group)):
        if position is not None:
            yield number, position
    arguments = group.body.block.args
    for number, position in chain(
        _loop_carried_candidates(group), _initial_value_candidates(group, inputs)
    ):
        if is_read_in_place(tiling, arguments[position], group.yielded_values[number]):
            yield number, position


def _loop_carried_candidates(group: graph.GroupOp) -> Iterator[InPlacePair]:
    """
    Yield results that the enclosing loop carries, with no other reader of the last.
    """
    loop = group.parent_op()
    if not isinstance(loop, tile.WhileOp) or loop.is_parallel:
        return
    numbers: dict[SSAValue, int] = {
        value: number for number, value in enumerate(group.results)
    }
    handed_on = loop.yield_op.arguments
    for carried, value in zip(loop.carried_values, handed_on, strict=True):
        is_used_once = len(list(carried.uses)) == 1
        if value in numbers and carried in group.inputs and is_used_once:
            yield numbers[value], list(group.inputs).index(carried)


def _initial_value_candidates(
    group: graph.GroupOp, inputs: Mapping[SSAValue, SSAValue]
) -> Iterator[InPlacePair]:
    """Yield results whose initial value has no other use."""
    arguments: list[SSAValue] = [*group.body.block.args]
    for number, value in enumerate(group.yielded_values):
        owner = value.owner
        if not isinstance(owner, AccumulatingInterface):
            continue
        if (start := owner.init_value) is None or start not in arguments:
            continue
        if _is_unused_elsewhere(inputs[start]):
            yield number, arguments.index(start)


def _is_unused_elsewhere(value: SSAValue) -> bool:
    """Return `True` if a carried or computed value has no use outside of the group."""
    owner = value.owner
    if len(list(value.uses)) != 1:
        return False
    if isinstance(owner, Operation) and is_stored_slice(owner):
        return False
    if isinstance(owner, ViewInterface):
        return _is_unused_elsewhere(owner.operands[0])
    if isinstance(owner, tile.SliceOp):
        # Another group may cut the same tile, which is then cut once. A view is a part
        # of what others may use.
        is_view = tile.level_of(owner.source.type) == tile.level_of(value.type)
        return not is_view and isinstance(owner.parent_op(), tile.WhileOp)
    if isinstance(owner, Operation):
        return not isinstance(owner, ConstantInterface)
    return isinstance(owner.parent_op(), tile.WhileOp)
