"""Error of a program that cannot be bufferised."""

from xdsl.ir import Operation
from xdsl.utils.exceptions import PassFailedException


class BufferizationError(PassFailedException):
    """A program whose tiles cannot get buffers. `op` is the operation at fault."""

    def __init__(self, op: Operation, message: str) -> None:
        super().__init__(f"{op.name}: {message}")
        self.op = op
