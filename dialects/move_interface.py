"""What moves between memories, as passes ask for it that do not name operations."""

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
        """Whether it does; else its result is a part of its operand, and a view."""
