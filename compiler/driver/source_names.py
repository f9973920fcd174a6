"""The names that a program was written with, which passes do not keep."""

from __future__ import annotations

import re
from collections.abc import Sequence

from xdsl.dialects.builtin import FileLineColLoc, ModuleOp
from xdsl.ir import Operation

from tlf.compiler.driver.source import Source
from tlf.dialects.interfaces import ConstantInterface
from tlf.dialects.parts import part_of
from tlf.dialects.places import place_of
from tlf.dialects.prepared import is_preparation

RESULTS = re.compile(r"(%[\w.$-]+)(?::\d+)?(?:\s*,\s*(%[\w.$-]+)(?::\d+)?)*\s*=")
"""Text in front of an operation that has results."""

PLACE = re.compile(r"(\d+):(\d+)")


class SourceNames:
    """Names and places of operations in the text that they come from."""

    def __init__(self, source: Source) -> None:
        self.file = source.name
        self.lines = source.text.splitlines()

    def name(self, op: Operation) -> str | None:
        """
        The name of the result in the text, as `%3`, or of the part of a module that an
        operation comes from, if one is known.
        """
        names = self._written(op)
        return names[0] if names else part_of(op)

    def place(self, op: Operation) -> str | None:
        """Return the source location of an operation, as `file:line:column`."""
        if (found := place_of(op)) is None:
            return None
        return f"{found.filename.data}:{found.line.data}:{found.column.data}"

    def is_named(self, op: Operation, name: str) -> bool:
        """
        Return `True` if an operation comes from the named part of the source: the name
        of a result, with or without its sign, a part of a module, or a location,
        `line:column` of the text.
        """
        if (match := PLACE.fullmatch(name.removeprefix(f"{self.file}:"))) is not None:
            found = self._here(op)
            at = (found.line.data, found.column.data) if found is not None else ()
            return at == (int(match[1]), int(match[2]))
        names = (*self._written(op), part_of(op) or "")
        return name.lstrip("%") in [each.lstrip("%") for each in names if each]

    def _written(self, op: Operation) -> tuple[str, ...]:
        if (found := self._here(op)) is None:
            return ()
        text = self.lines[found.line.data - 1][found.column.data - 1 :]
        if (match := RESULTS.match(text)) is None:
            return ()
        return tuple(re.findall(r"%[\w.$-]+", match[0]))

    def _here(self, op: Operation) -> FileLineColLoc | None:
        """Return the source location of an operation, if that is in this text."""
        found = place_of(op)
        if found is None or found.filename.data != self.file:
            return None
        return found if 0 < found.line.data <= len(self.lines) else None


def spelled(names: SourceNames, operations: Sequence[Operation]) -> str:
    """The names of the first and the last of some operations that compute anything."""
    computing = [op for op in operations if not isinstance(op, ConstantInterface)]
    ends = (computing or operations)[0], operations[-1]
    first, last = (names.name(op) or op.name.removeprefix("graph.") for op in ends)
    return first if first == last else f"{first} to {last}"


def operations_named(
    written: ModuleOp, module: ModuleOp, names: SourceNames, name: str
) -> Sequence[Operation]:
    """
    The operations of a module that run at every call and come from what is called so
    in the program as it was `written`, in order. Of what passes have put into other
    operations, those that come from the next one that uses it.
    """
    made: dict[str | None, list[Operation]] = {}
    for function in module.ops:
        for op in () if is_preparation(function) else function.walk():
            if not op.regions and op.results and not isinstance(op, ConstantInterface):
                made.setdefault(names.place(op), []).append(op)
    pending = [op for op in written.walk() if names.is_named(op, name)]
    seen = set(pending)
    while pending:
        op = pending.pop(0)
        if op.results and (found := made.get(names.place(op))):
            return found
        users = {use.operation for result in op.results for use in result.uses}
        pending += sorted(users - seen, key=_position)
        seen |= users
    return []


def _position(op: Operation) -> int:
    block = op.parent
    return 0 if block is None else block.get_operation_index(op)
