"""Traffic beyond every tensor once, where it can be proven."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Cut:
    """Bytes that have to be moved again, and why."""

    kind: str
    """`barrier` or `product`."""
    what: str
    """The tensor or the operation."""
    bytes: int

    def __str__(self) -> str:
        return f"{self.kind} {self.what}: {self.bytes:,} bytes"
