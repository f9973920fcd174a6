"""
Software pipelining by the NPU code generator: instructions are moved a prefetch
distance ahead, with their signals and waits.

A loop of `n` iterations with moves of the iteration `i` issued `a` ahead becomes

    for p = 0 to min(a, n):           the moves of iteration p
    for i = 0 to n:
        for m = i + a to min(i + a + 1, n):    the moves of iteration m, if there is one
        the rest of iteration i

so that the number of issued moves is unchanged. Moves after a loop in the body stay
after it, in a separate loop. Matrix products are issued ahead in the same way.
(A simple form of modulo scheduling, M. Lam, Software Pipelining, PLDI 1988, in which
the prologue is a loop over copies of the issued operations.)
"""

from collections.abc import Iterable, Mapping, Sequence

from xdsl.builder import Builder
from xdsl.dialects import scf
from xdsl.dialects.builtin import IndexType
from xdsl.ir import Block, Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter
from xdsl.utils.exceptions import PassFailedException

from tlf.analysis.buffers.normalized_loops import STAGES
from tlf.dialects import npu
from tlf.dialects.affine_values import constant_value_of
from tlf.dialects.mem import Index
from tlf.lowering.mem_to_npu.index_builder import IndexBuilder


def issue_instructions_ahead(
    prefetch_distances: Mapping[npu.EngineOp, int],
    sync_operations: Mapping[Operation, Sequence[Operation]],
    late_waits: Mapping[Operation, Sequence[Operation]],
    chunk_loop_fronts: Mapping[Operation, Operation],
) -> None:
    """
    Issue the instructions in `prefetch_distances` ahead by their prefetch distance in
    the enclosing loop.

    `sync_operations` gives the signals and waits of each instruction. The prologue of a
    loop is inserted before its chunk loop in `chunk_loop_fronts`, otherwise before its
    first wait in `late_waits`, otherwise directly before the loop.
    """
    loops: dict[tuple[scf.ForOp, int], set[Operation]] = {}
    for op, distance in prefetch_distances.items():
        loop = op.parent_op()
        if not isinstance(loop, scf.ForOp):
            message = "expected an instruction issued ahead in the body of a loop"
            op.emit_error(message, PassFailedException(message))
        loops.setdefault((loop, distance), set()).update(
            (op, *sync_operations.get(op, ()))
        )
    for (loop, distance), operations in loops.items():
        insertion_op, *_ = *late_waits.get(loop, ()), loop
        insertion_op = chunk_loop_fronts.get(loop, insertion_op)
        ordered = [op for op in loop.body.block.ops if op in operations]
        _issue_ahead_in_loop(loop, distance, ordered, insertion_op)


def _issue_ahead_in_loop(
    loop: scf.ForOp,
    prefetch_distance: int,
    prefetched_ops: Sequence[Operation],
    prologue_point: Operation,
) -> None:
    """Issue operations of a loop ahead, with a prologue before `prologue_point`."""
    if (step := constant_value_of(loop.step)) is None:
        raise PassFailedException(
            "scf.for: expected a constant step around moves that are issued ahead"
        )
    body = loop.body.block
    slice_ops = _backward_slice_in_block(prefetched_ops, body)
    prologue = IndexBuilder(Builder(InsertPoint.before(prologue_point)))
    end = prologue.build_min(
        prologue.build_add(loop.lb, prefetch_distance * step), loop.ub
    )
    _build_loop_over_copies(
        prologue, (loop.lb, end, loop.step), slice_ops, body.args[0]
    )
    first = body.first_op
    assert first is not None
    steady_state = IndexBuilder(Builder(InsertPoint.before(first)))
    start = steady_state.build_add(body.args[0], prefetch_distance * step)
    end = steady_state.build_min(steady_state.build_add(start, 1), loop.ub)
    bounds = start, end, loop.step
    for after, group in _group_ops_by_preceding_loop(loop, prefetched_ops).items():
        point = InsertPoint.before(first) if after is None else InsertPoint.after(after)
        index = IndexBuilder(Builder(point))
        _build_loop_over_copies(
            index, bounds, _backward_slice_in_block(group, body), body.args[0]
        )
    for op in reversed(prefetched_ops):
        Rewriter.erase_op(op)
    for op in reversed(slice_ops):
        if op.parent is not None and not any(list(each.uses) for each in op.results):
            Rewriter.erase_op(op)


def _group_ops_by_preceding_loop(
    loop: scf.ForOp, prefetched_ops: Sequence[Operation]
) -> dict[Operation | None, list[Operation]]:
    """
    Group operations of a body by the loop after which they are issued, if any.

    In a loop with stages this is the last preceding loop. Otherwise it is the last loop
    with instructions for the same engine, which must not wait behind instructions of
    later iterations.
    """
    groups: dict[Operation | None, list[Operation]] = {}
    loops = {
        op: _engines_of_nested_instructions(op)
        for op in loop.body.block.ops
        if op.regions
    }
    for op in prefetched_ops:
        engines = _engines_of_nested_instructions(op)
        if STAGES in loop.attributes:
            preceding = [each for each in loops if each.is_before_in_block(op)]
        else:
            preceding = [each for each, used in loops.items() if used & engines]
        groups.setdefault(preceding[-1] if preceding else None, []).append(op)
    return groups


def _engines_of_nested_instructions(op: Operation) -> set[str]:
    """Return the engines of the instructions of an operation and its regions."""
    return {each.engine for each in op.walk() if isinstance(each, ISSUED_OPERATIONS)}


ISSUED_OPERATIONS = (npu.EngineOp, npu.SemaphoreOp)
"""Operations issued to the queue of an engine."""


def _backward_slice_in_block(
    roots: Sequence[Operation], body: Block
) -> list[Operation]:
    """
    Return `roots` and the operations of `body` that they transitively use, in block
    order.
    """
    slice_ops = set[Operation](roots)
    pending = list(roots)
    while pending:
        for operand in pending.pop().operands:
            owner = operand.owner
            if isinstance(owner, Operation) and owner.parent is body:
                if owner not in slice_ops:
                    pending.append(owner)
                slice_ops.add(owner)
    return [op for op in body.ops if op in slice_ops]


def _build_loop_over_copies(
    index_builder: IndexBuilder,
    bounds: tuple[Index, Index, Index],
    ops: Iterable[Operation],
    counter: SSAValue,
) -> None:
    """Build a loop over copies of operations of another loop's body."""
    body = Block(arg_types=[IndexType()])
    body.args[0].name_hint = counter.name_hint
    values: dict[SSAValue, SSAValue] = {counter: body.args[0]}
    for op in ops:
        body.add_op(op.clone(values))
    body.add_op(scf.YieldOp())
    lower, upper, step = (index_builder.to_ssa_value(bound) for bound in bounds)
    index_builder.builder.insert(scf.ForOp(lower, upper, step, [], body))
