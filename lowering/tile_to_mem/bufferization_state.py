"""
State of the lowering of a function from tiles to `mem`: the lowered value and storage
of each tile, and the insertion point.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.builder import Builder
from xdsl.dialects import arith
from xdsl.dialects.affine import ApplyOp
from xdsl.dialects.builtin import IndexType, IntegerAttr
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.rewriter import InsertPoint

from tlf.analysis.buffers.in_place_subviews import find_in_place_subviews
from tlf.analysis.buffers.ring_buffers import find_ring_buffers
from tlf.analysis.buffers.tile_liveness import SharedStorage, TileLiveness
from tlf.dialects import mem, tile
from tlf.dialects.interfaces import splat_attribute_of
from tlf.dialects.target import TargetSpec
from tlf.dialects.tile import Index, level_of
from tlf.dialects.types import AnyTensor, scalar_value, tensor_type
from tlf.lowering.tile_to_mem.buffer_builders import PendingMoves, buffer_type_in_level
from tlf.lowering.tile_to_mem.constant_globals import ConstantGlobals


class BufferizationState:
    """Lowered values, buffers, moves in flight and insertion point of a function."""

    def __init__(
        self, function: Operation, target: TargetSpec, constants: ConstantGlobals
    ) -> None:
        self.target = target
        self.constants = constants
        self.liveness = TileLiveness(function)
        self.rings = find_ring_buffers(function, target, self.liveness)
        self.parts = find_in_place_subviews(function, target, self.liveness)
        """Insertion of each tile that is built in place in a tensor."""
        self.made: dict[tile.DesliceOp, SSAValue] = {}
        """Subviews that already contain the tile built in place, by insertion."""
        self.values: dict[SSAValue, SSAValue] = {}
        self.storages: dict[SSAValue, SharedStorage] = {}
        self.shown: dict[SSAValue, SSAValue] = {}
        """Original buffer of each reshaped view."""
        self.destinations: dict[SSAValue, SSAValue] = {}
        """Requested destination of each tile that an operation produces."""
        self.moves = PendingMoves()
        self.builder = Builder(InsertPoint.at_end(Block()))

    # Kinds of tiles

    def level_of_type(self, type_: Attribute) -> str:
        """Return the memory level of a tile type."""
        return level_of(type_) or self.target.outermost_level.name

    def is_lowered_to_value(self, type_: Attribute) -> bool:
        """Return `True` if tiles of a type are SSA values rather than buffers."""
        level = self.target.levels.get(self.level_of_type(type_))
        return level is not None and level.kind == "value"

    # Lowered values of tiles

    def bind_lowered_value(
        self, value: SSAValue, lowered: SSAValue, storage: SharedStorage
    ) -> None:
        """Record `lowered`, the value or buffer of a tile, and the tile's storage."""
        self.values[value] = lowered
        self.storages[value] = storage
        storage.values.append(value)
        if lowered.name_hint is None:
            lowered.name_hint = value.name_hint

    def lowered_operand_of(self, value: SSAValue) -> SSAValue:
        """
        Return the lowered value of a tile; a splat constant becomes a filled tile on
        first use.
        """
        if (
            value not in self.values
            and (constant := splat_attribute_of(value)) is not None
        ):
            self.bind_filled_tile(value, scalar_value(constant))
        return self.values[value]

    def convert_index_operand(self, offset: Index) -> Index:
        """
        Return a converted offset. An `affine.apply` that is not converted yet is built
        at the insertion point.
        """
        if isinstance(offset, int):
            return offset
        if offset not in self.values and isinstance(owner := offset.owner, ApplyOp):
            operands = [
                self.to_ssa_index(self.convert_index_operand(each))
                for each in owner.mapOperands
            ]
            self.values[offset] = self.builder.insert(
                ApplyOp(operands, owner.map)
            ).result
        return self.values[offset]

    def convert_index_operands(self, offsets: Sequence[Index]) -> list[Index]:
        """Return converted offsets."""
        return [self.convert_index_operand(offset) for offset in offsets]

    def to_ssa_index(self, index: Index) -> SSAValue:
        """Return an SSA index as is, or build an `arith.constant` for an integer."""
        if not isinstance(index, int):
            return index
        attribute = IntegerAttr(index, IndexType())
        return self.builder.insert(arith.ConstantOp(attribute)).result

    def wait_for_writes_in_flight(self, *values: SSAValue) -> None:
        """Wait for writes in flight to tiles that are read next."""
        storages = [self.storages[value] for value in values if value in self.storages]
        self.moves.wait_for_conflicting_moves(self.builder, reads=storages)

    # Buffers

    def allocate_tile_buffer(self, type_: AnyTensor) -> SSAValue:
        """Allocate a buffer for a tile."""
        allocation = mem.AllocOp(buffer_type_in_level(type_, self.level_of_type(type_)))
        return self.builder.insert(allocation).buffer

    def build_filled_tile(self, type_: AnyTensor, fill: float) -> SSAValue:
        """
        Build a `mem.fill` of a new value or a new buffer of a tile type, and return it.
        """
        if self.is_lowered_to_value(type_):
            filled = self.builder.insert(mem.FillOp(fill, result_type=type_)).result
            assert filled is not None
            return filled
        buffer = self.allocate_tile_buffer(type_)
        self.builder.insert(mem.FillOp(fill, buffer))
        return buffer

    def bind_filled_tile(self, value: SSAValue, fill: float) -> None:
        """Bind a value to a filled tile."""
        self.bind_lowered_value(
            value, self.build_filled_tile(tensor_type(value), fill), SharedStorage()
        )
