"""Operations that join tensors where they lie."""

from __future__ import annotations

import abc

from tlf.dialects.interfaces import TilingInterface


class JoiningInterface(TilingInterface):
    """
    An operation whose one result is its operands, next to each other: each is a part of
    a buffer with the result. It is tiled along other axes than that.
    """

    @abc.abstractmethod
    def places(self) -> tuple[tuple[int, ...], ...]:
        """For each operand, where in the result it starts, axis by axis."""
