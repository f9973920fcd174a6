"""
Target description of the dialects: schema of the GPU processor, its execution model.
"""

from __future__ import annotations

from typing import Annotated, TypeAlias

from msgspec import Meta, Struct

from tlf.dialects.target.setting_parsing import Amount, Count

Share: TypeAlias = Annotated[float, Meta(gt=0, le=1)]


class AchievableShares(Struct, frozen=True, forbid_unknown_fields=True):
    """Fractions of a chip's peak rates that optimized kernels achieve."""

    memory: Share = 1.0
    """Fraction of the bandwidth of the outermost level."""
    cache: Share = 1.0
    """Fraction of the bandwidth of the cache in front of the outermost level."""
    matrix: Share = 1.0
    """Fraction of the rate of matrix instructions."""
    vector: Share = 1.0
    """Fraction of the rate of lanes."""


class BoxCopies(Struct, frozen=True, forbid_unknown_fields=True):
    """
    Limits of the unit that copies a box of a tensor into shared memory by the tensor's
    descriptor, without threads that compute addresses.
    """

    rank: Count
    """Maximum number of dims of the tensor."""
    extent: Count
    """Maximum number of elements of the box along each dim."""
    alignment: Count = 1
    """
    Bytes whose multiples are the tensor's address, its strides but the last, and the
    size and the start of the box along the last dim.
    """


class GpuProcessor(Struct, frozen=True, forbid_unknown_fields=True):
    """
    One processor of a GPU: its capacities, and its throughput per cycle. The number of
    processors, the rates of arithmetic and the memory levels are other parts of a
    description.
    """

    warps: Count
    """Maximum number of resident warps."""
    programs: Count
    """Maximum number of resident programs."""
    registers: Count
    """Number of 32-bit registers, for all resident threads."""
    thread_registers: Count
    """Maximum number of registers per thread."""
    shared: Count
    """Bytes of shared memory, for all resident programs."""
    shared_bandwidth: Count
    """Bytes per cycle that shared memory reads or writes."""
    port: Count
    """Bytes per cycle from or to the cache that all processors share."""
    load_lanes: Count
    """Threads per cycle that load or store."""
    warp: Count = 32
    """Threads per warp."""
    schedulers: Count = 1
    """
    Number of schedulers, each of which issues the instructions of its own warps to its
    share of the units.
    """
    reserved: Amount = 0
    """Bytes of shared memory that are reserved per program, besides its own."""
    matrix_rows: Count = 1
    """Rows of the matrix instruction that reaches the full rate."""
    matrix_transpose: Amount = 8
    """
    Maximum bytes of an element of a factor that matrix instructions read in both
    orders; they read factors of wider elements along the reduction.
    """
    matrix_truncates: bool = False
    """True if matrix instructions drop the bits of factors that tf32 does not have."""
    narrow: Share = 1.0
    """Fraction of the full rate for products of fewer rows."""
    matrix_latency: Amount = 0
    """
    Cycles from a narrow matrix instruction to one that accumulates into its result.
    """
    barrier: Amount = 0
    """Cycles to synchronize all warps of a program in a loop."""
    gap: Amount = 0
    """Cost of the start of a row, in bytes that memory could move meanwhile."""
    launch: Amount = 0
    """Cycles to start and end a kernel."""
    atomics: Amount = 0
    """
    Elements of memory that all processors together combine with values per cycle, one
    by one and in any order; 0 if there are no such instructions.
    """
    retains_loads: bool = False
    """
    True if kernels that load and store more than the cache holds are faster with the
    loaded lines retained over the stored ones.
    """
    dependent_launch: bool = False
    """True if a kernel may start before the end of the one before, and wait for it."""
    reached: AchievableShares = AchievableShares()
    boxes: BoxCopies | None = None
    """Copies of boxes by tensor descriptors, if the GPU has them."""
