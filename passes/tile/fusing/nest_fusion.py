"""
Rewrite of the pass `tile-fuse-loops`: fusion of two loop nests by concatenation of
their bodies, with forwarded tiles.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from xdsl.builder import Builder
from xdsl.dialects.builtin import IndexType
from xdsl.ir import Block, Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from tlf.analysis.affine_loops.fusion_legality import NestFusion
from tlf.analysis.affine_loops.loop_matching import FusedLoop
from tlf.analysis.affine_loops.motion_legality import dependents_between
from tlf.analysis.affine_loops.tile_forwarding import ForwardedSlice
from tlf.dialects import tile
from tlf.dialects.affine_values import materialize_index
from tlf.dialects.located_rewriting import replace_op
from tlf.dialects.types import scalar_value, tensor_type
from tlf.support.affine.index_access import AffineSum


def fuse_nests(fusion: NestFusion) -> tile.WhileOp:
    """Replace two nests by the fused nest, at the position of the second."""
    first, second = fusion.first, fusion.second
    later = dependents_between(first, second)
    unmerged = [
        n for n in range(len(second.inits)) if n not in fusion.merged_result_indices
    ]
    inits = [*first.inits, *(second.inits[index] for index in unmerged)]
    body = Block(
        arg_types=[IndexType()] * len(fusion.loops) + [init.type for init in inits]
    )
    variables, carried = body.args[: len(fusion.loops)], body.args[len(fusion.loops) :]
    _copy_argument_name_hints(first, second, unmerged, body)
    first_carried = carried[: len(first.inits)]
    starts: dict[int, SSAValue] = dict(
        zip(unmerged, carried[len(first.inits) :], strict=True)
    )
    _redirect_reads_of_inits(fusion, starts)
    first_values = _inline_body_of_nest(
        first, body, variables, fusion.loops, first_carried, True
    )
    for index, position in fusion.merged_result_indices.items():
        starts[index] = first_values[position]
    for value, result in zip(first_values, first.results, strict=True):
        result.replace_uses_with_if(
            value, lambda use: second.body.block.is_ancestor(use.operation)
        )
    second_values = _inline_body_of_nest(
        second,
        body,
        variables,
        fusion.loops,
        [starts[index] for index in range(len(second.inits))],
        False,
    )
    yielded = _merge_yielded_values(fusion, first_values, second_values, unmerged)
    body.add_op(tile.YieldOp(*yielded))
    fused = _build_fused_nest(fusion, inits, body)
    return _replace_nests_by_fused(fusion, fused, unmerged, later)


def _build_fused_nest(
    fusion: NestFusion, inits: Sequence[SSAValue], body: Block
) -> tile.WhileOp:
    """Insert the fused `tile.while` before the second nest, scheduled as the first."""
    first, loops = fusion.first, [each.common_loop for each in fusion.loops]
    builder = Builder(InsertPoint.before(fusion.second))
    order, stages, warps = first.order, first.stages, first.warps
    fused = tile.WhileOp(
        [materialize_index(builder, loop.lower) for loop in loops],
        [materialize_index(builder, loop.upper) for loop in loops],
        [loop.step for loop in loops],
        inits,
        body,
        first.kind.data,
        first.mapping.data,
        None if order is None else [int(axis) for axis in order.get_values()],
        None if stages is None else stages.value.data,
        None if warps is None else warps.value.data,
    )
    fused.attributes |= first.attributes
    fused.location = fusion.second.location
    return builder.insert(fused)


def _copy_argument_name_hints(
    first: tile.WhileOp,
    second: tile.WhileOp,
    unmerged_indices: Sequence[int],
    body: Block,
) -> None:
    """Copy the name hints of both nests' block arguments to those of the fused body."""
    names = [
        *first.body.block.args,
        *(second.carried_values[number] for number in unmerged_indices),
    ]
    for argument, old in zip(body.args, names, strict=True):
        argument.name_hint = old.name_hint


