"""Pass `mem-distribute-to-cores`: distributes iterations of parallel loops to cores."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from xdsl.builder import Builder
from xdsl.context import Context
from xdsl.dialects import scf
from xdsl.dialects.builtin import IndexType, IntegerAttr, ModuleOp, i64
from xdsl.ir import Block, Operation, Region
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter

from tlf.analysis.buffers.core_loops import (
    CORE,
    LOOP,
    MAPPING,
    is_core_loop,
    is_distributed_over_cores,
)
from tlf.analysis.buffers.normalized_loops import STAGES, max_iterations_in_flight
from tlf.dialects import mem
from tlf.dialects.function_calls import defined_functions_of
from tlf.dialects.graph.remark_attribute import add_remark
from tlf.dialects.located_rewriting import replace_op
from tlf.dialects.target import TargetSpec
from tlf.passes.mem.loop_normalization import (
    build_index_constant,
    replace_nest_by_normalized_loop,
)
from tlf.planner.distribution.loop_distribution import (
    CoreConflictError,
    find_setup_operations,
    select_distributed_loop,
)
from tlf.planner.distribution.mem_core_scope import MemCoreScope


@dataclass(frozen=True)
class MemDistributeToCoresPass(ModulePass):
    """
    Distribute the iterations of parallel loops with the mapping `core` to the cores.

    The loop is wrapped in a loop with an iteration per core. Of `n` cores, each runs
    every n-th iteration, starting from its own index. Of nested loops with this
    mapping, the loop with the largest speed-up is distributed, the outermost one if
    they are equal. Every core runs all iterations of the other loops, and the setup
    before them that fills its own levels. Buffers that other cores can read are only
    written in the distributed loop. If distribution is not possible, or there is only
    one core, the loops get the mapping `loop`.
    """

    name = "mem-distribute-to-cores"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        target = TargetSpec.read_from_module(op)
        core_levels = {
            level.name for level in target.levels.values() if level.scope == "core"
        }
        for function in defined_functions_of(op):
            for nest in list(_core_nests_in(function)):
                _distribute_nest_to_cores(nest, target.cores, core_levels)


def _core_nests_in(root: Operation) -> Iterator[scf.ParallelOp]:
    """Yield the outermost loops with the mapping `core` in an operation."""
    for region in root.regions:
        for block in region.blocks:
            for op in block.ops:
                if not isinstance(op, scf.ParallelOp) or not is_core_loop(op):
                    yield from _core_nests_in(op)
                else:
                    yield op


def _distribute_nest_to_cores(
    nest: scf.ParallelOp, cores: int, core_levels: AbstractSet[str]
) -> None:
    """Distribute the loop of `nest` with the best speed-up, or add a remark."""
    loops = [
        op for op in nest.walk() if isinstance(op, scf.ParallelOp) and is_core_loop(op)
    ]
    is_done = cores > 1 and _is_distributed_without_setup(nest, cores, core_levels)
    for loop in loops:
        if loop is not nest or not is_done:
            loop.attributes[MAPPING] = LOOP
    if cores == 1 or is_done:
        return
    block = MemCoreScope.of_nest(nest, cores, core_levels, loops)
    try:
        selected = select_distributed_loop(block.scope)
    except CoreConflictError as error:
        text = f"not distributed to cores: {error}"
        add_remark(nest, MemDistributeToCoresPass.name, "missed", text)
        return
    loop = block.operation_of(selected.loop)
    assert isinstance(loop, scf.ParallelOp)
    setup = [block.operations[position] for position in selected.setup]
    _wrap_in_core_loop(nest, loop, setup, cores)


def _is_distributed_without_setup(
    nest: scf.ParallelOp, cores: int, core_levels: AbstractSet[str]
) -> bool:
    """
    Return `True` if a loop is already distributed, with an iteration per core and no
    setup of the core's own levels before it.
    """
    if not is_distributed_over_cores(nest, cores):
        return False
    scope = MemCoreScope.of_nest(nest, cores, core_levels, (nest,)).scope
    try:
        return not find_setup_operations(scope, scope.nest)
    except CoreConflictError:
        return False


def _wrap_in_core_loop(
    nest: scf.ParallelOp,
    distributed_loop: scf.ParallelOp,
    setup_operations: Sequence[Operation],
    cores: int,
) -> None:
    """
    Wrap a nest, and its setup, in a loop over cores, and distribute one of its loops.
    """
    builder = Builder(InsertPoint.before(nest))
    zero, count, one = (build_index_constant(builder, each) for each in (0, cores, 1))
    body = Block(arg_types=[IndexType()])
    body.args[0].name_hint = "core"
    core_loop = scf.ParallelOp([zero], [count], [one], Region(body))
    core_loop.location = nest.location
    core_loop.attributes[MAPPING] = CORE
    builder.insert(core_loop)
    setup = [_split_wait_by_moves(op, setup_operations) for op in setup_operations]
    for op in (*setup, nest):
        op.detach()
        body.add_op(op)
    body.add_op(scf.ReduceOp())
    stages = max_iterations_in_flight(distributed_loop)
    distributed_loop.attributes[STAGES] = IntegerAttr(stages, i64)
    loop = replace_nest_by_normalized_loop([distributed_loop])
    step = build_index_constant(Builder(InsertPoint.before(loop)), cores)
    distributed = scf.ForOp(
        body.args[0], loop.ub, step, [], loop.detach_region(loop.body)
    )
    distributed.location = loop.location
    if stages > 1:
        distributed.attributes[STAGES] = IntegerAttr(stages, i64)
    replace_op(loop, distributed, [])


def _split_wait_by_moves(op: Operation, moved: Sequence[Operation]) -> Operation:
    """
    Split a wait, and return the wait for the tokens of `moved`; return other operations
    unchanged.
    """
    if not isinstance(op, mem.WaitOp):
        return op
    moved_tokens = [token for token in op.tokens if token.owner in moved]
    other_tokens = [token for token in op.tokens if token.owner not in moved]
    if not other_tokens:
        return op
    builder = Builder(InsertPoint.before(op))
    builder.insert(mem.WaitOp(other_tokens))
    wait = builder.insert(mem.WaitOp(moved_tokens))
    Rewriter.erase_op(op)
    return wait
