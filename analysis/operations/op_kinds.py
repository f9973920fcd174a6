"""
Analysis of operations: kind ids, equal if operations differ only in their operand
values.
"""

from __future__ import annotations

from collections.abc import Hashable
from functools import lru_cache

from xdsl.ir import Attribute, Operation, TypeAttribute


@lru_cache(maxsize=4096)
def cached_text_of_type(type_: Attribute) -> str:
    """
    Return the text of a type, cached because programs have few types with many values
    each.
    """
    return str(type_)


class OpKinds:
    """
    Numbering of operations by name, properties and types. Each attribute is printed
    only once, because many operations share attributes. Operations must not change.
    Numberings with a common table `numbers` have equal ids for equal operations.
    """

    def __init__(self, numbers: dict[Hashable, int] | None = None) -> None:
        self._known: dict[Operation, int] = {}
        self._numbers = dict[Hashable, int]() if numbers is None else numbers
        self._attributes: dict[int, tuple[Attribute, str]] = {}
        """Text by id of the attribute, which is referenced to keep the id unique."""

    def kind_of(self, op: Operation) -> int:
        """
        Return an id that is equal for operations that differ only in their values.
        """
        if (known := self._known.get(op)) is None:
            names = sorted(op.properties)
            properties = tuple(
                (each, self._attribute_text_of(op.properties[each])) for each in names
            )
            types = tuple(
                self._attribute_text_of(v.type) for v in (*op.operands, *op.results)
            )
            key = op.name, len(op.results), properties, types
            known = self._numbers.setdefault(key, len(self._numbers))
            self._known[op] = known
        return known

    def _attribute_text_of(self, attribute: Attribute) -> str:
        if (known := self._attributes.get(id(attribute))) is None:
            is_type = isinstance(attribute, TypeAttribute)
            text = cached_text_of_type(attribute) if is_type else str(attribute)
            known = self._attributes[id(attribute)] = attribute, text
        return known[1]
