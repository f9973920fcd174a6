"""
Driver: memo of the forms of operations that verified, so that repeated layers of a
program are verified once.

The form of an operation is what its verifier may inspect: its kind (class, properties,
attributes and types), the kinds of the operations in its regions, how values connect
them, the kinds of the definitions of its operands, and the classes of the operations
around it; for the last operation of a block, also the kind of the one around it.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field
from functools import cache

from xdsl.ir import Attribute, BlockArgument, Operation, OpResult, SSAValue
from xdsl.traits import SymbolOpInterface, SymbolTable, SymbolUserOpInterface

from tlf.dialects.graph.constant import dense_elements_of

MAX_BYTES = 64
"""Maximum size of the elements of a tensor that are part of a form."""


class UnknownFormError(Exception):
    """Error: the verifier may inspect more than the form of an operation."""


@dataclass
class VerifiedForms:
    """Set of the forms that verified."""

    _verified: set[Hashable] = field(default_factory=set[Hashable])
    _numbers: dict[Hashable, int] = field(default_factory=dict[Hashable, int])
    _attributes: dict[int, tuple[Attribute, int]] = field(
        default_factory=dict[int, tuple[Attribute, int]]
    )
    """Number by id of the attribute, which is referenced to keep the id unique."""

    def __contains__(self, form: Hashable) -> bool:
        return form in self._verified

    def add(self, form: Hashable) -> None:
        """Record a form that verified."""
        self._verified.add(form)

    def number_of(self, key: Hashable) -> int:
        """Return a number that is equal for equal keys."""
        return self._numbers.setdefault(key, len(self._numbers))

    def number_of_attribute(self, attribute: Attribute) -> int:
        """
        Return a number that is equal for equal attributes. Raises `UnknownFormError`
        for large tensors of elements.
        """
        if (known := self._attributes.get(id(attribute))) is None:
            elements = dense_elements_of(attribute)
            if elements is not None and len(elements.data.data) > MAX_BYTES:
                raise UnknownFormError
            known = attribute, self.number_of(attribute)
            self._attributes[id(attribute)] = known
        return known[1]


@dataclass
class FormReader:
    """
    Reader of the forms of operations, each of which is examined once and must not
    change meanwhile. Operations and values are found by their ids, whose hashes are
    fast.
    """

    forms: VerifiedForms
    _kinds: dict[int, int] = field(default_factory=dict[int, int])
    _surroundings: dict[int, int] = field(default_factory=dict[int, int])

    def form_of(self, op: Operation) -> Hashable | None:
        """
        Return the form of an operation; None if its verifier may inspect more: symbols,
        other blocks, many elements of tensors, or regions nested in its regions.
        """
        block, parent = op.parent, op.parent_op()
        if block is None or parent is None or not _has_form(type(op)):
            return None
        if block.next_block is not None or block.prev_block is not None:
            return None
        try:
            form: list[Hashable] = [self._surroundings_of(parent)]
            if block.last_op is op:
                form.append((self._kind_of(parent),))
            self._append_operation(op, {}, form)
        except UnknownFormError:
            return None
        return tuple(form)

    def _append_operation(
        self, op: Operation, values: dict[int, int], form: list[Hashable]
    ) -> None:
        """
        Append an operation and those in its regions to a form, whose values are
        numbered. Raises `UnknownFormError`.
        """
        form.append(self._kind_of(op))
        for operand in op.operands:
            if (number := values.get(id(operand))) is None:
                values[id(operand)] = len(values)
                form.append(self._definition_of(operand))
            else:
                form.append(number)
        for result in op.results:
            values[id(result)] = len(values)
        for region in op.regions:
            for block in region.blocks:
                for argument in block.args:
                    values[id(argument)] = len(values)
                for inner in block.ops:
                    if inner.regions:
                        raise UnknownFormError
                    self._append_operation(inner, values, form)
                form.append(None)

    def _kind_of(self, op: Operation) -> int:
        """Return a number that is equal for operations that differ only in values."""
        if (known := self._kinds.get(id(op))) is None:
            if op.successors:
                raise UnknownFormError
            number_of = self.forms.number_of_attribute
            kind: list[Hashable] = [type(op), len(op.results)]
            kind += [number_of(each.type) for each in (*op.results, *op.operands)]
            for table in op.properties, op.attributes:
                for name, attribute in table.items():
                    kind += (name, number_of(attribute))
                kind.append(None)
            for region in op.regions:
                for block in region.blocks:
                    kind.append(tuple(map(number_of, block.arg_types)))
                kind.append(None)
            known = self._kinds[id(op)] = self.forms.number_of(tuple(kind))
        return known

    def _definition_of(self, value: SSAValue) -> tuple[int, int]:
        """
        Return the kind of the operation that defines a value, and the index of the
        value, negative for arguments of blocks.
        """
        if isinstance(value, OpResult):
            return self._kind_of(value.op), value.index
        if isinstance(value, BlockArgument) and (op := value.block.parent_op()):
            return self._surroundings_of(op), ~value.index
        raise UnknownFormError

    def _surroundings_of(self, op: Operation) -> int:
        """Return a number of the classes of an operation and of those around it."""
        if (known := self._surroundings.get(id(op))) is None:
            parent = op.parent_op()
            outer = None if parent is None else self._surroundings_of(parent)
            known = self.forms.number_of((type(op), outer))
            self._surroundings[id(op)] = known
        return known


@cache
def _has_form(kind: type[Operation]) -> bool:
    """Return `True` if operations of a class neither are symbols nor refer to any."""
    excluded = SymbolOpInterface, SymbolTable, SymbolUserOpInterface
    return not any(kind.has_trait(e, value_if_unregistered=True) for e in excluded)
