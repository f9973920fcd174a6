"""
Analysis in the lowering of groups to tile loops: inputs whose buffers the results may
overwrite in place.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import chain
from typing import TypeAlias

from xdsl.ir import Operation, SSAValue

from tlf.analysis.tiling.group_tiling import GroupTiling
from tlf.analysis.tiling.in_place_results import is_input_overwritable_by_result
from tlf.dialects import graph, tile
from tlf.dialects.graph.in_place_attribute import in_place_operands_of
from tlf.dialects.interfaces import (
    AccumulatingInterface,
    ConstantInterface,
    ViewInterface,
)
from tlf.dialects.slice_views import is_stored_slice

InPlacePair: TypeAlias = tuple[int, int]
"""Indices of a group result and of the input that it may overwrite."""


def find_in_place_destinations(
    group: graph.GroupOp, tiling: GroupTiling, inputs: Mapping[SSAValue, SSAValue]
) -> dict[SSAValue, SSAValue]:
    """
    Return, by yielded value, the value of `inputs` to overwrite in place; yielded
    values without one are absent.

    `inputs` are the values that tiles are sliced from, by group argument. Candidates
    are marked in-place operands, loop-carried values, and initial values of
    accumulations. Each input is overwritten by at most one result.
    """
    arguments = group.body.block.args
    overwritten = dict[int, int]()
    for result, position in _in_place_destination_candidates(group, tiling, inputs):
        value = inputs[arguments[position]]
        same_type = value.type == group.results[result].type
        if (
            same_type
            and result not in overwritten
            and position not in overwritten.values()
        ):
            overwritten[result] = position
    return {
        group.yielded_values[result]: inputs[arguments[position]]
        for result, position in overwritten.items()
    }


def _in_place_destination_candidates(
    group: graph.GroupOp, tiling: GroupTiling, inputs: Mapping[SSAValue, SSAValue]
) -> Iterator[InPlacePair]:
    """
    Yield the inputs that results may overwrite, marked operands first. Pairs may
    repeat.
    """
    for result, position in enumerate(in_place_operands_of(group)):
        if position is not None:
            yield result, position
    arguments = group.body.block.args
    for result, position in chain(
        _loop_carried_destination_candidates(group),
        _initial_value_destination_candidates(group, inputs),
    ):
        if is_input_overwritable_by_result(
            tiling, arguments[position], group.yielded_values[result]
        ):
            yield result, position


def _loop_carried_destination_candidates(group: graph.GroupOp) -> Iterator[InPlacePair]:
    """
    Yield loop-carried results of the enclosing loop whose previous value has no other
    use.
    """
    loop = group.parent_op()
    if not isinstance(loop, tile.WhileOp) or loop.is_parallel:
        return
    result_index: dict[SSAValue, int] = {
        value: index for index, value in enumerate(group.results)
    }
    yielded = loop.yield_op.arguments
    for carried, value in zip(loop.carried_values, yielded, strict=True):
        is_used_once = len(list(carried.uses)) == 1
        if value in result_index and carried in group.inputs and is_used_once:
            yield result_index[value], list(group.inputs).index(carried)


def _initial_value_destination_candidates(
    group: graph.GroupOp, inputs: Mapping[SSAValue, SSAValue]
) -> Iterator[InPlacePair]:
    """Yield accumulated results whose initial value has no other use."""
    arguments: list[SSAValue] = [*group.body.block.args]
    for result, value in enumerate(group.yielded_values):
        owner = value.owner
        if not isinstance(owner, AccumulatingInterface):
            continue
        if (initial := owner.init_value) is None or initial not in arguments:
            continue
        if _is_unused_outside_group(inputs[initial]):
            yield result, arguments.index(initial)


def _is_unused_outside_group(value: SSAValue) -> bool:
    """Return `True` if a loop-carried or computed value has no use outside a group."""
    owner = value.owner
    if len(list(value.uses)) != 1:
        return False
    if isinstance(owner, Operation) and is_stored_slice(owner):
        return False
    if isinstance(owner, ViewInterface):
        return _is_unused_outside_group(owner.operands[0])
    if isinstance(owner, tile.SliceOp):
        # CSE may merge equal slices of several groups. A view aliases its source,
        # which may have other uses.
        is_view = tile.level_of(owner.source.type) == tile.level_of(value.type)
        return not is_view and isinstance(owner.parent_op(), tile.WhileOp)
    if isinstance(owner, Operation):
        return not isinstance(owner, ConstantInterface)
    return isinstance(owner.parent_op(), tile.WhileOp)
