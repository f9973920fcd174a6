"""
Lowering of loop nests and affine arithmetic to code of the NPU's control processor.
"""

from xdsl.builder import Builder
from xdsl.dialects import affine, arith, func, scf
from xdsl.dialects.builtin import IndexType
from xdsl.ir import Block, Region, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter
from xdsl.utils.exceptions import PassFailedException

from tlf.analysis.buffers.core_loops import is_distributed
from tlf.dialects import npu
from tlf.dialects.located_rewriting import replace_op
from tlf.dialects.mem import Index
from tlf.lowering.mem_to_npu.index_builder import IndexBuilder
from tlf.lowering.mem_to_npu.integer_ranges import range_of


def lower_control_flow(function: func.FuncOp, cores: int = 1) -> None:
    """Lower parallel nests to loops or `npu.cores`, affine arithmetic to `arith`."""
    for op in list(function.body.walk()):
        match op:
            case scf.ParallelOp() if cores > 1 and is_distributed(op, cores):
                _to_cores(op, cores)
            case scf.ParallelOp():
                _to_loops(op)
            case affine.ApplyOp() | affine.MinOp():
                _to_arith(op)
            case arith.RemSIOp(result=result) | arith.DivSIOp(result=result) if (
                isinstance(result.type, IndexType)
            ):
                _check_division(op)
            case _:
                pass


def _to_cores(op: scf.ParallelOp, cores: int) -> None:
    body = op.body.detach_block(0)
    terminator = body.last_op
    assert terminator is not None
    Rewriter.erase_op(terminator)
    new = npu.CoresOp(cores, body)
    new.location = op.location
    replace_op(op, new, [])


def _to_loops(op: scf.ParallelOp) -> None:
    """Replace a nest by one loop per dim, the first outermost."""
    if op.results:
        raise PassFailedException(
            f"{op.name}: expected no results, got {len(op.results)}"
        )
    body = op.body.detach_block(0)
    terminator = body.last_op
    assert terminator is not None
    replace_op(terminator, scf.YieldOp())
    counters = list(body.args)
    bounds = list(zip(op.lowerBound, op.upperBound, op.step, strict=True))
    for lower, upper, step in reversed(bounds):
        counter = counters.pop()
        loop_body = _loop_body(body, counter)
        loop = scf.ForOp(lower, upper, step, [], Region(loop_body))
        loop.location = op.location
        body = Block([loop, scf.YieldOp()], arg_types=[c.type for c in counters])
        for old, new in zip(counters, body.args, strict=True):
            new.name_hint = old.name_hint
            old.replace_all_uses_with(new)
        counters = list(body.args)
    outermost = body.first_op
    assert outermost is not None
    outermost.detach()
    replace_op(op, outermost, [])


def _loop_body(body: Block, counter: SSAValue) -> Block:
    """Move the operations of a block to a block whose only argument is the counter."""
    loop_body = Block(arg_types=[counter.type])
    loop_body.args[0].name_hint = counter.name_hint
    counter.replace_all_uses_with(loop_body.args[0])
    for each in list(body.ops):
        each.detach()
        loop_body.add_op(each)
    return loop_body


def _check_division(op: arith.RemSIOp | arith.DivSIOp) -> None:
    """Raise `PassFailedException` if operands of a division may be negative."""
    if range_of(op.lhs)[0] < 0 or range_of(op.rhs)[0] <= 0:
        raise PassFailedException(
            f"{op.name}: expected operands that cannot be negative: use "
            "`affine.apply` or `arith.floordivsi`"
        )


def _to_arith(op: affine.ApplyOp | affine.MinOp) -> None:
    index = IndexBuilder(Builder(InsertPoint.before(op)))
    operands = list[Index](op.operands)
    affine_map = op.map.data
    dims, symbols = operands[: affine_map.num_dims], operands[affine_map.num_dims :]
    values = [
        index.build_expression(each, dims, symbols) for each in affine_map.results
    ]
    result = values[0]
    for value in values[1:]:
        result = index.min(result, value)
    replacement = index.to_value(result)
    replacement.name_hint = replacement.name_hint or op.results[0].name_hint
    op.results[0].replace_all_uses_with(replacement)
    Rewriter.erase_op(op)
