"""Pass `mem-fold-unit-dims`: drops unit dimensions of tensor values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from xdsl.builder import Builder
from xdsl.context import Context
from xdsl.dialects import func, scf
from xdsl.dialects.builtin import (
    AffineMapAttr,
    DenseArrayBase,
    IntegerAttr,
    ModuleOp,
    TensorType,
    i64,
)
from xdsl.ir import Block, Operation, Region, SSAValue, Use
from xdsl.ir.affine import AffineConstantExpr, AffineExpr, AffineMap
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter

from tlf.analysis.buffers.normalized_loops import loop_range_of
from tlf.dialects import mem
from tlf.dialects.affine_values import constant_value_of
from tlf.dialects.function_calls import defined_functions_of
from tlf.dialects.mem.structured_operation import (
    StructuredOp,
    build_structured_properties,
)
from tlf.dialects.mixed_offsets import Index, split_offsets
from tlf.dialects.shared_attributes import share_integer_array
from tlf.dialects.types import tensor_type

RetainedAxes = tuple[int, ...]
"""Axes of a value or an iteration domain that are not dropped."""


@dataclass(frozen=True)
class MemFoldUnitDimsPass(ModulePass):
    """
    Drop the unit axes of values, and of the iteration domains of the operations that
    compute them; one axis remains if all are unit axes. Loads drop unit axes as they
    read. Stores and other operations read copies with the original rank.

    Kernel compilers have better layouts for matrices than for tensors of higher rank.
    """

    name = "mem-fold-unit-dims"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in defined_functions_of(op):
            _UnitDimFolding(function).fold_unit_dims_of_values()


@dataclass
class _UnitDimFolding:
    """In-place removal of unit dimensions from the tensor values of a function."""

    function: func.FuncOp
    original_shapes: dict[SSAValue, tuple[int, ...]] = field(
        default_factory=dict[SSAValue, "tuple[int, ...]"]
    )
    """Original shapes of the folded values."""
    unfolded_values: set[SSAValue] = field(default_factory=set[SSAValue])
    """Values that keep their rank."""

    def fold_unit_dims_of_values(self) -> None:
        """
        Drop the unit dimensions of tensor values in place, with copies for operations
        that require the original rank.
        """
        for op in list(self.function.body.walk()):
            if not isinstance(op, _FORWARDING_OPS) and not _can_fold_unit_dims_of(op):
                self._preserve_rank_by_copies(op)
        for op in self.function.body.walk():
            self._record_original_shapes(
                op.results
                if _can_fold_unit_dims_of(op) or isinstance(op, scf.ForOp)
                else ()
            )
            self._record_original_shapes(
                op.body.block.args if isinstance(op, scf.ForOp) else ()
            )
        for op in self.function.body.walk():
            self._fold_unit_dims_of_operation(op)
        for value, shape in self.original_shapes.items():
            axes = non_unit_axes(shape)
            if len(axes) == len(shape):
                continue
            type_ = tensor_type(value)
            extents = [shape[axis] for axis in axes]
            narrow = TensorType(type_.element_type, extents, type_.encoding)
            Rewriter.replace_value_with_new_type(value, narrow)

    def _record_original_shapes(self, values: Sequence[SSAValue]) -> None:
        for value in values:
            if isinstance(value.type, TensorType) and value not in self.unfolded_values:
                self.original_shapes[value] = tensor_type(value).get_shape()

    def _preserve_rank_by_copies(self, op: Operation) -> None:
        """
        Copy the operands and results of an operation, so that their rank is preserved.
        Structured operations read a result as it is.
        """
        for index, operand in enumerate(op.operands):
            if _has_unit_dims(operand):
                copy_of_operand = _insert_copy_of_value(
                    Builder(InsertPoint.before(op)), operand
                )
                self.unfolded_values.add(copy_of_operand)
                op.operands[index] = copy_of_operand
        for result in op.results:
            if _has_unit_dims(result):
                self.unfolded_values.add(result)
                others = [use for use in result.uses if not _reads_through_map(use)]
                if others:
                    copy = _insert_copy_of_value(Builder(InsertPoint.after(op)), result)
                    for use in others:
                        use.operation.operands[use.index] = copy

    def _retained_axes_of(self, value: SSAValue) -> RetainedAxes:
        """Return the original axes that `value` keeps; all axes if it is not folded."""
        shape = self.original_shapes.get(value)
        if shape is None:
            return tuple(range(tensor_type(value).get_num_dims()))
        return non_unit_axes(shape)

    def _fold_unit_dims_of_operation(self, op: Operation) -> None:
        """Rewrite an operation to read and return values without unit dimensions."""
        match op:
            case mem.LoadOp():
                axes = self._retained_axes_of(op.value)
                map_ = _restrict_map_to_dims(
                    op.source_map, axes, range(len(op.mixed_offsets))
                )
                sizes = [op.box_sizes[axis] for axis in axes]
                op.properties["map"] = AffineMapAttr(map_)
                op.properties["sizes"] = share_integer_array(sizes)
            case mem.MaskOp() if op.result is not None and _can_fold_unit_dims_of(op):
                self._fold_unit_dims_of_mask(op)
            case StructuredOp() if not op.is_on_buffers:
                preserves_rank = any(
                    result in self.unfolded_values for result in op.results
                )
                all_axes = tuple(range(len(op.domain_extents)))
                domain = (
                    all_axes if preserves_rank else non_unit_axes(op.domain_extents)
                )
                values = [*op.input_operands, *op.results]
                maps = [
                    _restrict_map_to_dims(map_, domain, self._retained_axes_of(value))
                    for map_, value in zip(op.maps, values, strict=True)
                ]
                extents = [op.domain_extents[axis] for axis in domain]
                for name, attribute in build_structured_properties(
                    extents, maps
                ).items():
                    assert attribute is not None
                    op.properties[name] = attribute
                if isinstance(op, mem.ScanOp):
                    op.dim = IntegerAttr(domain.index(op.scan_dim), i64)
            case _:
                pass

    def _fold_unit_dims_of_mask(self, op: mem.MaskOp) -> None:
        """Drop the offsets, bounds and valid extents of a mask along dropped axes."""
        assert op.result is not None
        axes = self._retained_axes_of(op.result)
        offsets = [op.mixed_offsets[axis] for axis in axes]
        static, dynamic = split_offsets(offsets)
        op.operands = [op.source, *dynamic]
        op.properties["static_offsets"] = static
        for name in ("bounds", "valid"):
            if isinstance(attribute := op.properties.get(name), DenseArrayBase):
                values = attribute.get_values()
                remaining = [int(values[axis]) for axis in axes]
                op.properties[name] = share_integer_array(remaining)


_FORWARDING_OPS = (scf.ForOp, scf.YieldOp)
"""Operations that forward values unchanged."""


def non_unit_axes(shape: Sequence[int]) -> RetainedAxes:
    """Return the axes of extents other than 1, or the last axis if all are 1."""
    non_unit = tuple(axis for axis, extent in enumerate(shape) if extent != 1)
    return non_unit or tuple(range(len(shape)))[-1:]


def _reads_through_map(use: Use) -> bool:
    """Return `True` if an operation on values reads a use through an indexing map."""
    op = use.operation
    return (
        isinstance(op, StructuredOp)
        and not op.is_on_buffers
        and use.index < len(op.input_operands)
        and _can_fold_unit_dims_of(op)
    )


def _has_unit_dims(value: SSAValue) -> bool:
    """Return `True` if a value is a tensor of rank above 1 with a unit axis."""
    if not isinstance(value.type, TensorType):
        return False
    shape = tensor_type(value).get_shape()
    return len(non_unit_axes(shape)) < len(shape)


def _can_fold_unit_dims_of(op: Operation) -> bool:
    """Return `True` if an operation can compute on values without unit dimensions."""
    match op:
        case mem.LoadOp():
            return True
        case mem.ScanOp():
            return op.domain_extents[op.scan_dim] != 1
        case mem.FillOp() | StructuredOp():
            return bool(op.results)
        case mem.MaskOp():
            return op.result is not None and all(
                _is_offset_always_in_bounds(offset, bound)
                for axis, (offset, bound) in enumerate(
                    zip(op.mixed_offsets, op.upper_bounds, strict=True)
                )
                if axis not in non_unit_axes(op.source_type.get_shape())
            )
        case _:
            return False


def _is_offset_always_in_bounds(offset: Index, bound: int) -> bool:
    """
    Return `True` if an offset is in [0, bound) in all iterations of its loop.
    """
    if isinstance(offset, int):
        return 0 <= offset < bound
    if (loop := loop_range_of(offset)) is None:
        return False
    first, end = (constant_value_of(each) for each in (loop.lower, loop.upper))
    return first is not None and end is not None and first >= 0 and end <= bound


def _insert_copy_of_value(builder: Builder, value: SSAValue) -> SSAValue:
    """Insert an identity `mem.map` that copies a tensor, and return its result."""
    type_ = tensor_type(value)
    rank = type_.get_num_dims()
    block = Block(arg_types=[type_.element_type])
    block.add_op(mem.YieldOp(block.args))
    maps = [AffineMap.identity(rank)] * 2
    shape = type_.get_shape()
    copy = mem.MapOp([value], [], shape, maps, Region(block), [type_])
    return builder.insert(copy).results[0]


def _restrict_map_to_dims(
    map_: AffineMap, retained_dims: RetainedAxes, retained_results: Sequence[int]
) -> AffineMap:
    """Restrict a map to some dimensions and results, with other dimensions set to 0."""
    replacements: list[AffineExpr] = [AffineConstantExpr(0)] * map_.num_dims
    for index, dimension in enumerate(retained_dims):
        replacements[dimension] = AffineExpr.dimension(index)
    restricted = map_.replace_dims_and_symbols(replacements, [], len(retained_dims), 0)
    return AffineMap(
        len(retained_dims),
        0,
        tuple(restricted.results[axis] for axis in retained_results),
    )
