"""
Operation base of the `mem` dialect: prefetch distance in iterations of the enclosing
loop.
"""

from __future__ import annotations

from xdsl.dialects.builtin import IntegerAttr, i64
from xdsl.irdl import IRDLOperation, opt_prop_def
from xdsl.utils.exceptions import VerifyException


class PrefetchableOperation(IRDLOperation):
    """Base of `mem` operations in a loop that may start `ahead` iterations early."""

    ahead = opt_prop_def(IntegerAttr.constr(i64))

    @property
    def prefetch_distance(self) -> int:
        """Number of iterations by which the operation may start early; 0 by default."""
        return 0 if self.ahead is None else self.ahead.value.data

    def verify_prefetch_distance(self) -> None:
        """
        Raise `VerifyException` if the prefetch distance is given, but less than 1.
        """
        if self.ahead is not None and self.prefetch_distance < 1:
            raise VerifyException(
                f"expected at least 1 iteration ahead, got {self.prefetch_distance}"
            )
