"""Faults in programs of buffers, before and after address assignment."""

from __future__ import annotations

from collections.abc import Sequence

from mutated_programs import (
    CONVOLUTIONS,
    HEADS,
    LINEAR,
    MAXIMUM,
    RESIDUAL,
    SQUARE,
    TRITON_LINEAR,
    TRITON_WEIGHTED,
    WEIGHTED,
)
from mutations import Faults, Kind, Stage, find
from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import (
    AffineMapAttr,
    ArrayAttr,
    IndexType,
    IntegerAttr,
    ModuleOp,
    i64,
)
from xdsl.ir.affine import AffineMap
from xdsl.rewriter import Rewriter

from tlf.dialects import mem
from tlf.dialects.mem import Index

FAULTS = Faults(Stage.MEM)

PLANNED = Faults(Stage.PLANNED)


def _move(module: ModuleOp, name: str, level: str = "L1") -> mem.DmaOp:
    """Return the DMA of a named buffer into a level."""
    return next(
        op
        for op in module.walk()
        if isinstance(op, mem.DmaOp)
        and op.destination.name_hint == name
        and mem.level_of(op.destination.type) == level
    )


def _store(module: ModuleOp) -> mem.DmaOp:
    """Return the first DMA out of L1."""
    return next(
        op
        for op in module.walk()
        if isinstance(op, mem.DmaOp) and mem.level_of(op.source.type) == "L1"
    )


def _moved(
    op: mem.DmaOp,
    source: Sequence[Index] | None = None,
    destination: Sequence[Index] | None = None,
    sizes: Sequence[int] | None = None,
    fill: float | None = None,
) -> None:
    """Replace a DMA by a modified copy."""
    changed = mem.DmaOp(
        op.source,
        op.mixed_source_offsets if source is None else source,
        op.destination,
        op.mixed_destination_offsets if destination is None else destination,
        op.box_sizes if sizes is None else sizes,
        op.fill_value if fill is None else fill,
    )
    Rewriter.replace_op(op, changed)


def _wait(op: mem.DmaOp) -> mem.WaitOp:
    """Return the wait for a DMA."""
    return next(
        use.operation for use in op.token.uses if isinstance(use.operation, mem.WaitOp)
    )


def _waits_no_more(op: mem.DmaOp) -> None:
    """Remove the token of a DMA from its wait."""
    wait = _wait(op)
    tokens = [token for token in wait.tokens if token is not op.token]
    if tokens:
        Rewriter.replace_op(wait, mem.WaitOp(tokens))
    else:
        Rewriter.erase_op(wait)


def _loop_step(module: ModuleOp, number: int) -> None:
    """Set the step of the first loop."""
    loop = find(module, scf.ForOp)
    step = arith.ConstantOp.from_int_and_width(number, IndexType())
    block = loop.parent
    assert block is not None
    block.insert_op_before(step, loop)
    loop.operands[2] = step.result


def _maps(op: mem.StructuredOp, number: int, results: Sequence[int]) -> None:
    """Set the map of an operand to some dimensions of the iteration domain."""
    maps = list(op.maps)
    expressions = AffineMap.identity(len(op.domain_extents)).results
    selected = tuple(expressions[result] for result in results)
    maps[number] = AffineMap(len(op.domain_extents), 0, selected)
    op.indexing_maps = ArrayAttr([AffineMapAttr(each) for each in maps])


def _place(module: ModuleOp, name: str, level: str = "L1") -> mem.AllocOp:
    """Return the allocation of a named buffer in a level."""
    return next(
        op
        for op in module.walk()
        if isinstance(op, mem.AllocOp)
        and op.buffer.name_hint == name
        and op.level == level
    )


def _put_on(op: mem.AllocOp, other: mem.AllocOp) -> None:
    """Assign the address of `other` to a buffer."""
    op.offset = other.offset


@FAULTS.in_module(LINEAR, Kind.TRAP, "RAW")
def wait_left_out(module: ModuleOp) -> None:
    _waits_no_more(_move(module, "w"))


@FAULTS.in_module(LINEAR, Kind.TRAP, "RAW")
def wait_for_the_outer_move_left_out(module: ModuleOp) -> None:
    _waits_no_more(_move(module, "b", "L2"))


@FAULTS.in_module(RESIDUAL, Kind.TRAP, "RAW")
def wait_behind_the_use(module: ModuleOp) -> None:
    wait = _wait(_move(module, "x"))
    use = find(module, mem.MapOp)
    wait.detach()
    block = use.parent
    assert block is not None
    block.insert_op_after(wait, use)


@FAULTS.in_module(RESIDUAL, Kind.TRAP, "WAR")
def wait_for_a_store_left_out(module: ModuleOp) -> None:
    _waits_no_more(_store(module))


@FAULTS.in_module(LINEAR, Kind.TRAP, "was never written")
def move_left_out(module: ModuleOp) -> None:
    op = _move(module, "b")
    _waits_no_more(op)
    Rewriter.erase_op(op)


