"""How many iterations of the loop around it an operation may start early."""

from __future__ import annotations

from xdsl.dialects.builtin import IntegerAttr
from xdsl.utils.exceptions import VerifyException


def iterations_of(ahead: IntegerAttr | None) -> int:
    """The number of iterations, 0 where there is none."""
    return 0 if ahead is None else ahead.value.data


def verify_ahead(ahead: IntegerAttr | None) -> None:
    """Check that the number, where there is one, is at least 1."""
    if ahead is not None and iterations_of(ahead) < 1:
        raise VerifyException(
            f"expected at least 1 iteration ahead, got {iterations_of(ahead)}"
        )
