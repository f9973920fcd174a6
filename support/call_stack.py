"""
Room on the interpreter's stack of frames.

CPython (3.11 and later) keeps frames of Python functions in chunks of 16 KiB, about 60
calls. A call that does not fit into the current chunk maps a new one, which is unmapped
when the call returns. A loop whose calls cross the end of a chunk pays two system calls
for each of them: a compilation that happens to run at such a depth takes up to twice as
long. A frame larger than 16 KiB gets a chunk of the next power of two (see
`_PyThreadState_PushFrame` in CPython's `Python/pystate.c`), and the calls that it makes
use the rest of the chunk.
"""

from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")

FRAME_SLOTS = 2**16 + 2**10
"""
Size of the frame that reserves room, in pointers: a little over half of the chunk of 1
MiB that holds it, so that nearly 512 KiB are left for calls, more than the default
limit of recursion needs. Only pages that are used take memory.
"""


def reserve_stack(function: Callable[P, R]) -> Callable[P, R]:
    """
    Return `function` with room for all calls that it makes in one chunk of the stack.

    A call costs about 10 us more; use it where long work begins.
    """

    def call_with_room(*arguments: P.args, **options: P.kwargs) -> R:
        return function(*arguments, **options)

    code = call_with_room.__code__.replace(co_stacksize=FRAME_SLOTS)
    call_with_room.__code__ = code
    return wraps(function)(call_with_room)
