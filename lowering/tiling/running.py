"""What a loop carries, and groups in it compute anew where it lies."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from xdsl.ir import SSAValue

from tlf.dialects import graph, tile
from tlf.passes.tiling.model import GroupTiling, Scope, same_box


def running_places(
    group: graph.GroupOp, tiling: GroupTiling
) -> Mapping[SSAValue, SSAValue]:
    """
    For results of a group that a loop hands on to its next iteration, what it handed on
    to this one, if nothing but the group needs that, and each tile reads of it what the
    tile writes.
    """
    return {
        group.yielded[number]: carried
        for number, carried in _handed_on(group)
        if _is_read_in_place(group, tiling, number, carried)
    }


def _handed_on(group: graph.GroupOp) -> Iterator[tuple[int, SSAValue]]:
    """Results of a group, by number, with what the loop around carries for them."""
    loop = group.parent_op()
    if not isinstance(loop, tile.WhileOp) or loop.parallel:
        return
    numbers: dict[SSAValue, int] = {
        value: number for number, value in enumerate(group.results)
    }
    handed_on = loop.yielded.arguments
    for carried, value in zip(loop.carried, handed_on, strict=True):
        if value in numbers and carried.type == value.type:
            yield numbers[value], carried


def _is_read_in_place(
    group: graph.GroupOp, tiling: GroupTiling, number: int, carried: SSAValue
) -> bool:
    """Whether each tile of a group reads of what is carried what it writes of it."""
    if carried not in group.inputs or len(list(carried.uses)) != 1:
        return False
    inside = group.body.block.args[list(group.inputs).index(carried)]
    boxes = tiling.reads.get((inside, Scope.OUTER), [])
    if len(boxes) != 1 or (inside, Scope.INNER) in tiling.reads:
        return False
    return same_box(boxes[0], tiling.pieces[number])
