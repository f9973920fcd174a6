"""Target description of the dialects: schema of its engine tables, by backend."""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias

from msgspec import Meta, Struct

from tlf.dialects.target.setting_parsing import Amount, Count, Rate

MatrixElement: TypeAlias = Literal["f32", "f16", "bf16", "i64", "i32", "i8"]
"""Element types of an NPU's matrix products."""

Precision: TypeAlias = Literal["f64", "f32", "tf32", "f16", "bf16", "i64", "i32", "i8"]
"""Precisions of a GPU's products: element types, and tf32."""


class SystolicArray(Struct, frozen=True, forbid_unknown_fields=True):
    """Schema of the matrix engine of an NPU in target descriptions."""

    rows: Count
    cols: Count
    cycles: Annotated[dict[MatrixElement, Rate], Meta(min_length=1)]
    """Cycles of a pass over one step of K, by element type."""
    startup: Amount = 0
    """Cycles until a result has drained."""
    dataflow: Literal["os", "ws", "is"] = "os"
    """Stationary operand: outputs, weights or inputs."""
    pipelined: bool = True
    """True if the array accepts the next operands while the previous ones drain."""


class VectorUnit(Struct, frozen=True, forbid_unknown_fields=True):
    """Schema of the vector engine of an NPU in target descriptions."""

    lanes: Count
    transcendental: Rate = 1
    """Cycles of a transcendental function, as a multiple of those of an addition."""
    startup: Amount = 0
    """Cycles until a result is available."""


class NpuEngines(Struct, frozen=True, forbid_unknown_fields=True):
    """Engines of an NPU. The vector engine is required."""

    vector: VectorUnit
    matrix: SystolicArray | None = None


class TensorCores(Struct, frozen=True, forbid_unknown_fields=True):
    """Schema of the matrix units of a GPU in target descriptions."""

    flops_per_cycle: Annotated[dict[Precision, Rate], Meta(min_length=1)]
    """FLOPs per cycle of each processor, by element type."""
    cores: Count = 1
    """Number of processors."""


class Lanes(Struct, frozen=True, forbid_unknown_fields=True):
    """
    Schema of a GPU's units for all arithmetic but matrix products, in descriptions.
    """

    lanes: Count
    """Lanes of each processor."""
    cores: Count = 1
    """Number of processors."""
    transcendental: Count = 1
    """Steps of a transcendental function without an entry in `steps`."""
    steps: dict[str, Count] = {}
    """Steps of scalar functions by name."""
    approximate_steps: dict[str, Count] = {}
    """Steps of scalar functions by name, where 16 bits of precision suffice."""
    special: Rate | None = None
    """Steps per cycle of each processor's special function unit, if any."""
    special_steps: dict[str, Count] = {}
    """Steps of the special function unit per function, by name."""


class GpuEngines(Struct, frozen=True, forbid_unknown_fields=True):
    """Engines of a GPU."""

    matrix: TensorCores | None = None
    vector: Lanes | None = None
