"""The groups of a block that compute what another one needs, and nothing else needs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Operation, SSAValue

from tlf.dialects.interfaces import ContractionInterface, TilingInterface
from tlf.dialects.types import tensor_type

Part: TypeAlias = Sequence[TilingInterface]
"""Operations that run together."""

SMALL = 8
"""What has this part of the elements of the largest tensor may be handed on."""


def read_by(operations: Part) -> list[SSAValue]:
    """What operations read."""
    return [operand for op in operations for operand in op.operands]


def leading_to(
    group: Part, values: Sequence[SSAValue], groups: Mapping[Operation, Part]
) -> list[Part]:
    """
    A group, and those of all that is needed for values through operations of groups, up
    to contractions. What hands on a whole tensor to others stays apart: it has to be
    stored anyhow.
    """
    found = {id(group): group}
    pending, seen = list(values), set[Operation]()
    while pending:
        owner = pending.pop().owner
        if not isinstance(owner, Operation) or owner not in groups or owner in seen:
            continue
        seen.add(owner)
        found[id(groups[owner])] = groups[owner]
        if not isinstance(owner, ContractionInterface):
            pending += owner.operands
    return _without_stored(list(found.values()))


def _without_stored(parts: list[Part]) -> list[Part]:
    """The first part, and those that hand nothing on to what is not among them."""
    most = max(_count(value) for part in parts for value in read_by(part))
    while True:
        inside = {op for part in parts for op in part}
        first, *others = parts
        stored = [_hands_on(part, inside, most // SMALL) for part in others]
        if not any(stored):
            return parts
        kept = zip(others, stored, strict=True)
        parts = [first, *(part for part, is_stored in kept if not is_stored)]


def _hands_on(part: Part, inside: set[TilingInterface], least: int) -> bool:
    """Whether others use a tensor of more than so many elements."""
    return any(
        use.operation not in inside
        for op in part
        for value in op.results
        if _count(value) > least
        for use in value.uses
    )


def _count(value: SSAValue) -> int:
    is_tensor = isinstance(value.type, TensorType)
    return tensor_type(value).element_count() if is_tensor else 0
