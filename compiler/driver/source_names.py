"""Names and locations of operations in the source text."""

from __future__ import annotations

import re
from collections.abc import Sequence

from xdsl.dialects.builtin import FileLineColLoc, ModuleOp
from xdsl.ir import Operation

from tlf.compiler.driver.source import Source
from tlf.dialects.interfaces import ConstantInterface
from tlf.dialects.module_paths import module_path_of
from tlf.dialects.prepack import is_preparation
from tlf.dialects.source_locations import location_of

RESULTS = re.compile(r"(%[\w.$-]+)(?::\d+)?(?:\s*,\s*(%[\w.$-]+)(?::\d+)?)*\s*=")
"""Text in front of an operation that has results."""

LINE_COLUMN = re.compile(r"(\d+):(\d+)")


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
        names = self._result_names_in_text(op)
        return names[0] if names else module_path_of(op)

    def location(self, op: Operation) -> str | None:
        """Return the source location of an operation, as `file:line:column`."""
        if (found := location_of(op)) is None:
            return None
        return f"{found.filename.data}:{found.line.data}:{found.column.data}"

    def is_named(self, op: Operation, name: str) -> bool:
        """
        Return `True` if an operation comes from the named part of the source: the name
        of a result, with or without its sign, a part of a module, or a location,
        `line:column` of the text.
        """
        if (
            match := LINE_COLUMN.fullmatch(name.removeprefix(f"{self.file}:"))
        ) is not None:
            found = self._location_in_text(op)
            at = (found.line.data, found.column.data) if found is not None else ()
            return at == (int(match[1]), int(match[2]))
        names = (*self._result_names_in_text(op), module_path_of(op) or "")
        return name.lstrip("%") in [each.lstrip("%") for each in names if each]

    def _result_names_in_text(self, op: Operation) -> tuple[str, ...]:
        if (found := self._location_in_text(op)) is None:
            return ()
        text = self.lines[found.line.data - 1][found.column.data - 1 :]
        if (match := RESULTS.match(text)) is None:
            return ()
        return tuple(re.findall(r"%[\w.$-]+", match[0]))

    def _location_in_text(self, op: Operation) -> FileLineColLoc | None:
        """Return the source location of an operation, if that is in this text."""
        found = location_of(op)
        if found is None or found.filename.data != self.file:
            return None
        return found if 0 < found.line.data <= len(self.lines) else None


def title_of(names: SourceNames, operations: Sequence[Operation]) -> str:
    """Return a title: the names of the first and last computing operation."""
    computing = [op for op in operations if not isinstance(op, ConstantInterface)]
    ends = (computing or operations)[0], operations[-1]
    first, last = (names.name(op) or op.name.removeprefix("graph.") for op in ends)
    return first if first == last else f"{first} to {last}"


def find_named_operations(
    written: ModuleOp, module: ModuleOp, names: SourceNames, name: str
) -> Sequence[Operation]:
    """
    Return the operations of a module that come from a name of the source. Of what
    passes have put into other operations, those that come from the next one that uses
    it.
    """
    made: dict[str | None, list[Operation]] = {}
    for function in module.ops:
        for op in () if is_preparation(function) else function.walk():
            if not op.regions and op.results and not isinstance(op, ConstantInterface):
                made.setdefault(names.location(op), []).append(op)
    pending = [op for op in written.walk() if names.is_named(op, name)]
    seen = set(pending)
    while pending:
        op = pending.pop(0)
        if op.results and (found := made.get(names.location(op))):
            return found
        users = {use.operation for result in op.results for use in result.uses}
        pending += sorted(users - seen, key=_index_in_block)
        seen |= users
    return []


def _index_in_block(op: Operation) -> int:
    block = op.parent
    return 0 if block is None else block.get_operation_index(op)
