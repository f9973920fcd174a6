"""Pass `mem-split-maps`: splits maps over buffers into maps of a scalar operation."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from xdsl.context import Context
from xdsl.dialects import arith
from xdsl.dialects.builtin import MemRefType, ModuleOp, StringAttr
from xdsl.ir import Block, BlockArgument, Operation, Region, SSAValue
from xdsl.ir.affine import AffineExpr, AffineMap
from xdsl.passes import ModulePass
from xdsl.pattern_rewriter import (
    PatternRewriter,
    RewritePattern,
    op_type_rewrite_pattern,
)

from tlf.analysis.buffers.memory_effects import root_of
from tlf.dialects import mem
from tlf.dialects.located_rewriting import rewrite_module
from tlf.dialects.mem import access_functions
from tlf.support.affine.index_access import (
    Accesses,
    IndexAccess,
    identity_accesses,
)


@dataclass(frozen=True)
class MemSplitMapsPass(ModulePass):
    """
    Split maps over buffers into maps with one scalar operation and one output each.

    Intermediate values are written to new buffers in the level of the output. A value
    that does not depend on a dimension of the domain is computed without this
    dimension. Maps of one operation with one output are not changed.
    """

    name = "mem-split-maps"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        rewrite_module(op, SplitMapPattern(), is_recursive=False)


class SplitMapPattern(RewritePattern):
    """Split a map over buffers with several operations or outputs."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: mem.MapOp, rewriter: PatternRewriter, /) -> None:
        operations = [each for each in op.body.block.ops if not is_structural(each)]
        if not op.is_buffer_form or (len(operations) <= 1 and len(op.outputs) == 1):
            return
        _MapSplit(op, rewriter, operations).split_map()


def is_structural(op: Operation) -> bool:
    """Return `True` if an operation of a map's body is a constant or the terminator."""
    return isinstance(op, arith.ConstantOp | mem.YieldOp)


@dataclass(frozen=True)
class _Element:
    """A scalar of the body that is stored in a buffer."""

    buffer: SSAValue
    accesses: Accesses

    @property
    def dimensions(self) -> set[int]:
        return {each.loop_dim for each in self.accesses if each.loop_dim is not None}


@dataclass
class _MapSplit:
    op: mem.MapOp
    rewriter: PatternRewriter
    operations: Sequence[Operation]
    elements: dict[SSAValue, _Element] = field(default_factory=dict[SSAValue, _Element])

    def split_map(self) -> None:
        op = self.op
        for argument, buffer, indexing in zip(
            op.body.block.args, op.inputs, op.input_maps, strict=True
        ):
            self.elements[argument] = _Element(buffer, access_functions(indexing))
        terminator = op.body.block.last_op
        assert isinstance(terminator, mem.YieldOp)
        targets = self._direct_outputs(terminator.values)
        for number, each in enumerate(self.operations):
            direct = targets.get(each.results[0])
            if direct is not None and not self._is_read_later(direct, number):
                self._emit_operation(each, direct)
            else:
                self._emit_operation(each, None)
        self._copy_missing_outputs(terminator.values)
        self.rewriter.erase(op)

    def _direct_outputs(self, values: Sequence[SSAValue]) -> dict[SSAValue, SSAValue]:
        """Return the output that each result can be computed into directly."""
        targets: dict[SSAValue, SSAValue] = {}
        for value, output in zip(values, self.op.outputs, strict=True):
            if value.owner in self.operations and value not in targets:
                targets[value] = output
        return targets

    def _is_read_later(self, output: SSAValue, number: int) -> bool:
        """
        Return `True` if an operation after index `number`, or the terminator, reads the
        buffer of an output.
        """
        later: list[SSAValue] = []
        for each in self.operations[number + 1 :]:
            later += each.operands
        terminator = self.op.body.block.last_op
        assert terminator is not None
        later += terminator.operands
        return any(
            isinstance(value, BlockArgument)
            and root_of(self.elements[value].buffer) is root_of(output)
            for value in later
        )

    def _emit_operation(self, each: Operation, output: SSAValue | None) -> None:
        """Emit the map of a scalar operation, into an output or a new buffer."""
        sources = [value for value in each.operands if value in self.elements]
        all_dimensions = set(range(len(self.op.extents)))
        used_dimensions: set[int] = set()
        for value in sources:
            used_dimensions |= self.elements[value].dimensions
        if output is not None:
            if used_dimensions != all_dimensions:
                return self._emit_operation(each, None)
            self._emit_scalar_map(each, sources, sorted(all_dimensions), output)
            return None
        dimensions = sorted(used_dimensions)
        self._emit_scalar_map(
            each,
            sources,
            dimensions,
            self._allocate_buffer(each.results[0], dimensions),
        )
        return None

    def _allocate_buffer(self, value: SSAValue, dimensions: Sequence[int]) -> SSAValue:
        """Allocate a buffer for a value in the level of the outputs."""
        shape = [self.op.extents[dimension] for dimension in dimensions]
        space = StringAttr(mem.level_of(self.op.outputs[0].type))
        alloc = mem.AllocOp(MemRefType(value.type, shape, memory_space=space))
        return self.rewriter.insert(alloc).buffer

    def _emit_scalar_map(
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
        self._insert_map(sources, dimensions, output, block)
        accesses = tuple(map(IndexAccess.of, dimensions))
        self.elements[each.results[0]] = _Element(output, accesses)

    def _insert_map(
        self,
        sources: Sequence[SSAValue],
        dimensions: Sequence[int],
        output: SSAValue,
        block: Block,
    ) -> None:
        elements = [self.elements[value] for value in sources]
        maps = [_indexing_map_of(element, dimensions) for element in elements]
        self.rewriter.insert(
            mem.MapOp(
                [element.buffer for element in elements],
                [output],
                [self.op.extents[dimension] for dimension in dimensions],
                [*maps, AffineMap.identity(len(dimensions))],
                Region(block),
            )
        )

    def _copy_missing_outputs(self, values: Sequence[SSAValue]) -> None:
        """Copy the values that were not computed in place to the outputs."""
        pending = [
            (value, output)
            for value, output in zip(values, self.op.outputs, strict=True)
            if value not in self.elements or self.elements[value].buffer is not output
        ]
        all_dimensions = range(len(self.op.extents))
        overwritten = {root_of(output) for _, output in pending[:-1]}
        for value, _ in pending[1:]:
            if value in self.elements and (
                root_of(self.elements[value].buffer) in overwritten
            ):
                copy = self._allocate_buffer(value, all_dimensions)
                self._copy_value(value, copy)
                accesses = identity_accesses(len(all_dimensions))
                self.elements[value] = _Element(copy, accesses)
        for value, output in pending:
            self._copy_value(value, output)

    def _copy_value(self, value: SSAValue, output: SSAValue) -> None:
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
        self._insert_map(sources, range(len(self.op.extents)), output, block)


def _indexing_map_of(element: _Element, dimensions: Sequence[int]) -> AffineMap:
    """Return the indexing map of a buffer in a domain restricted to some dimensions."""
    results = [
        AffineExpr.constant(0)
        if each.loop_dim is None
        else AffineExpr.dimension(dimensions.index(each.loop_dim))
        for each in element.accesses
    ]
    return AffineMap(len(dimensions), 0, tuple(results))
