"""Driver: names and locations of operations in the source text, for reports."""

from __future__ import annotations

import re
from collections.abc import Sequence

from xdsl.dialects.builtin import FileLineColLoc, ModuleOp
from xdsl.ir import Operation

from tlf.compiler.driver.source import Source
from tlf.dialects.interfaces import ConstantInterface
from tlf.dialects.module_paths import module_path_of
from tlf.dialects.source_locations import nearest_location_of
from tlf.dialects.weight_preparation_attributes import is_preparation_function

RESULTS = re.compile(r"(%[\w.$-]+)(?::\d+)?(?:\s*,\s*(%[\w.$-]+)(?::\d+)?)*\s*=")
"""The results and the equals sign in front of an operation."""

LINE_COLUMN = re.compile(r"(\d+):(\d+)")


class SourceNames:
    """Names and locations of operations in their source text."""

    def __init__(self, source: Source) -> None:
        self.file = source.name
        self.lines = source.text.splitlines()

    def name_of(self, op: Operation) -> str | None:
        """
        Return the name of the result in the text, such as `%3`, or the part of a module
        that an operation originates from, if known.
        """
        names = self._result_names_in_text(op)
        return names[0] if names else module_path_of(op)

    def source_location_of(self, op: Operation) -> str | None:
        """Return the source location of an operation, as `file:line:column`."""
        if (loc := nearest_location_of(op)) is None:
            return None
        return f"{loc.filename.data}:{loc.line.data}:{loc.column.data}"

    def is_named(self, op: Operation, name: str) -> bool:
        """
        Return `True` if an operation originates from the named part of the source: the
        name of a result, with or without `%`, a part of a module, or a location
        `line:column` of the text.
        """
        if (
            match := LINE_COLUMN.fullmatch(name.removeprefix(f"{self.file}:"))
        ) is not None:
            location = self._location_in_text(op)
            line_column = (
                (location.line.data, location.column.data)
                if location is not None
                else ()
            )
            return line_column == (int(match[1]), int(match[2]))
        names = (*self._result_names_in_text(op), module_path_of(op) or "")
        return name.lstrip("%") in [each.lstrip("%") for each in names if each]

    def _result_names_in_text(self, op: Operation) -> tuple[str, ...]:
        """
        Return the names before `=` at the location of `op`, if it is in this text.
        """
        if (location := self._location_in_text(op)) is None:
            return ()
        text = self.lines[location.line.data - 1][location.column.data - 1 :]
        if (match := RESULTS.match(text)) is None:
            return ()
        return tuple(re.findall(r"%[\w.$-]+", match[0]))

    def _location_in_text(self, op: Operation) -> FileLineColLoc | None:
        """Return the source location of an operation, if it is in this text."""
        location = nearest_location_of(op)
        if location is None or location.filename.data != self.file:
            return None
        return location if 0 < location.line.data <= len(self.lines) else None


def title_of_operations(names: SourceNames, operations: Sequence[Operation]) -> str:
    """Return a title: the names of the first and last computing operation."""
    computing = [op for op in operations if not isinstance(op, ConstantInterface)]
    ends = (computing or operations)[0], operations[-1]
    first, last = (names.name_of(op) or op.name.removeprefix("graph.") for op in ends)
    return first if first == last else f"{first} to {last}"


def find_named_operations(
    source_module: ModuleOp, module: ModuleOp, names: SourceNames, name: str
) -> Sequence[Operation]:
    """
    Return the operations of a module that originate from a name of the source. If
    passes have merged these into other operations, return those of the closest user
    instead.
    """
    by_location: dict[str | None, list[Operation]] = {}
    for function in module.ops:
        for op in () if is_preparation_function(function) else function.walk():
            if not op.regions and op.results and not isinstance(op, ConstantInterface):
                by_location.setdefault(names.source_location_of(op), []).append(op)
    pending = [op for op in source_module.walk() if names.is_named(op, name)]
    visited = set(pending)
    while pending:
        op = pending.pop(0)
        if op.results and (
            originating := by_location.get(names.source_location_of(op))
        ):
            return originating
        users = {use.operation for result in op.results for use in result.uses}
        pending += sorted(users - visited, key=_index_in_block)
        visited |= users
    return []


def _index_in_block(op: Operation) -> int:
    block = op.parent
    return 0 if block is None else block.get_operation_index(op)
