"""
Lowering of loop nests and affine arithmetic to code of the NPU's control processor.
"""

from xdsl.builder import Builder
from xdsl.dialects import affine, arith, func, scf
from xdsl.dialects.builtin import IndexType
from xdsl.ir import Block, Region, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter
from xdsl.utils.exceptions import PassFailedException

from tlf.analysis.buffers.core_loops import is_distributed_over_cores
from tlf.dialects import npu
from tlf.dialects.located_rewriting import replace_op
from tlf.dialects.mem import Index
from tlf.lowering.mem_to_npu.index_builder import IndexBuilder
from tlf.lowering.mem_to_npu.index_ranges import index_range_of


def lower_control_flow(function: func.FuncOp, core_count: int = 1) -> None:
    """Lower parallel nests to loops or `npu.cores`, affine arithmetic to `arith`."""
    for op in list(function.body.walk()):
        match op:
            case scf.ParallelOp() if core_count > 1 and is_distributed_over_cores(
                op, core_count
            ):
                _convert_nest_to_cores(op, core_count)
            case scf.ParallelOp():
                _convert_nest_to_loops(op)
            case affine.ApplyOp() | affine.MinOp():
                _convert_affine_to_arith(op)
            case arith.RemSIOp(result=result) | arith.DivSIOp(result=result) if (
                isinstance(result.type, IndexType)
            ):
                _check_operands_are_nonnegative(op)
            case _:
                pass


def _convert_nest_to_cores(nest: scf.ParallelOp, core_count: int) -> None:
    """Replace an `scf.parallel` by an `npu.cores` that takes over its body."""
    body = nest.body.detach_block(0)
    terminator = body.last_op
    assert terminator is not None
    Rewriter.erase_op(terminator)
    new = npu.CoresOp(core_count, body)
    new.location = nest.location
    replace_op(nest, new, [])


def _convert_nest_to_loops(nest: scf.ParallelOp) -> None:
    """Replace an `scf.parallel` by nested `scf.for` loops, the first dim outermost."""
    if nest.results:
        raise PassFailedException(
            f"{nest.name}: expected no results, got {len(nest.results)}"
        )
    body = nest.body.detach_block(0)
    terminator = body.last_op
    assert terminator is not None
    replace_op(terminator, scf.YieldOp())
    counters = list(body.args)
    bounds = list(zip(nest.lowerBound, nest.upperBound, nest.step, strict=True))
    for lower, upper, step in reversed(bounds):
        counter = counters.pop()
        loop_body = _move_to_loop_body(body, counter)
        loop = scf.ForOp(lower, upper, step, [], Region(loop_body))
        loop.location = nest.location
        body = Block([loop, scf.YieldOp()], arg_types=[c.type for c in counters])
        for old, new in zip(counters, body.args, strict=True):
            new.name_hint = old.name_hint
            old.replace_all_uses_with(new)
        counters = list(body.args)
    outermost = body.first_op
    assert outermost is not None
    outermost.detach()
    replace_op(nest, outermost, [])


def _move_to_loop_body(body: Block, counter: SSAValue) -> Block:
    """Move the operations of a block to a block whose only argument is the counter."""
    loop_body = Block(arg_types=[counter.type])
    loop_body.args[0].name_hint = counter.name_hint
    counter.replace_all_uses_with(loop_body.args[0])
    for each in list(body.ops):
        each.detach()
        loop_body.add_op(each)
    return loop_body


def _check_operands_are_nonnegative(op: arith.RemSIOp | arith.DivSIOp) -> None:
    """Raise `PassFailedException` if operands of a division may be negative."""
    if index_range_of(op.lhs)[0] < 0 or index_range_of(op.rhs)[0] <= 0:
        raise PassFailedException(
            f"{op.name}: expected operands that cannot be negative: use "
            "`affine.apply` or `arith.floordivsi`"
        )


def _convert_affine_to_arith(op: affine.ApplyOp | affine.MinOp) -> None:
    """Replace an `affine.apply` or `affine.min` by equivalent `arith` operations."""
    index = IndexBuilder(Builder(InsertPoint.before(op)))
    operands = list[Index](op.operands)
    affine_map = op.map.data
    dims, symbols = operands[: affine_map.num_dims], operands[affine_map.num_dims :]
    values = [
        index.build_affine_expression(each, dims, symbols)
        for each in affine_map.results
    ]
    result = values[0]
    for value in values[1:]:
        result = index.build_min(result, value)
    replacement = index.to_ssa_value(result)
    replacement.name_hint = replacement.name_hint or op.results[0].name_hint
    op.results[0].replace_all_uses_with(replacement)
    Rewriter.erase_op(op)