def _redirect_reads_of_inits(
    fusion: NestFusion, starts: Mapping[int, SSAValue]
) -> None:
    """Let the redirected operations read the carried values of the fused nest."""
    for op, index in fusion.redirected_reads:
        init = fusion.second.inits[index]
        op.operands[list(op.operands).index(init)] = starts[index]


def _merge_yielded_values(
    fusion: NestFusion,
    first_values: Sequence[SSAValue],
    second_values: Sequence[SSAValue],
    unmerged: Sequence[int],
) -> list[SSAValue]:
    """
    Return the values to yield: those of the first nest, with merged ones replaced by
    the second's, then unmerged ones of the second.
    """
    yielded = [*first_values, *(second_values[index] for index in unmerged)]
    for index, position in fusion.merged_result_indices.items():
        yielded[position] = second_values[index]
    return yielded


def _inline_body_of_nest(
    nest: tile.WhileOp,
    body: Block,
    induction_variables: Sequence[SSAValue],
    loops: Sequence[FusedLoop],
    carried: Sequence[SSAValue],
    is_first: bool,
) -> list[SSAValue]:
    """Inline the body of a nest at the end of `body`, and return its yielded values."""
    builder = Builder(InsertPoint.at_end(body))
    arguments: list[SSAValue] = []
    for variable, loop in zip(induction_variables, loops, strict=True):
        factor, summand = (
            loop.factor_and_offset_of_first
            if is_first
            else loop.factor_and_offset_of_second
        )
        index = materialize_index(
            builder, AffineSum.of_symbol(variable) * factor + summand
        )
        assert isinstance(index, SSAValue)
        arguments.append(index)
    end = nest.yield_op
    Rewriter.inline_block(
        nest.body.block, InsertPoint.at_end(body), [*arguments, *carried]
    )
    values = list[SSAValue](end.arguments)
    Rewriter.erase_op(end)
    return values


def _replace_nests_by_fused(
    fusion: NestFusion,
    fused_nest: tile.WhileOp,
    unmerged_indices: Sequence[int],
    dependent_operations: Sequence[Operation],
) -> tile.WhileOp:
    """
    Replace the results of both nests by those of the fused nest, and move dependent
    operations after it.
    """
    first, second = fusion.first, fusion.second
    count = len(first.results)
    results = {
        number: fused_nest.results[count + n]
        for n, number in enumerate(unmerged_indices)
    }
    for number, position in fusion.merged_result_indices.items():
        results[number] = fused_nest.results[position]
    for number, result in enumerate(second.results):
        results[number].name_hint = result.name_hint
        result.replace_all_uses_with(results[number])
    after: Operation = fused_nest
    for op in dependent_operations:
        op.detach()
        Rewriter.insert_op(op, InsertPoint.after(after))
        after = op
    Rewriter.erase_op(second)
    for number, result in enumerate(first.results):
        new = fused_nest.results[number]
        new.name_hint = new.name_hint or result.name_hint
        result.replace_all_uses_with(new)
    Rewriter.erase_op(first)
    for each in fusion.forwarded_slices:
        _replace_forwarded_slice(each)
    return fused_nest


def _replace_forwarded_slice(forward: ForwardedSlice) -> None:
    """Replace a slice by the tile stored in the iteration, a view of it, or a mask."""
    slice_op = forward.slice_op
    builder = Builder(InsertPoint.before(slice_op))
    value, result_type = forward.tile, tensor_type(slice_op.result)
    if not forward.is_whole_tile:
        offsets = [materialize_index(builder, each) for each in forward.offset_in_tile]
        view = tile.SliceOp(value, offsets, result_type)
        view.location = slice_op.location
        value = builder.insert(view).result
    if forward.is_masked:
        assert slice_op.fill is not None
        bounds = tensor_type(slice_op.source).get_shape()
        valid = None if slice_op.valid is None else slice_op.valid_box_extents
        fill = scalar_value(slice_op.fill)
        mask = tile.MaskOp(value, slice_op.mixed_offsets, bounds, fill, valid)
        mask.location = slice_op.location
        value = builder.insert(mask).result
    replace_op(slice_op, [], [value])
