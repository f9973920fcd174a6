"""Distribute the iterations of parallel loops to cores."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from xdsl.builder import Builder
from xdsl.context import Context
from xdsl.dialects import arith, func, scf
from xdsl.dialects.builtin import IndexType, IntegerAttr, ModuleOp, i64
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter

from tlf.analysis.buffers.counters import (
    STAGES,
    counters_of,
    linear,
    stages_of,
    trips_of,
)
from tlf.analysis.buffers.dealt import CORE, LOOP, MAPPING, gain, is_dealt, is_for_cores
from tlf.analysis.buffers.scope import CoreScope, SharedError
from tlf.dialects import mem
from tlf.dialects.graph.remark import remark
from tlf.dialects.rewriting import replace_op
from tlf.dialects.target import Target


@dataclass(frozen=True)
class MemDistributeToCoresPass(ModulePass):
    """
    Deal the iterations of parallel loops with the mapping `core` to the cores.

    Such a loop goes into another one, with an iteration for each core. Of `n` cores,
    each does every n-th iteration, from its own number on. Of loops with this mapping
    in one another, the one is dealt that keeps the cores busiest, the outer one if
    there is no difference; every core walks the others, and does what is before them
    that brings tiles near. What other cores see, a core may write in the dealt loop
    alone. Where that cannot be, or there is one core, loops get the mapping `loop`.
    """

    name = "mem-distribute-to-cores"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        target = Target.of(op)
        own = {level.name for level in target.levels.values() if level.scope == "core"}
        for function in op.ops:
            if isinstance(function, func.FuncOp) and not function.is_declaration:
                for nest in list(_nests(function)):
                    _assign(nest, target.cores, own)


def _nests(top: Operation) -> Iterator[scf.ParallelOp]:
    """The outermost loops for cores in an operation."""
    for region in top.regions:
        for block in region.blocks:
            for op in block.ops:
                if not isinstance(op, scf.ParallelOp) or not is_for_cores(op):
                    yield from _nests(op)
                else:
                    yield op


def _assign(nest: scf.ParallelOp, cores: int, own: AbstractSet[str]) -> None:
    loops = [
        op for op in nest.walk() if isinstance(op, scf.ParallelOp) and is_for_cores(op)
    ]
    stays = cores > 1 and _has_all(nest, cores, own)
    for loop in loops:
        if loop is not nest or not stays:
            loop.attributes[MAPPING] = LOOP
    if cores == 1 or stays:
        return
    reasons: list[str] = []
    for dealt in sorted(loops, key=lambda loop: -_gain(loop, cores)):
        if _gain(dealt, cores) <= 1:
            break
        try:
            before = CoreScope(nest, dealt, own).before()
        except SharedError as error:
            reasons.append(str(error))
            continue
        _deal(nest, dealt, before, cores)
        return
    reason = reasons[0] if reasons else "it has one iteration"
    remark(
        nest, MemDistributeToCoresPass.name, "missed", f"not dealt to cores: {reason}"
    )


def _has_all(nest: scf.ParallelOp, cores: int, own: AbstractSet[str]) -> bool:
    """
    Return `True` if a loop has an iteration for each core, with all of the core's
    private work inside.
    """
    if not is_dealt(nest, cores):
        return False
    try:
        return not CoreScope(nest, nest, own).before()
    except SharedError:
        return False


def _gain(loop: scf.ParallelOp, cores: int) -> float:
    """Return the speed-up of a loop on cores; 0 if it cannot be distributed."""
    if (trips := trips_of([loop])) is None:
        return cores if len(counters_of(loop)) == 1 else 0
    return gain(trips, cores)


def _deal(
    nest: scf.ParallelOp,
    dealt: scf.ParallelOp,
    before: Sequence[Operation],
    cores: int,
) -> None:
    """Put a nest, and what is to be done before it, into a loop over cores."""
    outside = Builder(InsertPoint.before(nest))
    zero, count, one = (_number(outside, each) for each in (0, cores, 1))
    body = Block(arg_types=[IndexType()])
    body.args[0].name_hint = "core"
    around = scf.ParallelOp([zero], [count], [one], Region(body))
    around.location = nest.location
    around.attributes[MAPPING] = CORE
    outside.insert(around)
    moved = [_own_wait(op, before) for op in before]
    for op in (*moved, nest):
        op.detach()
        body.add_op(op)
    body.add_op(scf.ReduceOp())
    stages = stages_of(dealt)
    dealt.attributes[STAGES] = IntegerAttr(stages, i64)
    loop = linear([dealt])
    step = _number(Builder(InsertPoint.before(loop)), cores)
    new = scf.ForOp(body.args[0], loop.ub, step, [], loop.detach_region(loop.body))
    new.location = loop.location
    if stages > 1:
        new.attributes[STAGES] = IntegerAttr(stages, i64)
    replace_op(loop, new, [])


def _own_wait(op: Operation, moved: Sequence[Operation]) -> Operation:
    """An operation; of a wait, the part for moves that go along."""
    if not isinstance(op, mem.WaitOp):
        return op
    own = [token for token in op.tokens if token.owner in moved]
    others = [token for token in op.tokens if token.owner not in moved]
    if not others:
        return op
    builder = Builder(InsertPoint.before(op))
    builder.insert(mem.WaitOp(others))
    wait = builder.insert(mem.WaitOp(own))
    Rewriter.erase_op(op)
    return wait


def _number(builder: Builder, number: int) -> SSAValue:
    return builder.insert(arith.ConstantOp(IntegerAttr(number, IndexType()))).result
