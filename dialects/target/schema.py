"""Schema of a target description: memory levels, tiling constraints, engines."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Annotated, Any, Literal, TypeAlias

from msgspec import Meta, Struct

from tlf.dialects.target.engine_schema import Precision
from tlf.dialects.target.gpu import GpuProcessor
from tlf.dialects.target.size_parsing import MAX_BYTES, MAX_CORES, Amount, Count, Rate

LevelName: TypeAlias = Annotated[str, Meta(pattern="^L[1-9][0-9]*$")]
EngineFigures: TypeAlias = dict[str, bool | int | float | str | dict[str, int | float]]


class LevelKind(StrEnum):
    """Manager of a memory: the planner, the compiler below, or the hardware."""

    BUFFER = "buffer"
    VALUE = "value"
    CACHE = "cache"


class Level(Struct, frozen=True, forbid_unknown_fields=True):
    """
    One memory. Sizes are in bytes, bandwidth in bytes per cycle, latency in cycles.
    """

    name: LevelName
    kind: LevelKind
    capacity: Annotated[int, Meta(ge=1, le=MAX_BYTES)]
    bandwidth: Count
    latency: Amount
    burst: Count
    alignment: Count
    scope: Literal["core", "chip"] = "chip"
    """Scope of the level: one for every core, or one that all share."""
    shared: bool = False
    """
    True if one channel serves all moves, in program order; else there is one per queue.
    """
    indexed_loads: bool = False
    """True if a move into the level can find each element by an index."""
    indexed_row: Amount | None = None
    """
    The cycles that a DMA engine between it and the next farther level takes for each
    row that an index names; without them moves follow no indices.
    """

    @property
    def follows_indices(self) -> bool:
        """True if moves into the level can follow indices, by element or by row."""
        return self.indexed_loads or self.indexed_row is not None


class TilingConstraints(Struct, frozen=True, forbid_unknown_fields=True):
    """Constraints on the shapes of tiles on the target."""

    power_of_two: bool = False
    """True if every dimension of a tile is a power of two."""
    matrix_minimum: Count = 1
    """The least extent of each axis of a matrix product."""
    max_elements: Count | None = None
    """The most elements a tile may have."""
    tile_elements: Count | None = None
    """The most elements that a tile has where there is a choice."""
    matrix_tile: dict[Precision, tuple[Count, Count, Count]] = {}
    """Preferred (rows, columns, depth) of a matrix product's tile, by element type."""
    programs: Count = 1
    """
    Number of programs that keep the whole chip busy: tiles shrink to make so many.
    """

    def preferred_tile(self, element: str) -> tuple[int, int, int] | None:
        """The preferred (rows, columns, depth) of products of an element type."""
        tiles: Mapping[str, tuple[int, int, int]] = {**self.matrix_tile}
        return tiles.get(element)


class TargetDescription(Struct, frozen=True, forbid_unknown_fields=True):
    """
    A description as it is written.
    """

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