@FAULTS.in_module(LINEAR, Kind.TRAP, "was never written")
def column_of_a_move_left_out(module: ModuleOp) -> None:
    _moved(_move(module, "w"), sizes=[16, 7])


@FAULTS.in_module(HEADS, Kind.TRAP, "was never written")
def row_of_a_store_left_out(module: ModuleOp) -> None:
    _moved(_store(module), sizes=[5, 4, 7])


@FAULTS.in_module(HEADS, Kind.WRONG)
def source_of_a_move_shifted(module: ModuleOp) -> None:
    _moved(_move(module, "y"), source=[0, 1, 0])


@FAULTS.in_module(HEADS, Kind.TRAP, "was never written")
def destination_of_a_move_shifted(module: ModuleOp) -> None:
    _moved(_move(module, "y"), destination=[0, 1, 0])


@FAULTS.in_module(CONVOLUTIONS, Kind.WRONG)
def fill_of_a_move_wrong(module: ModuleOp) -> None:
    _moved(_move(module, "x", "L1"), fill=1.0)


@FAULTS.in_module(LINEAR, Kind.TRAP, "was never written")
def accumulator_not_filled(module: ModuleOp) -> None:
    Rewriter.erase_op(find(module, mem.FillOp))


@FAULTS.in_module(LINEAR, Kind.WRONG)
def accumulator_filled_once_only(module: ModuleOp) -> None:
    """Move the fill and its buffer before all tiles of the result."""
    fill, allocation = find(module, mem.FillOp), _place(module, "product")
    loop = fill.parent_op()
    assert loop is not None
    for op in (allocation, fill):
        op.detach()
        block = loop.parent
        assert block is not None
        block.insert_op_before(op, loop)


@FAULTS.in_module(RESIDUAL, Kind.WRONG)
def result_in_the_place_of_a_live_operand(module: ModuleOp) -> None:
    first = find(module, mem.MapOp)
    old, live = first.output_operands[0], first.input_operands[0]
    old.replace_all_uses_with(live)


@FAULTS.in_module(SQUARE, Kind.WRONG)
def map_of_a_factor_transposed(module: ModuleOp) -> None:
    _maps(find(module, mem.ContractOp), 1, [1, 2])


@FAULTS.in_module(SQUARE, Kind.WRONG)
def bias_along_the_other_axis(module: ModuleOp) -> None:
    _maps(find(module, mem.MapOp), 1, [0])


@FAULTS.in_module(CONVOLUTIONS, Kind.REFUSED, "outside")
def map_that_leaves_its_operand(module: ModuleOp) -> None:
    op = find(module, mem.ContractOp)
    _maps(op, 1, [4, 1, 5, 3])


@FAULTS.in_module(MAXIMUM, Kind.WRONG)
def mask_of_a_buffer_left_out(module: ModuleOp) -> None:
    Rewriter.erase_op(find(module, mem.MaskOp))


@FAULTS.in_module(WEIGHTED, Kind.WRONG)
def step_of_a_loop_too_small(module: ModuleOp) -> None:
    _loop_step(module, 7)


@FAULTS.in_module(TRITON_LINEAR, Kind.WRONG)
def offsets_of_a_load_swapped(module: ModuleOp) -> None:
    op = find(module, mem.LoadOp, 1)
    changed = mem.LoadOp(
        op.source, op.mixed_offsets[::-1], op.value_type, op.fill_value
    )
    Rewriter.replace_op(op, changed)


@FAULTS.in_module(TRITON_LINEAR, Kind.WRONG)
def value_of_another_iteration_yielded(module: ModuleOp) -> None:
    loop = find(module, scf.ForOp)
    end = loop.body.block.last_op
    assert end is not None
    end.operands[0] = loop.body.block.args[1]


@FAULTS.in_module(TRITON_WEIGHTED, Kind.TRAP, "another program stores")
def size_of_a_store_too_large(module: ModuleOp) -> None:
    op = find(module, mem.StoreOp)
    changed = mem.StoreOp(op.value, op.destination, op.mixed_offsets)
    Rewriter.replace_op(op, changed)


@PLANNED.in_module(LINEAR, Kind.WRONG)
def operands_of_a_product_in_one_place(module: ModuleOp) -> None:
    _put_on(_place(module, "w"), _place(module, "x"))


@PLANNED.in_module(RESIDUAL, Kind.WRONG)
def intermediate_on_a_live_operand(module: ModuleOp) -> None:
    _put_on(_place(module, "e"), _place(module, "x"))


@PLANNED.in_module(SQUARE, Kind.WRONG)
def buffers_overlapping_by_one_row(module: ModuleOp) -> None:
    op, other = _place(module, "w"), _place(module, "x")
    assert other.offset is not None
    op.offset = IntegerAttr(other.offset.value.data + 12 * 13 * 4, i64)


@PLANNED.in_module(LINEAR, Kind.TRAP, "out of the capacity")
def buffer_beyond_its_level(module: ModuleOp) -> None:
    _place(module, "w").offset = IntegerAttr(8192 - 64, i64)
