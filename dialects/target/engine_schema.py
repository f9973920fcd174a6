"""Schema of the engine tables of a description, by backend."""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias

from msgspec import Meta, Struct

from tlf.dialects.target.size_parsing import Amount, Count, Rate

MatrixElement: TypeAlias = Literal["f32", "f16", "bf16", "i64", "i32", "i8"]
"""The element types that an NPU may multiply."""

Precision: TypeAlias = Literal["f64", "f32", "tf32", "f16", "bf16", "i64", "i32", "i8"]
"""Element types, and what else the products of a GPU come in."""


class SystolicArray(Struct, frozen=True, forbid_unknown_fields=True):
    """The matrix engine of an NPU."""

    rows: Count
    cols: Count
    cycles: Annotated[dict[MatrixElement, Rate], Meta(min_length=1)]
    """Cycles of a pass over one step of K, by element type."""
    startup: Amount = 0
    """Cycles until a result has drained."""
    dataflow: Literal["os", "ws", "is"] = "os"
    """Operands that stay in the array: outputs, weights or inputs."""
    pipelined: bool = True
    """True if the array accepts the next operands while the previous ones drain."""


class VectorUnit(Struct, frozen=True, forbid_unknown_fields=True):
    """The vector engine of an NPU."""

    lanes: Count
    transcendental: Rate = 1
    """Cycles of a transcendental function, as a multiple of those of an addition."""
    startup: Amount = 0
    """Cycles until a result is there."""


class NpuEngines(Struct, frozen=True, forbid_unknown_fields=True):
    """The engines of an NPU. None of its programs does without the vector engine."""

    vector: VectorUnit
    matrix: SystolicArray | None = None


class TensorCores(Struct, frozen=True, forbid_unknown_fields=True):
    """Matrix units of a GPU."""

    flops_per_cycle: Annotated[dict[Precision, Rate], Meta(min_length=1)]
    """Of each processor, by element type."""
    cores: Count = 1
    """Number of processors."""


class Lanes(Struct, frozen=True, forbid_unknown_fields=True):
    """Units of a GPU for all arithmetic but matrix products."""

    lanes: Count
    """Of each processor."""
    cores: Count = 1
    """Number of processors."""
    transcendental: Count = 1
    """Steps of a function that `steps` does not name."""
    steps: dict[str, Count] = {}
    """Steps of scalar functions by their names."""
    approximate_steps: dict[str, Count] = {}
    """The same where 16 bits are enough."""
    special: Rate | None = None
    """The rate of a unit beside the lanes."""
    special_steps: dict[str, Count] = {}
    """Steps of that unit that a function needs, by the name of the function."""


class GpuEngines(Struct, frozen=True, forbid_unknown_fields=True):
    """The engines of a GPU."""

    matrix: TensorCores | None = None
    vector: Lanes | None = None
