"""
The pass `mem-split-maps`: one scalar operation per map.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

from xdsl.context import Context
from xdsl.dialects import arith, memref
from xdsl.dialects.builtin import MemRefType, ModuleOp, StringAttr
from xdsl.ir import Block, BlockArgument, Operation, Region, SSAValue
from xdsl.ir.affine import AffineExpr, AffineMap
from xdsl.passes import ModulePass
from xdsl.pattern_rewriter import (
    PatternRewriter,
    RewritePattern,
    op_type_rewrite_pattern,
)

from tlf.dialects import mem
from tlf.dialects.mem import Linear, accesses
from tlf.dialects.rewriting import rewrite_module


@dataclass(frozen=True)
class MemSplitMapsPass(ModulePass):
    """
    Split maps over buffers into maps of one scalar operation with one output each.

    Values between operations go to new buffers in the level of the output. A value that
    does not depend on a dimension of the domain is computed without it. Maps of one
    operation stay.
    """

    name = "mem-split-maps"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        rewrite_module(op, SplitMapPattern(), is_recursive=False)


class SplitMapPattern(RewritePattern):
    """
    Split one map.
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: mem.MapOp, rewriter: PatternRewriter, /) -> None:
        work = [each for each in op.body.block.ops if not is_structure(each)]
        if not op.is_buffer_form or (len(work) <= 1 and len(op.outputs) == 1):
            return
        _Split(op, rewriter, work).run()


def is_structure(op: Operation) -> bool:
    """Return `True` if an operation of a map's body computes nothing."""
    return isinstance(op, arith.ConstantOp | mem.YieldOp)


@dataclass(frozen=True)
class _Element:
    """A scalar of the body as the element of a buffer."""

    buffer: SSAValue
    accesses: tuple[Linear, ...]

    @property
    def dimensions(self) -> set[int]:
        return {each.dimension for each in self.accesses if each.dimension is not None}


