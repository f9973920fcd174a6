"""Errors in buffers of the memory allocator or in their offsets, without IR."""

from __future__ import annotations

from collections.abc import Sequence


class AllocationFault(ValueError):
    """Error in some `buffers`. Their indices replace the braces of the text."""

    def __init__(self, text: str, *buffers: int) -> None:
        super().__init__(text.format(*buffers))
        self.text = text
        self.buffers = buffers

    def format_with_names(self, names: Sequence[str]) -> str:
        """Return the message with buffer names in place of their indices."""
        return self.text.format(*(f"`{names[index]}`" for index in self.buffers))
