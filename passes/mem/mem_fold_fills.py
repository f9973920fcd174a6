"""
Pass `mem-fold-fills`: folds fills with neutral elements into reductions.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from xdsl.builder import Builder
from xdsl.context import Context
from xdsl.dialects import arith, func, memref, scf
from xdsl.dialects.builtin import MemRefType, ModuleOp, NoneAttr
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter

from tlf.analysis.buffers.mem_liveness import users_of_buffer
from tlf.analysis.buffers.memory_effects import root_buffer_of
from tlf.dialects import mem
from tlf.dialects.affine_values import constant_value_of
from tlf.dialects.mem.number_literals import to_number_attribute
from tlf.dialects.types import memref_type


@dataclass(frozen=True)
class MemFoldFillsPass(ModulePass):
    """
    Fold fills into contractions and reductions, which overwrite the buffer instead.

    A fill with the neutral element is erased if the next access to the buffer is by a
    contraction or reduction into all of it. If loops around the reduction do not
    contain the fill, the reduction overwrites in their first iteration only: where the
    sum of their induction variables, minus their lower bounds, is 0. These loops must
    have constant bounds and at least one iteration. A fill is kept if another
    operation, such as a move or a mask, may access the buffer first, or if the buffer
    is not an allocation.
    """

    name = "mem-fold-fills"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in op.ops:
            if isinstance(function, func.FuncOp) and not function.is_declaration:
                _fold_fills_of_function(function)


def _fold_fills_of_function(function: func.FuncOp) -> None:
    """Erase the fills that accumulating operations can replace by overwriting."""
    fills: dict[mem.AccumulatingOp, list[_FoldableFill]] = {}
    for op in function.body.walk():
        if isinstance(op, mem.FillOp) and (fill := _foldable_fill_of(op)) is not None:
            fills.setdefault(fill.accumulating_op, []).append(fill)
    for op, foldable in fills.items():
        loops = foldable[0].loops
        outputs = {fill.output for fill in foldable}
        has_equal_loops = all(fill.loops == loops for fill in foldable)
        if has_equal_loops and len(outputs) == len(foldable) == len(op.output_operands):
            _let_overwrite_in_first_iteration(op, loops)
            for fill in foldable:
                Rewriter.erase_op(fill.fill)


@dataclass(frozen=True)
class _FoldableFill:
    """A fill, and the first operation that accumulates into its buffer."""

    fill: mem.FillOp
    accumulating_op: mem.AccumulatingOp
    output: int
    loops: tuple[scf.ForOp, ...]
    """Loops around the operation but not around the fill, outermost first."""


def _foldable_fill_of(fill: mem.FillOp) -> _FoldableFill | None:
    """
    Return a fill with the first operation that accumulates into its buffer, if that can
    overwrite instead; else None.
    """
    if fill.destination is None or fill.parent is None:
        return None
    root = root_buffer_of(fill.destination)
    if not isinstance(root.owner, mem.AllocOp):
        return None
    users = set(users_of_buffer(root))
    if any(isinstance(r.type, MemRefType) for op in users for r in op.results):
        return None
    loops: list[scf.ForOp] = []
    op = _first_operation_containing(fill.next_op, users)
    while isinstance(op, scf.ForOp) and _has_iterations(op):
        loops.append(op)
        op = _first_operation_containing(op.body.block.first_op, users)
    if not isinstance(op, mem.AccumulatingOp) or op.overwrite is not None:
        return None
    inputs = {root_buffer_of(value) for value in op.input_operands}
    indices = [
        index
        for index, output in enumerate(op.output_operands)
        if root_buffer_of(output) is root
    ]
    if root in inputs or len(indices) != 1:
        return None
    (output,) = indices
    is_neutral = fill.value == to_number_attribute(op.neutral_elements[output])
    if not is_neutral or not _is_view_of_whole_buffer(
        op.output_operands[output], fill.destination
    ):
        return None
    return _FoldableFill(fill, op, output, tuple(loops))


def _let_overwrite_in_first_iteration(
    op: mem.AccumulatingOp, loops: Sequence[scf.ForOp]
) -> None:
    """Let an operation overwrite in the first iteration of a loop nest."""
    builder = Builder(InsertPoint.before(op))
    total: SSAValue | None = None
    for loop in loops:
        distance: SSAValue = loop.body.block.args[0]
        if constant_value_of(loop.lb) != 0:
            distance = builder.insert(arith.SubiOp(distance, loop.lb)).result
        if total is not None:
            distance = builder.insert(arith.AddiOp(total, distance)).result
        total = distance
    op.make_overwriting(total)


def _first_operation_containing(
    op: Operation | None, accesses: set[Operation]
) -> Operation | None:
    """
    Return the first operation from `op` on in its block that is or contains one of
    `accesses`.
    """
    while op is not None:
        if any(each in accesses for each in op.walk()):
            return op
        op = op.next_op
    return None


def _has_iterations(loop: scf.ForOp) -> bool:
    """Return `True` if a loop with constant bounds has at least one iteration."""
    lower, upper = constant_value_of(loop.lb), constant_value_of(loop.ub)
    return lower is not None and upper is not None and lower < upper


def _is_view_of_whole_buffer(view: SSAValue, buffer: SSAValue) -> bool:
    """
    Return `True` if a view has all elements of a buffer, possibly in another shape.
    """
    if view is buffer:
        return True
    owner = view.owner
    if not isinstance(owner, memref.ReinterpretCastOp):
        return False
    if owner.offsets or owner.sizes or owner.strides:
        return False
    sizes = list(owner.static_sizes.get_values())
    row_major = [prod(sizes[axis + 1 :]) for axis in range(len(sizes))]
    type_ = memref_type(owner.source)
    return (
        isinstance(type_.layout, NoneAttr)
        and list(owner.static_offsets.get_values()) == [0]
        and list(owner.static_strides.get_values()) == row_major
        and prod(sizes) == prod(type_.get_shape())
        and _is_view_of_whole_buffer(owner.source, buffer)
    )
