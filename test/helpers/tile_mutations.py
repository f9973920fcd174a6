"""Faults in loops over tiles."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from mutated_programs import (
    CONVOLUTIONS,
    LINEAR,
    MAXIMUM,
    RESIDUAL,
    TRITON_MAXIMUM,
    TRITON_WEIGHTED,
    WEIGHTED,
)
from mutations import Faults, Kind, Stage, find
from xdsl.dialects.affine import ApplyOp
from xdsl.dialects.builtin import I64, AffineMapAttr, DenseArrayBase, ModuleOp, i64
from xdsl.ir import Operation, SSAValue
from xdsl.ir.affine import AffineExpr, AffineMap
from xdsl.rewriter import InsertPoint, Rewriter

from tlf.dialects import tile
from tlf.dialects.interfaces import AccumulatingInterface
from tlf.dialects.types import scalar_value, tensor_type

Index: TypeAlias = SSAValue | int

FAULTS = Faults(Stage.TILE)


def _cut(module: ModuleOp, name: str, level: str = "L1") -> tile.SliceOp:
    """Return the slice of a named tensor into a level."""
    return next(
        op
        for op in module.walk()
        if isinstance(op, tile.SliceOp)
        and op.result.name_hint == name
        and tile.level_of(tensor_type(op.result)) == level
    )


def _recut(
    op: tile.SliceOp,
    offsets: Sequence[Index] | None = None,
    fill: float | None = None,
    valid: Sequence[int] | None = None,
) -> None:
    """Replace a slice by a modified copy, without a fill unless given."""
    changed = tile.SliceOp(
        op.source,
        op.mixed_offsets if offsets is None else offsets,
        tensor_type(op.result),
        fill,
        valid,
    )
    Rewriter.replace_op(op, changed)


def _put(op: tile.DesliceOp, offsets: Sequence[Index]) -> None:
    """Replace a deslice by one at other offsets."""
    Rewriter.replace_op(op, tile.DesliceOp(op.source, op.destination, offsets))


def _remask(
    op: tile.MaskOp,
    bounds: Sequence[int] | None = None,
    fill: float | None = None,
    offsets: Sequence[Index] | None = None,
) -> None:
    """Replace a mask by a modified copy."""
    changed = tile.MaskOp(
        op.source,
        op.mixed_offsets if offsets is None else offsets,
        [int(bound) for bound in op.bounds.get_values()] if bounds is None else bounds,
        scalar_value(op.fill) if fill is None else fill,
        None if op.valid is None else op.valid_box_extents,
    )
    Rewriter.replace_op(op, changed)


def _plus(value: Index, number: int) -> Index:
    """Return the sum of an index and a number."""
    if isinstance(value, int):
        return value + number
    expression = AffineExpr.dimension(0) + number
    apply = ApplyOp([value], AffineMapAttr(AffineMap(1, 0, (expression,))))
    if isinstance(owner := value.owner, Operation):
        insertion_point = InsertPoint.after(owner)
    else:
        insertion_point = InsertPoint.at_start(owner)
    Rewriter.insert_op(apply, insertion_point)
    return apply.result


def _loop(module: ModuleOp, kind: tile.LoopKind) -> tile.WhileOp:
    """Return the innermost loop of a kind with induction variables."""
    return [
        op
        for op in module.walk()
        if isinstance(op, tile.WhileOp) and op.kind.data is kind and op.step_values
    ][-1]


def _accumulation(module: ModuleOp) -> Operation:
    """Return the operation that accumulates on the loop-carried value."""
    loop = _loop(module, tile.LoopKind.SEQUENTIAL)
    return next(
        op for op in loop.body.block.ops if isinstance(op, AccumulatingInterface)
    )


def _numbers(values: Sequence[int]) -> DenseArrayBase[I64]:
    return DenseArrayBase.from_list(i64, values)


@FAULTS.in_module(CONVOLUTIONS, Kind.WRONG)
def halo_off_by_one(module: ModuleOp) -> None:
    op = _cut(module, "x")
    batch, channel, row, column = op.mixed_offsets
    _recut(op, [batch, channel, _plus(row, 1), column])


@FAULTS.in_module(CONVOLUTIONS, Kind.WRONG)
def border_off_by_one(module: ModuleOp) -> None:
    _recut(_cut(module, "x", "L2"), [0, 0, -2, -1], 0.0)


@FAULTS.in_module(CONVOLUTIONS, Kind.TRAP, "was never written")
def halo_left_out(module: ModuleOp) -> None:
    _recut(_cut(module, "x"), valid=[1, 4, 6, 13])


@FAULTS.in_module(CONVOLUTIONS, Kind.REFUSED, "beyond the valid extents")
def halo_filled_with_zero(module: ModuleOp) -> None:
    _recut(_cut(module, "x"), fill=0.0, valid=[1, 4, 6, 13])


@FAULTS.in_module(CONVOLUTIONS, Kind.WRONG)
def mask_of_the_border_left_out(module: ModuleOp) -> None:
    op = find(module, tile.MaskOp)
    Rewriter.replace_op(op, [], [op.source])


@FAULTS.in_module(CONVOLUTIONS, Kind.WRONG)
def bound_of_a_mask_off_by_one(module: ModuleOp) -> None:
    _remask(find(module, tile.MaskOp), [1, 4, 16, 9])


@FAULTS.in_module(CONVOLUTIONS, Kind.WRONG)
def place_of_a_mask_off_by_one(module: ModuleOp) -> None:
    op = find(module, tile.MaskOp)
    batch, channel, row, column = op.mixed_offsets
    _remask(op, offsets=[batch, channel, _plus(row, 1), column])


@FAULTS.in_module(MAXIMUM, Kind.WRONG)
def mask_filled_with_zero_instead_of_minus_infinity(module: ModuleOp) -> None:
    _remask(find(module, tile.MaskOp), fill=0.0)


@FAULTS.in_module(WEIGHTED, Kind.WRONG)
def mask_of_a_sum_filled_with_one(module: ModuleOp) -> None:
    _remask(find(module, tile.MaskOp), fill=1.0)


@FAULTS.in_module(MAXIMUM, Kind.WRONG)
def maximum_started_from_zero(module: ModuleOp) -> None:
    op = find(module, tile.FillOp)
    Rewriter.replace_op(op, tile.FillOp(0.0, tensor_type(op.result)))


@FAULTS.in_module(LINEAR, Kind.WRONG)
def sum_started_from_one(module: ModuleOp) -> None:
    op = find(module, tile.FillOp)
    Rewriter.replace_op(op, tile.FillOp(1.0, tensor_type(op.result)))


@FAULTS.in_module(LINEAR, Kind.WRONG)
def slices_filled_with_one_beyond_the_end(module: ModuleOp) -> None:
    for name in "xw":
        _recut(_cut(module, name), fill=1.0)


@FAULTS.in_module(LINEAR, Kind.WRONG)
def offsets_of_a_slice_swapped(module: ModuleOp) -> None:
    op = _cut(module, "w")
    _recut(op, op.mixed_offsets[::-1], 0.0)


@FAULTS.in_module(LINEAR, Kind.WRONG)
def tile_of_the_first_iteration_used_again(module: ModuleOp) -> None:
    op = _cut(module, "x")
    _recut(op, [op.mixed_offsets[0], 0], 0.0)


@FAULTS.in_module(LINEAR, Kind.WRONG)
def bias_of_the_first_tile_used_for_all(module: ModuleOp) -> None:
    _recut(_cut(module, "b"), [0])


@FAULTS.in_module(LINEAR, Kind.TRAP, "was never written")
def result_put_at_swapped_offsets(module: ModuleOp) -> None:
    op = find(module, tile.DesliceOp)
    _put(op, op.mixed_offsets[::-1])


@FAULTS.in_module(LINEAR, Kind.TRAP, "was never written")
def result_put_one_row_too_low(module: ModuleOp) -> None:
    op = find(module, tile.DesliceOp)
    row, column = op.mixed_offsets
    _put(op, [_plus(row, 1), column])


@FAULTS.in_module(LINEAR, Kind.TRAP, "was never written")
def step_of_a_parallel_loop_too_large(module: ModuleOp) -> None:
    _loop(module, tile.LoopKind.PARALLEL).steps = _numbers([6, 8])


@FAULTS.in_module(LINEAR, Kind.WRONG)
def step_of_a_reduction_too_small(module: ModuleOp) -> None:
    _loop(module, tile.LoopKind.SEQUENTIAL).steps = _numbers([15])


@FAULTS.in_module(LINEAR, Kind.WRONG)
def step_of_a_reduction_too_large(module: ModuleOp) -> None:
    _loop(module, tile.LoopKind.SEQUENTIAL).steps = _numbers([17])


@FAULTS.in_module(LINEAR, Kind.WRONG)
def reduction_stopped_early(module: ModuleOp) -> None:
    _loop(module, tile.LoopKind.SEQUENTIAL).static_upper = _numbers([32])


@FAULTS.in_module(LINEAR, Kind.WRONG)
def first_piece_of_a_reduction_skipped(module: ModuleOp) -> None:
    _loop(module, tile.LoopKind.SEQUENTIAL).static_lower = _numbers([16])


@FAULTS.in_module(LINEAR, Kind.TRAP, "was never written")
def rows_skipped(module: ModuleOp) -> None:
    _loop(module, tile.LoopKind.PARALLEL).static_upper = _numbers([20, 19])


@FAULTS.in_module(WEIGHTED, Kind.WRONG)
def accumulator_filled_again(module: ModuleOp) -> None:
    op = _accumulation(module)
    fill = tile.FillOp(0.0, tensor_type(op.results[0]))
    Rewriter.insert_op(fill, InsertPoint.before(op))
    op.operands[len(op.operands) - 1] = fill.result


@FAULTS.in_module(WEIGHTED, Kind.WRONG)
def accumulator_started_anew(module: ModuleOp) -> None:
    op = _accumulation(module)
    loop = _loop(module, tile.LoopKind.SEQUENTIAL)
    op.operands[len(op.operands) - 1] = loop.inits[0]


@FAULTS.in_module(TRITON_WEIGHTED, Kind.WRONG)
def accumulator_not_carried(module: ModuleOp) -> None:
    op = _accumulation(module)
    loop = _loop(module, tile.LoopKind.SEQUENTIAL)
    op.operands[len(op.operands) - 1] = loop.inits[0]


@FAULTS.in_module(RESIDUAL, Kind.WRONG)
def operand_of_an_addition_taken_twice(module: ModuleOp) -> None:
    for op in module.walk():
        if op.name == "graph.add":
            op.operands[0] = op.operands[1]


@FAULTS.in_module(RESIDUAL, Kind.REFUSED, "graph.exp")
def tile_read_at_the_wrong_level(module: ModuleOp) -> None:
    op = _cut(module, "x")
    for use in list(op.result.uses):
        if use.operation.name == "graph.exp":
            use.operation.operands[use.index] = op.source


@FAULTS.in_module(TRITON_WEIGHTED, Kind.WRONG)
def valid_extents_of_a_slice_too_small(module: ModuleOp) -> None:
    _recut(_cut(module, "x"), valid=[5, 15])


@FAULTS.in_module(TRITON_WEIGHTED, Kind.TRAP, "stores where another program stores")
def valid_extents_of_a_result_left_out(module: ModuleOp) -> None:
    op = find(module, tile.DesliceOp)
    _put(op, op.mixed_offsets)


@FAULTS.in_module(TRITON_MAXIMUM, Kind.WRONG)
def valid_extents_of_a_mask_left_out(module: ModuleOp) -> None:
    op = find(module, tile.MaskOp)
    op.valid = None


@FAULTS.in_module(TRITON_MAXIMUM, Kind.WRONG)
def mask_left_out_of_a_maximum(module: ModuleOp) -> None:
    op = find(module, tile.MaskOp)
    Rewriter.replace_op(op, [], [op.source])
