"""Interface of operations that move a tensor between memory levels."""

from __future__ import annotations

import abc

from xdsl.ir import Operation


class MoveInterface(Operation, abc.ABC):
    """
    An operation that may bring a tensor to another memory, where its result takes room
    for as long as it is used.
    """

    @property
    @abc.abstractmethod
    def is_move(self) -> bool:
        """
        True if the operation moves data; else its result is a slice of its operand, and
        a view.
        """
