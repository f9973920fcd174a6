"""Interface of operations that concatenate their operands in one buffer."""

from __future__ import annotations

import abc

from tlf.dialects.interfaces import TilingInterface


class ConcatLikeInterface(TilingInterface):
    """
    Operation whose single result is the concatenation of its operands: each operand can
    be a slice view of the result's buffer. It is tiled along other axes than the
    concatenated one.
    """

    @abc.abstractmethod
    def operand_offsets(self) -> tuple[tuple[int, ...], ...]:
        """Return the offsets of each operand in the result, one per axis."""
