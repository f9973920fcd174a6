"""Two nests become one: one body after the other, with tiles handed on."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.builder import Builder
from xdsl.dialects.builtin import IndexType
from xdsl.ir import Block, Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from tlf.analysis.affine_loops.between import dependents
from tlf.analysis.affine_loops.fusion import Fusion
from tlf.analysis.affine_loops.indices import index_of
from tlf.analysis.affine_loops.trips import SharedLoop
from tlf.dialects import tile
from tlf.support.affine.access import Linear


def fuse(fusion: Fusion) -> tile.WhileOp:
    """Replace two nests that have no objection by one, where the second is."""
    first, second = fusion.first, fusion.second
    later = dependents(first, second)
    own = [n for n in range(len(second.inits)) if n not in fusion.merged]
    inits = [*first.inits, *(second.inits[number] for number in own)]
    body = Block(
        arg_types=[IndexType()] * len(fusion.loops) + [init.type for init in inits]
    )
    variables, carried = body.args[: len(fusion.loops)], body.args[len(fusion.loops) :]
    _name(first, second, own, body)
    kept = carried[: len(first.inits)]
    starts: dict[int, SSAValue] = dict(
        zip(own, carried[len(first.inits) :], strict=True)
    )
    for op, number in fusion.rereads:
        init = second.inits[number]
        op.operands[list(op.operands).index(init)] = starts[number]
    ours = _inline(first, body, variables, fusion.loops, kept, True)
    for number, position in fusion.merged.items():
        starts[number] = ours[position]
    for value, result in zip(ours, first.results, strict=True):
        result.replace_uses_with_if(
            value, lambda use: second.body.block.is_ancestor(use.operation)
        )
    theirs = _inline(
        second,
        body,
        variables,
        fusion.loops,
        [starts[number] for number in range(len(second.inits))],
        False,
    )
    yielded = [*ours, *(theirs[number] for number in own)]
    for number, position in fusion.merged.items():
        yielded[position] = theirs[number]
    body.add_op(tile.YieldOp(*yielded))
    made = _nest(fusion, inits, body)
    return _replace(fusion, made, own, later)


def _nest(fusion: Fusion, inits: Sequence[SSAValue], body: Block) -> tile.WhileOp:
    first, loops = fusion.first, [each.loop for each in fusion.loops]
    builder = Builder(InsertPoint.before(fusion.second))
    order, stages = first.order, first.stages
    made = tile.WhileOp(
        [index_of(builder, loop.lower) for loop in loops],
        [index_of(builder, loop.upper) for loop in loops],
        [loop.step for loop in loops],
        inits,
        body,
        first.kind.data,
        first.mapping.data,
        None if order is None else [int(axis) for axis in order.get_values()],
        None if stages is None else stages.value.data,
    )
    made.attributes |= first.attributes
    made.location = fusion.second.location
    return builder.insert(made)


def _name(
    first: tile.WhileOp, second: tile.WhileOp, own: Sequence[int], body: Block
) -> None:
    """Let arguments be called as they were."""
    names = [*first.body.block.args, *(second.carried[number] for number in own)]
    for argument, old in zip(body.args, names, strict=True):
        argument.name_hint = old.name_hint


def _inline(
    nest: tile.WhileOp,
    body: Block,
    variables: Sequence[SSAValue],
    loops: Sequence[SharedLoop],
    carried: Sequence[SSAValue],
    is_first: bool,
) -> list[SSAValue]:
    """Move the body of a nest to the end of another; returns what it yields."""
    builder = Builder(InsertPoint.at_end(body))
    arguments: list[SSAValue] = []
    for variable, loop in zip(variables, loops, strict=True):
        factor, summand = loop.first if is_first else loop.second
        index = index_of(builder, Linear.of(variable) * factor + summand)
        assert isinstance(index, SSAValue)
        arguments.append(index)
    end = nest.yielded
    Rewriter.inline_block(
        nest.body.block, InsertPoint.at_end(body), [*arguments, *carried]
    )
    values = list[SSAValue](end.arguments)
    Rewriter.erase_op(end)
    return values


def _replace(
    fusion: Fusion, made: tile.WhileOp, own: Sequence[int], later: Sequence[Operation]
) -> tile.WhileOp:
    """Let the results of one nest stand for those of both."""
    first, second = fusion.first, fusion.second
    count = len(first.results)
    results = {number: made.results[count + n] for n, number in enumerate(own)}
    for number, position in fusion.merged.items():
        results[number] = made.results[position]
    for number, result in enumerate(second.results):
        results[number].name_hint = result.name_hint
        result.replace_all_uses_with(results[number])
    after: Operation = made
    for op in later:
        op.detach()
        Rewriter.insert_op(op, InsertPoint.after(after))
        after = op
    Rewriter.erase_op(second)
    for number, result in enumerate(first.results):
        new = made.results[number]
        new.name_hint = new.name_hint or result.name_hint
        result.replace_all_uses_with(new)
    Rewriter.erase_op(first)
    for each in fusion.forwards:
        each.apply()
    return made
