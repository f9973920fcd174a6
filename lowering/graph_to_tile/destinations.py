"""The places that results of a group are put in, where these are not their own."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import chain
from typing import TypeAlias

from xdsl.ir import Operation, SSAValue

from tlf.analysis.tiling.model import GroupTiling
from tlf.analysis.tiling.overwriting import is_read_in_place
from tlf.dialects import graph, tile
from tlf.dialects.cuts import is_stored_cut
from tlf.dialects.graph.in_place import in_place_of
from tlf.dialects.interfaces import (
    AccumulatingInterface,
    ConstantInterface,
    ViewInterface,
)

Place: TypeAlias = tuple[int, int]
"""A result of a group, and the input that it may overwrite, both by number."""


def overwritten_by(
    group: graph.GroupOp, tiling: GroupTiling, inputs: Mapping[SSAValue, SSAValue]
) -> dict[SSAValue, SSAValue]:
    """
    For what a group yields, what it overwrites. `inputs` are what tiles are cut from,
    for each argument. That is what the group is marked with, what a loop hands on to
    its next iteration, or what a sum starts from; each for one result alone.
    """
    arguments = group.body.block.args
    found = dict[int, int]()
    for number, position in _candidates(group, tiling, inputs):
        value = inputs[arguments[position]]
        same_type = value.type == group.results[number].type
        if same_type and number not in found and position not in found.values():
            found[number] = position
    return {
        group.yielded[number]: inputs[arguments[position]]
        for number, position in found.items()
    }


def _candidates(
    group: graph.GroupOp, tiling: GroupTiling, inputs: Mapping[SSAValue, SSAValue]
) -> Iterator[Place]:
    """
    Yield the inputs that results may overwrite, the more certain ones first, some more
    than once.
    """
    for number, position in enumerate(in_place_of(group)):
        if position is not None:
            yield number, position
    arguments = group.body.block.args
    for number, position in chain(_handed_on(group), _accumulated_on(group, inputs)):
        if is_read_in_place(tiling, arguments[position], group.yielded[number]):
            yield number, position


def _handed_on(group: graph.GroupOp) -> Iterator[Place]:
    """Results that the loop around carries on, if only the group needs the last."""
    loop = group.parent_op()
    if not isinstance(loop, tile.WhileOp) or loop.parallel:
        return
    numbers: dict[SSAValue, int] = {
        value: number for number, value in enumerate(group.results)
    }
    handed_on = loop.yielded.arguments
    for carried, value in zip(loop.carried, handed_on, strict=True):
        is_used_once = len(list(carried.uses)) == 1
        if value in numbers and carried in group.inputs and is_used_once:
            yield numbers[value], list(group.inputs).index(carried)


def _accumulated_on(
    group: graph.GroupOp, inputs: Mapping[SSAValue, SSAValue]
) -> Iterator[Place]:
    """Results that start from a value which nothing else needs."""
    arguments: list[SSAValue] = [*group.body.block.args]
    for number, value in enumerate(group.yielded):
        owner = value.owner
        if not isinstance(owner, AccumulatingInterface):
            continue
        if (start := owner.init_value) is None or start not in arguments:
            continue
        if _is_spare(inputs[start]):
            yield number, arguments.index(start)


def _is_spare(value: SSAValue) -> bool:
    """
    Return `True` if a value, carried by a loop or computed, has no use but the group's.
    """
    owner = value.owner
    if len(list(value.uses)) != 1:
        return False
    if isinstance(owner, Operation) and is_stored_cut(owner):
        return False
    if isinstance(owner, ViewInterface):
        return _is_spare(owner.operands[0])
    if isinstance(owner, tile.SliceOp):
        # Another group may cut the same tile, which is then cut once. A view is a part
        # of what others may use.
        is_view = tile.level_of(owner.source.type) == tile.level_of(value.type)
        return not is_view and isinstance(owner.parent_op(), tile.WhileOp)
    if isinstance(owner, Operation):
        return not isinstance(owner, ConstantInterface)
    return isinstance(owner.parent_op(), tile.WhileOp)
