"""
Analysis of operations: kind ids, equal if operations differ only in their operand
values.
"""

from __future__ import annotations

from collections.abc import Hashable
from functools import lru_cache

from xdsl.dialects.builtin import DenseIntOrFPElementsAttr
from xdsl.ir import Attribute, Operation


def text_of_attribute(attribute: Attribute) -> str:
    """
    Return the text of an attribute: cached, because operations share most of them,
    unless it holds the elements of a tensor, which may be large.
    """
    is_tensor = attribute.name == DenseIntOrFPElementsAttr.name
    return str(attribute) if is_tensor else _cached_text_of(attribute)


@lru_cache(maxsize=4096)
def _cached_text_of(attribute: Attribute) -> str:
    return str(attribute)


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
            known = attribute, text_of_attribute(attribute)
            self._attributes[id(attribute)] = known
        return known[1]
