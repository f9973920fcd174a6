"""Pass `mem-unroll-and-jam`: computes tiles of alternating elements in one program."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias, cast

from xdsl.builder import Builder
from xdsl.context import Context
from xdsl.dialects import scf
from xdsl.dialects.builtin import DenseArrayBase, ModuleOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint
from xdsl.traits import is_side_effect_free

from tlf.analysis.buffers.memory_effects import root_buffer_of
from tlf.analysis.buffers.normalized_loops import loop_ranges_of
from tlf.dialects import mem
from tlf.dialects.affine_values import constant_value_of
from tlf.dialects.function_calls import defined_functions_of
from tlf.dialects.mixed_offsets import Index
from tlf.dialects.strided_buffers import (
    build_view_of_allocation,
    has_static_offset,
    static_offset_and_strides,
)
from tlf.dialects.types import memref_type
from tlf.passes.mem.loop_normalization import build_index_constant
from tlf.planner.settings.gpu_calibration import TRITON_CALIBRATION
from tlf.support.affine.linear_access import linear_accesses_of_map

Access: TypeAlias = mem.LoadOp | mem.StoreOp | mem.Im2colOp
"""Accesses of buffers at offsets."""


@dataclass(frozen=True)
class MemUnrollAndJamPass(ModulePass):
    """
    Unroll parallel loops by their attribute `unroll`, and jam the copies of the body
    (Carr and Kennedy, *Improving the ratio of memory operations to floating-point
    operations in loops*, 1994).

    With a factor of 4, a program computes four tiles along an axis: one of the elements
    0, 4, 8 and so on, one of the elements 1, 5, 9 and so on. Windows of neighbouring
    elements overlap. Loops over the elements of windows are unrolled, too, so that
    elements which several windows read are loaded once. Results are stored at the end.

    A loop over no whole multiple of the factor is not unrolled, nor is one whose body
    has other effects, loops of many iterations, loads of what it stored, or accesses
    that cannot alternate.
    """

    name = "mem-unroll-and-jam"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in defined_functions_of(op):
            for nest in list(function.walk()):
                if isinstance(nest, scf.ParallelOp):
                    _unroll_loops_of_nest(nest)


def _unroll_loops_of_nest(nest: scf.ParallelOp) -> None:
    """Unroll the loops of a nest that have a factor, where that is possible."""
    factors = nest.attributes.pop("unroll", None)
    if not isinstance(factors, DenseArrayBase):
        return
    for axis, factor in enumerate(cast(Sequence[int], factors.get_values())):
        if factor > 1 and _can_unroll(nest, axis, factor):
            _Unrolling(nest, axis, factor).unroll()


def _can_unroll(nest: scf.ParallelOp, axis: int, factor: int) -> bool:
    """
    Return `True` if a loop visits a multiple of `factor` elements, and all accesses of
    its body can alternate between them.
    """
    extent = constant_value_of(nest.upperBound[axis])
    if constant_value_of(nest.lowerBound[axis]) != 0 or extent is None:
        return False
    variable = nest.body.block.args[axis]
    *body, _ = (op for op in nest.body.walk() if not isinstance(op, scf.YieldOp))
    accesses = [op for op in body if isinstance(op, Access)]
    return (
        extent % factor == 0
        and {use.operation for use in variable.uses} <= set[Operation](accesses)
        and not any(nest.is_ancestor(_buffer_of(op).owner) for op in accesses)
        and not _loads_what_it_stored(accesses)
        and all(_can_copy(op, nest.body.block) for op in body)
        and all(_can_alternate(op, variable, extent, factor) for op in accesses)
    )


def _loads_what_it_stored(accesses: Sequence[Access]) -> bool:
    """Return `True` if a buffer is loaded after it was stored to."""
    stored = set[SSAValue]()
    for op in accesses:
        root = root_buffer_of(_buffer_of(op))
        if isinstance(op, mem.StoreOp):
            stored.add(root)
        elif root in stored:
            return True
    return False


def _can_copy(op: Operation, body: Block) -> bool:
    """
    Return `True` for accesses, but only for stores of the body itself; for short loops;
    and for operations without effects.
    """
    match op:
        case mem.StoreOp():
            return op.parent is body
        case mem.LoadOp() | mem.Im2colOp():
            return True
        case scf.ForOp():
            return _short_range_of(op) is not None
        case _:
            return is_side_effect_free(op)


def _short_range_of(loop: scf.ForOp) -> range | None:
    """Return the iterations of a loop that may be unrolled, or `None`."""
    (counter,) = loop_ranges_of(loop)
    values = counter.values
    if values is None or len(values) > TRITON_CALIBRATION.max_unrolled_iterations:
        return None
    return values


def _can_alternate(op: Access, variable: SSAValue, extent: int, factor: int) -> bool:
    """
    Return `True` if an access does not depend on a loop over `extent` elements, or
    visits each of them along one axis.
    """
    axes = [axis for axis, each in enumerate(op.mixed_offsets) if each is variable]
    if not axes:
        return True
    axis = axes[0]
    if len(axes) > 1:
        return False
    if isinstance(op, mem.Im2colOp):
        access = op.delinearized_access
        return access.shape[axis] == extent and bool(access.alternate(axis, factor, 0))
    buffer = _buffer_of(op)
    if memref_type(buffer).get_shape()[axis] != extent or not has_static_offset(buffer):
        return False
    if isinstance(op, mem.StoreOp) or op.map is None:
        return True
    terms = linear_accesses_of_map(op.source_map)[axis].terms
    return len(terms) < 2 and all(step == 1 for _, step in terms)


def _buffer_of(op: Access) -> SSAValue:
    return op.destination if isinstance(op, mem.StoreOp) else op.source


@dataclass(frozen=True)
class _Tile:
    """One of the tiles that a program computes: of every n-th element."""

    start: int
    """First element."""
    values: dict[SSAValue, SSAValue]
    """Values of the copy of the body for the tile, by those of the body."""


@dataclass
class _Unrolling:
    """Unrolling of one loop of a nest, whose copies are jammed."""

    nest: scf.ParallelOp
    axis: int
    factor: int
    _views: dict[tuple[SSAValue, int, int], SSAValue] = field(
        init=False, default_factory=dict[tuple[SSAValue, int, int], SSAValue]
    )
    """Views of every n-th element of a buffer, by axis and first element."""
    _reads: dict[Hashable, SSAValue] = field(
        init=False, default_factory=dict[Hashable, SSAValue]
    )
    """Values of the elements of windows that were read."""

    def __post_init__(self) -> None:
        self.variable = self.nest.body.block.args[self.axis]
        self.before = Builder(InsertPoint.before(self.nest))

    def unroll(self) -> None:
        """Replace the body by its jammed copies, and divide the bound of the loop."""
        *body, terminator = self.nest.body.block.ops
        builder = Builder(InsertPoint.before(terminator))
        tiles = [_Tile(start, {}) for start in range(self.factor)]
        stores = [op for op in body if isinstance(op, mem.StoreOp)]
        for op in (*(op for op in body if op not in stores), *stores):
            self._copy(builder, op, tiles)
        for op in reversed(body):
            op.detach()
            op.erase()
        position = len(self.nest.lowerBound) + self.axis
        extent = constant_value_of(self.nest.upperBound[self.axis])
        assert extent is not None
        count = build_index_constant(self.before, extent // self.factor)
        self.nest.operands[position] = count

    def _copy(self, builder: Builder, op: Operation, tiles: Sequence[_Tile]) -> None:
        """Copy an operation of the body for some tiles."""
        if isinstance(op, scf.ForOp):
            self._copy_iterations(builder, op, tiles)
            return
        for tile in tiles:
            match op:
                case mem.Im2colOp():
                    self._copy_read_of_windows(builder, op, tile)
                case mem.LoadOp() | mem.StoreOp():
                    self._copy_access_of_box(builder, op, tile)
                case _:
                    builder.insert(op.clone(tile.values))

    def _copy_iterations(
        self, builder: Builder, loop: scf.ForOp, tiles: Sequence[_Tile]
    ) -> None:
        """Copy each iteration of a loop for all tiles, before the next one."""
        *body, terminator = loop.body.block.ops
        variable, *carried = loop.body.block.args
        _bind_values(tiles, carried, loop.iter_args)
        for index in _short_range_of(loop) or ():
            iteration = build_index_constant(self.before, index)
            for tile in tiles:
                tile.values[variable] = iteration
                for op in body:
                    self._copy(builder, op, [tile])
            _bind_values(tiles, carried, terminator.operands)
        _bind_values(tiles, loop.results, carried)

    def _copy_read_of_windows(
        self, builder: Builder, op: mem.Im2colOp, tile: _Tile
    ) -> None:
        """
        Copy a read of windows, unless the same elements were read before. Constant
        offsets become part of the map, by which equal elements are recognized.
        """
        access, offsets = op.delinearized_access, list[Index]()
        for axis, offset in enumerate(op.mixed_offsets):
            if offset is self.variable:
                access = access.alternate(axis, self.factor, tile.start) or access
            elif isinstance(offset, SSAValue):
                offset = tile.values.get(offset, offset)
            index = constant_value_of(offset)
            if index is not None and op.value_type.get_shape()[axis] == 1:
                access, offset = access.fix_index(axis, index), 0
            offsets.append(offset)
        key = op.source, tuple(offsets), access, op.value.type, op.sizes, op.fill
        if key not in self._reads:
            read = mem.Im2colOp(
                op.source, offsets, access, op.value_type, sizes=op.box_sizes
            )
            read.properties["fill"] = op.properties["fill"]
            read.location = op.location
            self._reads[key] = builder.insert(read).value
        tile.values[op.value] = self._reads[key]

    def _copy_access_of_box(
        self, builder: Builder, op: mem.LoadOp | mem.StoreOp, tile: _Tile
    ) -> None:
        """Copy a load or a store, on a view of the elements of a tile."""
        copied = op.clone(tile.values)
        buffer = _buffer_of(op)
        for axis, offset in enumerate(op.mixed_offsets):
            if offset is self.variable:
                view = self._find_or_build_view(buffer, axis, tile.start)
                copied.operands[copied.operands.index(buffer)] = view
        builder.insert(copied)

    def _find_or_build_view(self, buffer: SSAValue, axis: int, start: int) -> SSAValue:
        """Return the view of every `factor`-th element of a buffer along an axis."""
        key = buffer, axis, start
        if key not in self._views:
            offset, strides = static_offset_and_strides(buffer)
            shape, steps = [*memref_type(buffer).get_shape()], [*strides]
            offset += start * steps[axis]
            shape[axis] //= self.factor
            steps[axis] *= self.factor
            self._views[key] = build_view_of_allocation(
                self.before, buffer, shape, offset, steps
            )
        return self._views[key]


def _bind_values(
    tiles: Sequence[_Tile], targets: Sequence[SSAValue], sources: Sequence[SSAValue]
) -> None:
    """Let the copies of some values be those of others, for each tile."""
    for tile in tiles:
        copies = [tile.values.get(each, each) for each in sources]
        tile.values.update(zip(targets, copies, strict=True))
