"""
Analysis result: traffic proven necessary beyond one access to every tensor, without IR.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class ExtraTraffic:
    """Lower bound on the bytes that a program must move again, and the reason."""

    kind: str
    """Kind of reason: `barrier` or `product`."""
    subject: str
    """Tensor or operation."""
    bytes: int

    def __str__(self) -> str:
        return f"{self.kind} {self.subject}: {self.bytes:,} bytes"
