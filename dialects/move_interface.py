"""Interface of operations that move a tensor between memory levels."""

from __future__ import annotations

import abc

from xdsl.ir import Operation


class MoveInterface(Operation, abc.ABC):
    """
    Operation that may move a tensor to another memory level, where its result occupies
    memory during its live range.
    """

    @property
    @abc.abstractmethod
    def is_move(self) -> bool:
        """
        True if the operation moves data, false if its result is a slice view of its
        operand.
        """
