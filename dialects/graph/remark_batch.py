"""Batch of a pass's remarks, which are attached to their functions in linear time."""

from __future__ import annotations

from collections.abc import Iterable

from xdsl.dialects import func
from xdsl.ir import Operation

from tlf.dialects.graph.remark_attribute import (
    RemarkAttr,
    RemarkKind,
    add_remark_locations,
    enclosing_function,
    location_names_of,
)


class RemarkBatch:
    """
    Remarks of one pass, each with the locations that its operations have when it is
    added. Remarks of the same text on one function are merged.
    """

    def __init__(self, pass_name: str) -> None:
        self._pass_name = pass_name
        self._functions: dict[func.FuncOp, dict[RemarkAttr, list[str]]] = {}

    def add_remark(self, op: Operation, kind: RemarkKind, text: str) -> None:
        """Add a remark on an operation, which the pass may erase afterwards."""
        self.add_shared_remark([op], kind, text)

    def add_shared_remark(
        self, ops: Iterable[Operation], kind: RemarkKind, text: str
    ) -> None:
        """Add a remark on each of several operations."""
        remark = RemarkAttr(kind, self._pass_name, text)
        for op in ops:
            if (function := enclosing_function(op)) is not None:
                remarks = self._functions.setdefault(function, {})
                remarks.setdefault(remark, []).extend(location_names_of(op))

    def attach(self) -> None:
        """Attach all remarks to their functions, and empty the batch."""
        for function, remarks in self._functions.items():
            add_remark_locations(function, remarks)
        self._functions.clear()
