"""
Analysis of groups: structural keys, equal for the same operations, types and wiring.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence

from xdsl.ir import Operation, SSAValue

from tlf.analysis.operations.op_kinds import OpKinds, text_of_attribute
from tlf.analysis.tiling.arbitrary_splats import label_arbitrary_splats


def structural_key_of(
    operations: Sequence[Operation], results: Sequence[SSAValue]
) -> Hashable:
    """
    Return a key that is equal for groups that differ only in the names of values, in
    the producers of their inputs, and in arbitrary splat constants.
    """
    ids: dict[SSAValue, int] = {}
    texts: dict[int, str] = {}
    splats = label_arbitrary_splats(operations)

    def number_value(value: SSAValue) -> int | str:
        """Return the number of a value, or its type where it occurs first."""
        if (number := ids.get(value)) is not None:
            return number
        ids[value], type_ = len(ids), value.type
        # Values share types, and the hash of a type takes long.
        if (text := texts.get(id(type_))) is None:
            text = texts[id(type_)] = text_of_attribute(type_)
        return text

    return (
        tuple(
            (
                op.name,
                splats.get(op) or _describe_properties(op),
                tuple([number_value(operand) for operand in op.operands]),
                tuple([number_value(result) for result in op.results]),
            )
            for op in operations
        ),
        tuple([number_value(result) for result in results]),
    )


def _describe_properties(op: Operation) -> Hashable:
    """Return the names and texts of the properties of an operation, sorted by name."""
    return tuple(
        (name, text_of_attribute(each)) for name, each in sorted(op.properties.items())
    )


class StructuralKeys:
    """
    Structural keys for many groups of the same operations. Each operation is examined
    once, and must not change.
    """

    def __init__(self, kinds: OpKinds | None = None) -> None:
        self._kinds = kinds or OpKinds()

    def structural_key_of(
        self, operations: Sequence[Operation], results: Sequence[SSAValue]
    ) -> Hashable:
        """
        Return a key like `structural_key_of`, comparable only with other keys of this
        object.
        """
        wires = (
            (self._kinds.kind_of(op), (*op.operands, *op.results)) for op in operations
        )
        return key_of_wiring(wires, results)


def key_of_wiring(
    wiring: Iterable[tuple[int, Sequence[Hashable]]], results: Iterable[Hashable]
) -> Hashable:
    """
    Return a key of operations, given their kinds, values and results. Keys are equal if
    the operations differ only in the objects that represent values.
    """
    ids: dict[Hashable, int] = {}
    key: list[int] = []
    for kind, values in wiring:
        key.append(kind)
        key += [ids.setdefault(value, len(ids)) for value in values]
    key.append(-1)
    key += [ids.setdefault(value, len(ids)) for value in results]
    return tuple(key)
