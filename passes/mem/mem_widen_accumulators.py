"""
Pass `mem-widen-accumulators`: accumulates tiles of partial results in loops, which are
reduced after the loop.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import prod

from xdsl.builder import Builder
from xdsl.context import Context
from xdsl.dialects import scf
from xdsl.dialects.builtin import ModuleOp, TensorType
from xdsl.ir import Attribute, Block, Region
from xdsl.ir.affine import AffineMap
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter

from tlf.dialects import mem
from tlf.dialects.function_calls import defined_functions_of
from tlf.dialects.triton import default_warp_count, warps_of_loop
from tlf.dialects.types import element_count_of, tensor_type
from tlf.planner.cost.gpu.wide_accumulators import can_widen_accumulators
from tlf.support.affine.linear_access import is_projection


@dataclass(frozen=True)
class MemWidenAccumulatorsPass(ModulePass):
    """
    Let loops accumulate elementwise into a tile of partial results, which is reduced
    once after the loop, instead of reducing each tile: threads then exchange no results
    within the loop, and rounding errors of long sums are those of pairwise sums.

    Applies to reductions on tensors whose result is only carried to the next iteration,
    if the tiles of partial results of a loop have room in the registers.
    """

    name = "mem-widen-accumulators"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in defined_functions_of(op):
            loops = [each for each in function.walk() if isinstance(each, scf.ForOp)]
            for loop in loops:
                _widen_accumulators_of_loop(loop)


def _widen_accumulators_of_loop(loop: scf.ForOp) -> None:
    """Widen the accumulators of a loop, if there is room for all of them."""
    reductions = list(_carried_reductions(loop))
    sizes = [prod(reduction.domain_extents) for _, reduction in reductions]
    if can_widen_accumulators(sizes, _warp_count_of(loop)):
        for index, reduction in reductions:
            _widen_accumulator(loop, index, reduction)


def _warp_count_of(loop: scf.ForOp) -> int:
    """
    Return the number of warps that run a loop: that of the enclosing grid loop, or else
    the default for the largest tile of the loop.
    """
    parent = loop.parent_op()
    while parent is not None:
        if (warps := warps_of_loop(parent)) is not None:
            return warps
        parent = parent.parent_op()
    values = [value for each in loop.walk() for value in each.results]
    tiles = [each for each in values if isinstance(each.type, TensorType)]
    return default_warp_count(max(map(element_count_of, tiles), default=0))


def _carried_reductions(loop: scf.ForOp) -> Iterator[tuple[int, mem.ReduceOp]]:
    """
    Yield the reductions whose results a loop only carries, each with the index of the
    carried value.
    """
    block = loop.body.block
    terminator = block.last_op
    assert isinstance(terminator, scf.YieldOp)
    for index, value in enumerate(terminator.operands):
        carried, reduction = block.args[1 + index], value.owner
        if (
            isinstance(reduction, mem.ReduceOp)
            and reduction.parent is block
            and tuple(reduction.outputs) == (carried,)
            and carried.has_one_use()
            and value.has_one_use()
            and is_projection(reduction.input_maps[0], allow_zero=True)
            and prod(reduction.domain_extents) > element_count_of(value)
        ):
            yield index, reduction


def _widen_accumulator(loop: scf.ForOp, index: int, reduction: mem.ReduceOp) -> None:
    """
    Replace a reduction by an elementwise accumulation, and reduce the partial results
    after the loop.
    """
    (neutral,) = reduction.neutral_elements
    narrow = tensor_type(reduction.results[0])
    domain = reduction.domain_extents
    wide = TensorType(narrow.element_type, domain, narrow.encoding)
    identity = AffineMap.identity(len(domain))

    initial = loop.iter_args[index]
    start = Builder(InsertPoint.before(loop)).insert(mem.FillOp(neutral, None, wide))
    assert start.result is not None
    loop.operands[3 + index] = start.result
    partial = mem.MapOp(
        [reduction.inputs[0], loop.body.block.args[1 + index]],
        [],
        domain,
        [reduction.input_maps[0], identity, identity],
        reduction.body.clone(),
        [wide],
    )
    body = _combination_body(reduction, narrow.element_type)
    Rewriter.replace_op(reduction, partial)
    Rewriter.replace_value_with_new_type(loop.body.block.args[1 + index], wide)
    result = Rewriter.replace_value_with_new_type(loop.results[index], wide)
    maps = [identity, reduction.output_maps[0]]
    total = mem.ReduceOp([result], [initial], domain, maps, body, [narrow])
    Builder(InsertPoint.after(loop)).insert(total)
    result.replace_uses_with_if(
        total.results[0], lambda use: use.operation is not total
    )


def _combination_body(reduction: mem.ReduceOp, element: Attribute) -> Region:
    """Return the body of a reduction that combines elements of the accumulators."""
    (combine,) = reduction.combiners
    block = Block(arg_types=[element, element])
    accumulator = reduction.body.block.args[1]
    copy = combine.clone()
    copy.operands = [
        block.args[1] if operand is accumulator else block.args[0]
        for operand in combine.operands
    ]
    block.add_ops([copy, mem.YieldOp(copy.results)])
    return Region(block)
