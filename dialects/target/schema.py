"""
Target description of the dialects: schema of memory levels, tiling constraints,
engines.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Annotated, Any, Literal, TypeAlias

from msgspec import Meta, Struct

from tlf.dialects.target.engine_schema import Precision
from tlf.dialects.target.gpu_schema import GpuProcessor
from tlf.dialects.target.setting_parsing import (
    MAX_BYTES,
    MAX_CORES,
    Amount,
    Count,
    Rate,
)

LevelName: TypeAlias = Annotated[str, Meta(pattern="^L[1-9][0-9]*$")]
EngineFigures: TypeAlias = dict[str, bool | int | float | str | dict[str, int | float]]


class LevelKind(StrEnum):
    """
    Manager of a memory level: the planner, the downstream compiler, or the hardware.
    """

    BUFFER = "buffer"
    VALUE = "value"
    CACHE = "cache"


class Level(Struct, frozen=True, forbid_unknown_fields=True):
    """
    Memory level. Sizes are in bytes, bandwidth in bytes per cycle, latency in cycles.
    """

    name: LevelName
    kind: LevelKind
    capacity: Annotated[int, Meta(ge=1, le=MAX_BYTES)]
    bandwidth: Count
    latency: Amount
    burst: Count
    alignment: Count
    scope: Literal["core", "chip"] = "chip"
    """Scope of the level: one instance per core, or one that all cores share."""
    shared: bool = False
    """
    True if one channel serves all moves, in program order; false if each queue has its
    own channel.
    """
    indexed_loads: bool = False
    """True if a move into the level can gather single elements by index."""
    scans: bool = False
    """True if tiles in the level can be scanned: combined along an axis in order."""
    sorts: Amount = 0
    """
    Greatest extent of the last axis of a tile in the level along which elements can be
    sorted; 0 if they cannot.
    """
    indexed_row: Amount | None = None
    """
    Cycles per indexed row of a DMA engine between this level and the next outer one;
    None if moves cannot be indexed.
    """

    @property
    def has_indexed_moves(self) -> bool:
        """True if moves into the level can be indexed, by element or by row."""
        return self.indexed_loads or self.indexed_row is not None


class TilingConstraints(Struct, frozen=True, forbid_unknown_fields=True):
    """Constraints on tile shapes of a target, and preferences among the valid ones."""

    power_of_two: bool = False
    """True if every dimension of a tile is a power of two."""
    matrix_minimum: Count = 1
    """Minimum extent of each axis of a matrix product."""
    max_elements: Count | None = None
    """Maximum number of elements of a tile."""
    tile_elements: Count | None = None
    """Preferred maximum number of elements of a tile."""
    tile_bytes: Count | None = None
    """
    Preferred maximum number of bytes of a tile that is loaded or stored, in groups that
    accumulate nothing.
    """
    matrix_tile: dict[Precision, tuple[Count, Count, Count]] = {}
    """Preferred (rows, columns, depth) of a matrix product's tile, by element type."""
    programs: Count = 1
    """
    Number of programs that occupy the whole chip; tiles shrink to reach this number.
    """

    def preferred_tile(self, element: str) -> tuple[int, int, int] | None:
        """
        Return the preferred (rows, columns, depth) of products of an element type.
        """
        tiles: Mapping[str, tuple[int, int, int]] = {**self.matrix_tile}
        return tiles.get(element)


class TargetDescription(Struct, frozen=True, forbid_unknown_fields=True):
    """Schema of a target description as written in TOML, with defaults."""

    levels: Annotated[list[Level], Meta(min_length=1)]
    name: str = "unnamed"
    backend: Literal["npu", "triton"] = "npu"
    clock_ghz: Rate = 1.0
    issue_cycles: Amount = 1
    cores: Annotated[int, Meta(ge=1, le=MAX_CORES)] = 1
    engines: dict[str, dict[str, Any]] = {}
    """Tables of engines, whose fields depend on the backend."""
    tiling: TilingConstraints = TilingConstraints()
    gpu: GpuProcessor | None = None
