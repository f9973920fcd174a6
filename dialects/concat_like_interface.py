"""Interface of operations that concatenate their operands in one buffer."""

from __future__ import annotations

import abc

from tlf.dialects.interfaces import TilingInterface


class ConcatLikeInterface(TilingInterface):
    """
    An operation whose one result is its operands, next to each other: each is a part of
    a buffer with the result. It is tiled along other axes than that.
    """

    @abc.abstractmethod
    def operand_offsets(self) -> tuple[tuple[int, ...], ...]:
        """Return the offsets of each operand in the result, axis by axis."""
