"""Early start of operations, in iterations of the loop around them."""

from __future__ import annotations

from xdsl.dialects.builtin import IntegerAttr, i64
from xdsl.irdl import IRDLOperation, opt_prop_def
from xdsl.utils.exceptions import VerifyException


class EarlyOperation(IRDLOperation):
    """An operation that may start iterations of a loop before its own."""

    ahead = opt_prop_def(IntegerAttr.constr(i64))

    @property
    def iterations_ahead(self) -> int:
        """
        Number of iterations before its own that the operation may start; 0 if not
        given.
        """
        return 0 if self.ahead is None else self.ahead.value.data

    def verify_early(self) -> None:
        """Check that the number, where there is one, is at least 1."""
        if self.ahead is not None and self.iterations_ahead < 1:
            raise VerifyException(
                f"expected at least 1 iteration ahead, got {self.iterations_ahead}"
            )
