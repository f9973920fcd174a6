"""
Cleanup of the NPU code generator: erase lowered operations, wait tokens and views;
check for unsupported operations.
"""

from collections.abc import Sequence

from xdsl.dialects import func, scf
from xdsl.ir import Block, Operation
from xdsl.rewriter import Rewriter
from xdsl.transforms.dead_code_elimination import region_dce
from xdsl.utils.exceptions import PassFailedException

from tlf.analysis.buffers import memory_effects
from tlf.dialects import mem, npu
from tlf.dialects.located_rewriting import replace_op

BUFFERS_AND_VIEWS = (*memory_effects.BUFFER_OPS, *memory_effects.VIEW_OPS)
"""Operations that define buffers and views of them."""

_SUPPORTED_OPERATIONS = frozenset(
    {*BUFFERS_AND_VIEWS, npu.CoresOp, scf.ForOp, scf.YieldOp, func.ReturnOp}
)
"""Operations that the NPU supports, other than those of whole dialects."""


def erase_lowered_operations(body: Block, lowered_ops: Sequence[Operation]) -> None:
    """Erase waits for moves, loop-carried tokens, lowered operations and views."""
    order = list(body.walk())
    for op in [op for op in order if type(op) is mem.WaitOp]:
        Rewriter.erase_op(op)
    for op in order:
        if type(op) is scf.YieldOp:
            _drop_yielded_tokens(op)
    for op in order:
        if type(op) is scf.ForOp and op.iter_args:
            _drop_loop_carried_values(op)
    for op in lowered_ops:
        Rewriter.erase_op(op)
    for op in reversed(order):
        if type(op) in BUFFERS_AND_VIEWS:
            Rewriter.erase_op(op)
    region = body.parent
    assert region is not None
    region_dce(region)


def _drop_yielded_tokens(op: scf.YieldOp) -> None:
    """Drop an `scf.yield`'s operands; raise `PassFailedException` unless tokens."""
    for value in op.operands:
        if not isinstance(value.type, mem.TokenType):
            raise PassFailedException(
                f"scf.for: expected a loop that carries tokens only, got {value.type}"
            )
    if op.operands:
        replace_op(op, scf.YieldOp())


def _drop_loop_carried_values(op: scf.ForOp) -> None:
    """Rebuild a loop without its loop-carried values, which have no more uses."""
    body = op.detach_region(op.body)
    tokens = list(op.iter_args)
    for argument in reversed(body.block.args[1:]):
        body.block.erase_arg(argument, safe_erase=False)
    loop = scf.ForOp(op.lb, op.ub, op.step, [], body)
    loop.location = op.location
    replace_op(op, loop, [*tokens])


def check_is_supported_by_npu(op: Operation) -> None:
    """Raise `PassFailedException` for an operation that the NPU does not support."""
    if isinstance(op, mem.LoadOp | mem.StoreOp):
        raise PassFailedException(f"{op.name}: expected buffers, got tensors")
    if op.dialect_name() in ("arith", "math", "mem"):
        return
    if type(op) not in _SUPPORTED_OPERATIONS:
        raise PassFailedException(f"{op.name}: the npu has no instruction for it")
