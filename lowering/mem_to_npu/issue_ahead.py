"""
Software pipelining: instructions issued a prefetch distance ahead, with their sync.

A loop of `n` iterations with moves of the iteration `i` issued `a` ahead becomes

    for p = 0 to min(a, n):           the moves of iteration p
    for i = 0 to n:
        for m = i + a to min(i + a + 1, n):    the moves of iteration m, if there is one
        the rest of iteration i

so that as many moves are issued as before. Moves behind a loop in the body stay behind
it, in a loop of their own. The same holds for products. (Modulo scheduling by hand:
M. Lam, Software Pipelining, PLDI 1988, with a prologue and an epilogue that are loops
of the same text.)
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
from tlf.dialects.mem import Index
from tlf.lowering.mem_to_npu.index_builder import IndexBuilder
from tlf.lowering.mem_to_npu.integer_ranges import constant_of


def issue_ahead(
    chosen: Mapping[npu.EngineOp, int],
    beside: Mapping[Operation, Sequence[Operation]],
    late: Mapping[Operation, Sequence[Operation]],
    fronts: Mapping[Operation, Operation],
) -> None:
    """
    Issue instructions by their prefetch distance ahead of the enclosing loop. `beside`
    has the signals and waits for each, and `late` the waits before a loop that what
    comes before its first iteration goes before, or `fronts` a loop.
    """
    loops: dict[tuple[scf.ForOp, int], set[Operation]] = {}
    for op, ahead in chosen.items():
        loop = op.parent_op()
        if not isinstance(loop, scf.ForOp):
            message = "expected what starts ahead to be in the body of a loop"
            op.emit_error(message, PassFailedException(message))
        loops.setdefault((loop, ahead), set()).update((op, *beside.get(op, ())))
    for (loop, ahead), early in loops.items():
        place, *_ = *late.get(loop, ()), loop
        place = fronts.get(loop, place)
        ordered = [op for op in loop.body.block.ops if op in early]
        _pipeline_loop(loop, ahead, ordered, place)


def _pipeline_loop(
    loop: scf.ForOp, ahead: int, chosen: Sequence[Operation], place: Operation
) -> None:
    """Issue some operations of a loop ahead, with a prologue before an operation."""
    if (step := constant_of(loop.step)) is None:
        raise PassFailedException(
            "scf.for: expected a step that is a number around moves that start ahead"
        )
    body = loop.body.block
    needed = _backward_slice(chosen, body)
    before = IndexBuilder(Builder(InsertPoint.before(place)))
    end = before.min(before.add(loop.lb, ahead * step), loop.ub)
    _build_copy_loop(before, (loop.lb, end, loop.step), needed, body.args[0])
    first = body.first_op
    assert first is not None
    inside = IndexBuilder(Builder(InsertPoint.before(first)))
    start = inside.add(body.args[0], ahead * step)
    end = inside.min(inside.add(start, 1), loop.ub)
    bounds = start, end, loop.step
    for after, run in _group_by_preceding_loop(loop, chosen).items():
        point = InsertPoint.before(first) if after is None else InsertPoint.after(after)
        index = IndexBuilder(Builder(point))
        _build_copy_loop(index, bounds, _backward_slice(run, body), body.args[0])
    for op in reversed(chosen):
        Rewriter.erase_op(op)
    for op in reversed(needed):
        if op.parent is not None and not any(list(each.uses) for each in op.results):
            Rewriter.erase_op(op)


def _group_by_preceding_loop(
    loop: scf.ForOp, chosen: Sequence[Operation]
) -> dict[Operation | None, list[Operation]]:
    """
    Group operations of a body by the last loop that precedes them, if any. In loops
    that do not overlap, it is the last one that has instructions for the same engine:
    what is in it should not wait behind what is for later iterations.
    """
    runs: dict[Operation | None, list[Operation]] = {}
    loops = {op: _engines_of(op) for op in loop.body.block.ops if op.regions}
    for op in chosen:
        engines = _engines_of(op)
        if STAGES in loop.attributes:
            behind = [each for each in loops if each.is_before_in_block(op)]
        else:
            behind = [each for each, used in loops.items() if used & engines]
        runs.setdefault(behind[-1] if behind else None, []).append(op)
    return runs


def _engines_of(op: Operation) -> set[str]:
    """The engines that an instruction, or those inside of an operation, are for."""
    return {each.engine for each in op.walk() if isinstance(each, ISSUED_OPERATIONS)}


ISSUED_OPERATIONS = (npu.EngineOp, npu.SemaphoreOp)
"""Operations that are issued to the queue of an engine."""


def _backward_slice(chosen: Sequence[Operation], body: Block) -> list[Operation]:
    """Return operations with their backward slice in the block, in order."""
    needed = set[Operation](chosen)
    pending = list(chosen)
    while pending:
        for operand in pending.pop().operands:
            owner = operand.owner
            if isinstance(owner, Operation) and owner.parent is body:
                if owner not in needed:
                    pending.append(owner)
                needed.add(owner)
    return [op for op in body.ops if op in needed]


def _build_copy_loop(
    index: IndexBuilder,
    bounds: tuple[Index, Index, Index],
    ops: Iterable[Operation],
    counter: SSAValue,
) -> None:
    """Build a loop over copies of some operations of another loop's body."""
    body = Block(arg_types=[IndexType()])
    body.args[0].name_hint = counter.name_hint
    values: dict[SSAValue, SSAValue] = {counter: body.args[0]}
    for op in ops:
        body.add_op(op.clone(values))
    body.add_op(scf.YieldOp())
    lower, upper, step = (index.to_value(bound) for bound in bounds)
    index.builder.insert(scf.ForOp(lower, upper, step, [], body))
