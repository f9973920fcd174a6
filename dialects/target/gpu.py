"""Schema of the execution model of a GPU processor."""

from __future__ import annotations

from typing import Annotated, TypeAlias

from msgspec import Meta, Struct

from tlf.dialects.target.size_parsing import Amount, Count

Share: TypeAlias = Annotated[float, Meta(gt=0, le=1)]


class AchievableShares(Struct, frozen=True, forbid_unknown_fields=True):
    """Shares of the peaks of a chip that well-made kernels get to."""

    memory: Share = 1.0
    """Of the bandwidth of the outermost memory."""
    cache: Share = 1.0
    """Of that of the cache before it."""
    matrix: Share = 1.0
    """Of the rate of matrix instructions."""
    vector: Share = 1.0
    """Of the rate of lanes."""


class GpuProcessor(Struct, frozen=True, forbid_unknown_fields=True):
    """
    One processor of a GPU: what it has room for, and what it does in a cycle. Their
    number, the rates of arithmetic and the memories stand elsewhere in a description.
    """

    warps: Count
    """The most warps that are resident at once."""
    programs: Count
    """The most programs that are."""
    registers: Count
    """Registers of 32 bits, for all resident threads."""
    thread_registers: Count
    """The most that one thread has."""
    shared: Count
    """Bytes of shared memory, for all resident programs."""
    shared_bandwidth: Count
    """Bytes per cycle that it reads or writes."""
    port: Count
    """Bytes per cycle from or to the cache that all processors share."""
    load_lanes: Count
    """Threads per cycle that load or store."""
    warp: Count = 32
    """Threads of a warp."""
    reserved: Amount = 0
    """Bytes of shared memory that every program takes beside its own."""
    matrix_rows: Count = 1
    """Rows of the matrix instruction with which the full rate is reached."""
    narrow: Share = 1.0
    """The share of the rate that is left to products of fewer rows."""
    matrix_latency: Amount = 0
    """Cycles from a narrow matrix instruction to one that adds to its result."""
    barrier: Amount = 0
    """Cycles until all warps of a program know of something, in a loop."""
    gap: Amount = 0
    """Bytes that memory could move in the time that it takes to start a row."""
    launch: Amount = 0
    """Cycles that a kernel takes to start and to end."""
    reached: AchievableShares = AchievableShares()