@dataclass
class _Split:
    op: mem.MapOp
    rewriter: PatternRewriter
    work: Sequence[Operation]
    elements: dict[SSAValue, _Element] = field(default_factory=dict[SSAValue, _Element])

    def run(self) -> None:
        op = self.op
        for argument, buffer, indexing in zip(
            op.body.block.args, op.inputs, op.input_maps, strict=True
        ):
            self.elements[argument] = _Element(buffer, accesses(indexing))
        terminator = op.body.block.last_op
        assert isinstance(terminator, mem.YieldOp)
        targets = self._targets(terminator.values)
        for number, each in enumerate(self.work):
            direct = targets.get(each.results[0])
            if direct is not None and not self._is_read_later(direct, number):
                self._compute(each, direct)
            else:
                self._compute(each, None)
        self._copies(terminator.values)
        self.rewriter.erase(op)

    def _targets(self, values: Sequence[SSAValue]) -> dict[SSAValue, SSAValue]:
        """The output that a result can be computed into."""
        targets: dict[SSAValue, SSAValue] = {}
        for value, output in zip(values, self.op.outputs, strict=True):
            if value.owner in self.work and value not in targets:
                targets[value] = output
        return targets

    def _is_read_later(self, output: SSAValue, number: int) -> bool:
        """
        Return `True` if an output's buffer is an input of the operations that follow
        the one of this index.
        """
        later: list[SSAValue] = []
        for each in self.work[number + 1 :]:
            later += each.operands
        terminator = self.op.body.block.last_op
        assert terminator is not None
        later += terminator.operands
        return any(
            isinstance(value, BlockArgument)
            and _root(self.elements[value].buffer) is _root(output)
            for value in later
        )

    def _compute(self, each: Operation, output: SSAValue | None) -> None:
        """Emit the map of one operation, to a new buffer or to an output."""
        sources = [value for value in each.operands if value in self.elements]
        everything = set(range(len(self.op.extents)))
        kept: set[int] = set()
        for value in sources:
            kept |= self.elements[value].dimensions
        if output is not None:
            if kept != everything:
                return self._compute(each, None)
            self._emit(each, sources, sorted(everything), output)
            return None
        dimensions = sorted(kept)
        self._emit(each, sources, dimensions, self._new(each.results[0], dimensions))
        return None

    def _new(self, value: SSAValue, dimensions: Sequence[int]) -> SSAValue:
        """A buffer for a value, in the level of the outputs."""
        shape = [self.op.extents[dimension] for dimension in dimensions]
        space = StringAttr(mem.level_of(self.op.outputs[0].type))
        alloc = mem.AllocOp(MemRefType(value.type, shape, memory_space=space))
        return self.rewriter.insert(alloc).buffer

    def _emit(
        self,
        each: Operation,
        sources: Sequence[SSAValue],
        dimensions: Sequence[int],
        output: SSAValue,
    ) -> None:
        block = Block(arg_types=[value.type for value in sources])
        replacements = dict[SSAValue, SSAValue](zip(sources, block.args, strict=True))
        for value in each.operands:
            if isinstance(value.owner, arith.ConstantOp) and value not in replacements:
                constant = value.owner.clone()
                block.add_op(constant)
                replacements[value] = constant.result
        clone = each.clone(replacements)
        block.add_ops([clone, mem.YieldOp(clone.results)])
        self._map(sources, dimensions, output, block)
        result = _unit_accesses(dimensions, len(self.op.extents))
        self.elements[each.results[0]] = _Element(output, result)

    def _map(
        self,
        sources: Sequence[SSAValue],
        dimensions: Sequence[int],
        output: SSAValue,
        block: Block,
    ) -> None:
        elements = [self.elements[value] for value in sources]
        maps = [_indexing(element, dimensions) for element in elements]
        self.rewriter.insert(
            mem.MapOp(
                [element.buffer for element in elements],
                [output],
                [self.op.extents[dimension] for dimension in dimensions],
                [*maps, AffineMap.identity(len(dimensions))],
                Region(block),
            )
        )

    def _copies(self, values: Sequence[SSAValue]) -> None:
        """Copy to the outputs what was not computed there."""
        pending = [
            (value, output)
            for value, output in zip(values, self.op.outputs, strict=True)
            if value not in self.elements or self.elements[value].buffer is not output
        ]
        everything = range(len(self.op.extents))
        overwritten = {_root(output) for _, output in pending[:-1]}
        for value, _ in pending[1:]:
            if value in self.elements and (
                _root(self.elements[value].buffer) in overwritten
            ):
                kept = self._new(value, everything)
                self._copy(value, kept)
                unit = _unit_accesses(everything, len(everything))
                self.elements[value] = _Element(kept, unit)
        for value, output in pending:
            self._copy(value, output)

    def _copy(self, value: SSAValue, output: SSAValue) -> None:
        block = Block()
        sources = [value] if value in self.elements else []
        if sources:
            yielded: SSAValue = block.insert_arg(value.type, 0)
        else:
            assert isinstance(value.owner, Operation)
            constant = value.owner.clone()
            block.add_op(constant)
            yielded = constant.results[0]
        block.add_op(mem.YieldOp([yielded]))
        self._map(sources, range(len(self.op.extents)), output, block)


def _unit_accesses(dimensions: Sequence[int], rank: int) -> tuple[Linear, ...]:
    return tuple(
        Linear(tuple(int(other == dimension) for other in range(rank)))
        for dimension in dimensions
    )


def _indexing(element: _Element, dimensions: Sequence[int]) -> AffineMap:
    """The map of a buffer in a domain that keeps some dimensions."""
    results = [
        AffineExpr.constant(0)
        if each.dimension is None
        else AffineExpr.dimension(dimensions.index(each.dimension))
        for each in element.accesses
    ]
    return AffineMap(len(dimensions), 0, tuple(results))


def _root(buffer: SSAValue) -> SSAValue:
    """The buffer that a view is part of."""
    owner = buffer.owner
    if isinstance(owner, memref.SubviewOp | memref.ReinterpretCastOp):
        return _root(owner.source)
    return buffer
