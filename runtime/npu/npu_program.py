"""
Simulator: an NPU program as data, with its machine, buffers and instructions.

Addresses and strides are in bytes, sizes in elements.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from tlf.machine.machine_spec import Machine
from tlf.runtime.npu.dtypes import DTYPES, ITEMSIZE, Array


@dataclass(frozen=True)
class Buffer:
    """Input, output or constant of a program: a named, contiguous array in a level."""

    name: str
    level: str
    address: int
    dtype: str
    shape: tuple[int, ...]
    data: Array | None = None
    """Contents of a constant."""
    order: tuple[int, ...] = ()
    """Axes in memory order, outermost first; empty for row-major order."""

    @property
    def nbytes(self) -> int:
        """Size in bytes."""
        size = ITEMSIZE[self.dtype]
        for extent in self.shape:
            size *= extent
        return size

    @property
    def shape_in_memory(self) -> tuple[int, ...]:
        """Shape with its axes in memory order."""
        return tuple(self.shape[axis] for axis in self.order) or self.shape

    def to_memory_order(self, array: Array) -> Array:
        """Return a view of the array with its axes in memory order."""
        return array.transpose(self.order) if self.order else array

    def from_memory_order(self, array: Array) -> Array:
        """Return a view of an array in memory order with its declared axes."""
        return array.transpose(np.argsort(self.order)) if self.order else array

    def format_type(self) -> str:
        """Return the type in the syntax of the text."""
        return f"{self.dtype} {'x'.join(map(str, self.shape)) or 'scalar'}"

    def is_array_of_declared_type(self, array: Array) -> bool:
        """Return `True` if `array` has the shape and the element type of the buffer."""
        return array.shape == self.shape and array.dtype == DTYPES[self.dtype]


@dataclass(frozen=True, slots=True)
class Register:
    """A scalar register plus a constant offset."""

    name: str
    offset: int = 0


Value = int | Register
"""Scalar operand: an integer, or a register with an offset."""

Condition = bool | Register
"""Condition: a constant truth value, or a register that is compared with 0."""


@dataclass(frozen=True, slots=True)
class Address:
    """
    Strided array operand, base and strides in bytes; a stride of 0 repeats elements.
    """

    level: str
    base: Value
    strides: tuple[int, ...]
    dtype: str


@dataclass(frozen=True, slots=True, eq=False)
class Immediate:
    """Constant scalar operand of an engine instruction."""

    value: Array
    """Array of rank 0, in the type that the operation computes in."""
    dtype: str


@dataclass(frozen=True, slots=True)
class Instruction:
    """Base of all instructions, with the line in the text."""

    line: int
    text: str


@dataclass(frozen=True, slots=True)
class ScalarInstruction(Instruction):
    """`%target = operation operands`, on the control processor."""

    target: str
    operation: str
    operands: tuple[Value, ...]


@dataclass(frozen=True, slots=True)
class Loop(Instruction):
    """
    Instruction that runs `body` with `register` from `lower`, below `upper`, by `step`.
    """

    register: str
    lower: Value
    upper: Value
    step: Value
    body: tuple[Instruction, ...]


@dataclass(frozen=True, slots=True)
class Cores(Instruction):
    """Run `body` on all cores in parallel, with the index of each in `register`."""

    register: str
    count: int
    body: tuple[Instruction, ...]


@dataclass(frozen=True, slots=True)
class MoveIndices:
    """
    Indices that give the positions of the rows of a move along one axis of a table.
    """

    indices: Address
    """One index for each element, shared along strides of 0."""
    step: int
    """Bytes between consecutive elements along the axis."""
    bound: int
    """Extent of the axis."""
    scatter: bool
    """True if the table is the destination, false if it is the source."""
    accumulate: bool = False
    """True to add the moved elements to those of the destination."""


@dataclass(frozen=True, slots=True)
class Dma(Instruction):
    """
    DMA instruction: a strided move with fill, or a gather or scatter if `indexed`.
    """

    engine: str
    destination: Address
    source: Address
    shape: tuple[Value, ...]
    inside: tuple[tuple[Value, Value], ...] | None
    """Half-open range of indices that are read, per dimension; `None` reads all."""
    fill: Array
    """Array of rank 0, unsigned: the bits of the elements that are not read."""
    indexed: MoveIndices | None = None


@dataclass(frozen=True, slots=True)
class Matmul(Instruction):
    """
    `c (+)= a @ b`. Strides are for (batch, m, n) of `c`, (batch, m, k) of `a`, and
    (batch, k, n) of `b`.
    """

    c: Address
    a: Address
    b: Address
    batch: tuple[Value, ...]
    m: tuple[Value, ...]
    n: tuple[Value, ...]
    k: tuple[Value, ...]
    accumulate: Condition
    precision: str


@dataclass(frozen=True, slots=True)
class Vector(Instruction):
    """Elementwise instruction of the vector engine."""

    operation: str
    destination: Address
    sources: tuple[Address | Immediate, ...]
    shape: tuple[Value, ...]
    dtype: str
    """Type that the operation computes in."""


@dataclass(frozen=True, slots=True)
class Reduce(Instruction):
    """Reduction instruction of the vector engine, over the dimensions `axes`."""

    operation: str
    destination: Address
    source: Address
    shape: tuple[Value, ...]
    axes: tuple[int, ...]
    accumulate: Condition


@dataclass(frozen=True, slots=True)
class Signal(Instruction):
    """Increment a semaphore when the engine has completed all earlier work."""

    engine: str
    semaphore: int


@dataclass(frozen=True, slots=True)
class Wait(Instruction):
    """Block the engine until a semaphore can be decremented."""

    engine: str
    semaphore: int


@dataclass(frozen=True, slots=True)
class Halt(Instruction):
    """End of the program, which completes when all engines are idle."""


_KINDS: dict[type[Instruction], str] = {
    ScalarInstruction: "scalar",
    Loop: "loop",
    Cores: "cores",
    Dma: "dma",
    Matmul: "matmul",
    Vector: "vector",
    Reduce: "reduce",
    Signal: "signal",
    Wait: "wait",
    Halt: "halt",
}


def instruction_kind_of(op: Instruction) -> str:
    """Return the kind of an instruction as used in counts."""
    return _KINDS[type(op)]


@dataclass(frozen=True)
class Program:
    """Parsed NPU program: machine, buffers and instructions."""

    machine: Machine
    inputs: dict[str, Buffer]
    outputs: dict[str, Buffer]
    constants: dict[str, Buffer]
    semaphores: int
    body: tuple[Instruction, ...]
    granule: int
    """Bytes of the smallest element type in use."""
    origins: Mapping[int, str] = field(default_factory=dict[int, str])
    """Source location of instructions by line, where given."""
