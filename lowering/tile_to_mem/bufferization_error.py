"""Error of the lowering of tiles to `mem` for programs that cannot be bufferised."""

from xdsl.ir import Operation
from xdsl.utils.exceptions import PassFailedException


class BufferizationError(PassFailedException):
    """Error for tiles that cannot get buffers. `op` is the offending operation."""

    def __init__(self, op: Operation, message: str) -> None:
        super().__init__(f"{op.name}: {message}")
        self.op = op
