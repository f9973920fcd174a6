"""Faults in buffers, or in offsets of them."""

from __future__ import annotations

from collections.abc import Sequence


class Fault(ValueError):
    """
    Something that is wrong with some `buffers`. Their numbers replace the braces of
    its text.
    """

    def __init__(self, text: str, *buffers: int) -> None:
        super().__init__(text.format(*buffers))
        self.text = text
        self.buffers = buffers

    def named(self, names: Sequence[str]) -> str:
        """The message with the names of buffers in place of their numbers."""
        return self.text.format(*(f"`{names[number]}`" for number in self.buffers))
