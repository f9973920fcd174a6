"""Structural keys of groups: equal for the same operations, types and wiring."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from functools import lru_cache

from xdsl.ir import Attribute, Operation, SSAValue

from tlf.analysis.operations.op_kinds import OpKinds


def structural_key_of(
    operations: Sequence[Operation], results: Sequence[SSAValue]
) -> Hashable:
    """
    A key that is equal for groups that only differ in the names of values and in where
    their inputs come from.
    """
    numbers: dict[SSAValue, int] = {}

    def number_value(value: SSAValue) -> tuple[int, str]:
        known = numbers.setdefault(value, len(numbers))
        return known, _type_text(value.type)

    return (
        tuple(
            (
                op.name,
                tuple(
                    (name, str(each)) for name, each in sorted(op.properties.items())
                ),
                tuple(number_value(operand) for operand in op.operands),
                tuple(number_value(result) for result in op.results),
            )
            for op in operations
        ),
        tuple(number_value(result) for result in results),
    )


@lru_cache(maxsize=4096)
def _type_text(type_: Attribute) -> str:
    """
    Return the text of a type, cached: programs have few types, of many values each.
    """
    return str(type_)


class StructuralKeys:
    """
    Keys of groups by structure, for many groups of the same operations: each operation
    is examined once, and must not change.
    """

    def __init__(self, kinds: OpKinds | None = None) -> None:
        self._kinds = kinds or OpKinds()

    def key_of(
        self, operations: Sequence[Operation], results: Sequence[SSAValue]
    ) -> Hashable:
        """A key as `structure_of` makes, to be compared with those of this object."""
        wires = ((self._kinds.of(op), (*op.operands, *op.results)) for op in operations)
        return key_of_wiring(wires, results)


def key_of_wiring(
    wires: Iterable[tuple[int, Sequence[Hashable]]], results: Iterable[Hashable]
) -> Hashable:
    """
    A key of operations, given the kind and the values of each, and of those that are
    results; equal for others that differ in what stands for values alone.
    """
    numbers: dict[Hashable, int] = {}
    key: list[int] = []
    for kind, values in wires:
        key.append(kind)
        key += [numbers.setdefault(value, len(numbers)) for value in values]
    key.append(-1)
    key += [numbers.setdefault(value, len(numbers)) for value in results]
    return tuple(key)
