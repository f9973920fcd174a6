"""Objective by which the schedules of a partition are compared, without IR."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Objective:
    """
    Weighted sum of cycles and bytes, to be minimized; ties are broken by time, then
    bytes. The default is time, then bytes.

    Adding the same costs to two schedules does not change their order, so that the best
    path to each state is enough to find the best schedule. Raises ValueError if a
    weight is negative.
    """

    time: int = 1
    bytes: int = 0

    def __post_init__(self) -> None:
        if self.time < 0 or self.bytes < 0:
            raise ValueError(
                f"expected weights of at least 0, got {self.time} and {self.bytes}"
            )

    def sort_key_of_cost(self, time: int, bytes_: int) -> tuple[int, int, int]:
        """Return the sort key of a schedule."""
        return self.time * time + self.bytes * bytes_, time, bytes_
