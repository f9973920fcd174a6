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

from tlf.analysis.buffers.map_operations import scalar_operations_of_map
from tlf.analysis.buffers.memory_effects import root_buffer_of
from tlf.dialects import mem
from tlf.dialects.located_rewriting import rewrite_module
from tlf.dialects.mem import linear_accesses_of_map
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
    """
    Split a map over buffers with several scalar operations or outputs into one map per
    scalar operation.
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: mem.MapOp, rewriter: PatternRewriter, /) -> None:
        operations = scalar_operations_of_map(op)
        if not op.is_on_buffers or (len(operations) <= 1 and len(op.outputs) == 1):
            return
        _MapSplit(op, rewriter, operations).replace_by_scalar_maps()


@dataclass(frozen=True)
class _StoredScalar:
    """A scalar of a map's body, as a buffer of its values, and the accesses to it."""

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
    stored_scalars: dict[SSAValue, _StoredScalar] = field(
        default_factory=dict[SSAValue, _StoredScalar]
    )

    def replace_by_scalar_maps(self) -> None:
        """Replace the map by one map per scalar operation, and copies to outputs."""
        op = self.op
        for argument, buffer, indexing in zip(
            op.body.block.args, op.inputs, op.input_maps, strict=True
        ):
            self.stored_scalars[argument] = _StoredScalar(
                buffer, linear_accesses_of_map(indexing)
            )
        terminator = op.body.block.last_op
        assert isinstance(terminator, mem.YieldOp)
        targets = self._direct_outputs_by_result(terminator.values)
        for number, each in enumerate(self.operations):
            direct = targets.get(each.results[0])
            if direct is not None and not self._is_output_read_after(direct, number):
                self._emit_map_into_output_or_buffer(each, direct)
            else:
                self._emit_map_into_output_or_buffer(each, None)
        self._copy_values_to_missing_outputs(terminator.values)
        self.rewriter.erase(op)

    def _direct_outputs_by_result(
        self, values: Sequence[SSAValue]
    ) -> dict[SSAValue, SSAValue]:
        """Return the output that each result can be computed into directly."""
        targets: dict[SSAValue, SSAValue] = {}
        for value, output in zip(values, self.op.outputs, strict=True):
            if value.owner in self.operations and value not in targets:
                targets[value] = output
        return targets

    def _is_output_read_after(self, output: SSAValue, operation_index: int) -> bool:
        """
        Return `True` if an operation after index `operation_index`, or the terminator,
        reads the buffer of an output.
        """
        later: list[SSAValue] = []
        for each in self.operations[operation_index + 1 :]:
            later += each.operands
        terminator = self.op.body.block.last_op
        assert terminator is not None
        later += terminator.operands
        return any(
            isinstance(value, BlockArgument)
            and root_buffer_of(self.stored_scalars[value].buffer)
            is root_buffer_of(output)
            for value in later
        )

    def _emit_map_into_output_or_buffer(
        self, scalar_op: Operation, output: SSAValue | None
    ) -> None:
        """Emit the map of a scalar operation, into an output or a new buffer."""
        sources = [
            value for value in scalar_op.operands if value in self.stored_scalars
        ]
        all_dimensions = set(range(len(self.op.domain_extents)))
        used_dimensions: set[int] = set()
        for value in sources:
            used_dimensions |= self.stored_scalars[value].dimensions
        if output is not None:
            if used_dimensions != all_dimensions:
                return self._emit_map_into_output_or_buffer(scalar_op, None)
            self._emit_map_of_scalar_op(
                scalar_op, sources, sorted(all_dimensions), output
            )
            return None
        dimensions = sorted(used_dimensions)
        self._emit_map_of_scalar_op(
            scalar_op,
            sources,
            dimensions,
            self._allocate_buffer(scalar_op.results[0], dimensions),
        )
        return None

    def _allocate_buffer(self, value: SSAValue, dimensions: Sequence[int]) -> SSAValue:
        """
        Insert a buffer for a scalar at each index of `dimensions`, in the outputs'
        level.
        """
        shape = [self.op.domain_extents[dimension] for dimension in dimensions]
        space = StringAttr(mem.level_of(self.op.outputs[0].type))
        alloc = mem.AllocOp(MemRefType(value.type, shape, memory_space=space))
        return self.rewriter.insert(alloc).buffer

    def _emit_map_of_scalar_op(
        self,
        scalar_op: Operation,
        sources: Sequence[SSAValue],
        dimensions: Sequence[int],
        output: SSAValue,
    ) -> None:
        """Insert a map of `scalar_op` that writes `output`; record its buffer."""
        block = Block(arg_types=[value.type for value in sources])
        replacements = dict[SSAValue, SSAValue](zip(sources, block.args, strict=True))
        for value in scalar_op.operands:
            if isinstance(value.owner, arith.ConstantOp) and value not in replacements:
                constant = value.owner.clone()
                block.add_op(constant)
                replacements[value] = constant.result
        clone = scalar_op.clone(replacements)
        block.add_ops([clone, mem.YieldOp(clone.results)])
        self._insert_map_of_block(sources, dimensions, output, block)
        accesses = tuple(map(IndexAccess.of_iterator, dimensions))
        self.stored_scalars[scalar_op.results[0]] = _StoredScalar(output, accesses)

    def _insert_map_of_block(
        self,
        sources: Sequence[SSAValue],
        dimensions: Sequence[int],
        output: SSAValue,
        block: Block,
    ) -> None:
        """Insert a `mem.map` with body `block` from stored `sources` to `output`."""
        elements = [self.stored_scalars[value] for value in sources]
        maps = [_indexing_map_of(element, dimensions) for element in elements]
        self.rewriter.insert(
            mem.MapOp(
                [element.buffer for element in elements],
                [output],
                [self.op.domain_extents[dimension] for dimension in dimensions],
                [*maps, AffineMap.identity(len(dimensions))],
                Region(block),
            )
        )

    def _copy_values_to_missing_outputs(self, values: Sequence[SSAValue]) -> None:
        """Copy the values that were not computed in place to the outputs."""
        pending = [
            (value, output)
            for value, output in zip(values, self.op.outputs, strict=True)
            if value not in self.stored_scalars
            or self.stored_scalars[value].buffer is not output
        ]
        all_dimensions = range(len(self.op.domain_extents))
        overwritten = {root_buffer_of(output) for _, output in pending[:-1]}
        for value, _ in pending[1:]:
            if value in self.stored_scalars and (
                root_buffer_of(self.stored_scalars[value].buffer) in overwritten
            ):
                copy = self._allocate_buffer(value, all_dimensions)
                self._copy_value_to_output(value, copy)
                accesses = identity_accesses(len(all_dimensions))
                self.stored_scalars[value] = _StoredScalar(copy, accesses)
        for value, output in pending:
            self._copy_value_to_output(value, output)

    def _copy_value_to_output(self, value: SSAValue, output: SSAValue) -> None:
        """Insert a map that copies a stored scalar, or a constant, to `output`."""
        block = Block()
        sources = [value] if value in self.stored_scalars else []
        if sources:
            yielded: SSAValue = block.insert_arg(value.type, 0)
        else:
            assert isinstance(value.owner, Operation)
            constant = value.owner.clone()
            block.add_op(constant)
            yielded = constant.results[0]
        block.add_op(mem.YieldOp([yielded]))
        self._insert_map_of_block(
            sources, range(len(self.op.domain_extents)), output, block
        )


def _indexing_map_of(
    stored_scalar: _StoredScalar, dimensions: Sequence[int]
) -> AffineMap:
    """Return the indexing map of a buffer in a domain restricted to some dimensions."""
    results = [
        AffineExpr.constant(0)
        if each.loop_dim is None
        else AffineExpr.dimension(dimensions.index(each.loop_dim))
        for each in stored_scalar.accesses
    ]
    return AffineMap(len(dimensions), 0, tuple(results))
