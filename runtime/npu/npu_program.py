"""
An NPU program as data: its machine, buffers and instructions.

Addresses and strides are in bytes, sizes in elements.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from tlf.machine.machine_spec import Machine
from tlf.runtime.npu.dtypes import DTYPES, ITEMSIZE, Array


@dataclass(frozen=True)
class Buffer:
    """A named, contiguous array in memory."""

    name: str
    level: str
    address: int
    dtype: str
    shape: tuple[int, ...]
    data: Array | None = None
    """The contents, of a constant."""
    order: tuple[int, ...] = ()
    """The axes as they lie in memory, outermost first; empty for row-major order."""

    @property
    def nbytes(self) -> int:
        """Bytes that the buffer takes."""
        size = ITEMSIZE[self.dtype]
        for extent in self.shape:
            size *= extent
        return size

    @property
    def shape_in_memory(self) -> tuple[int, ...]:
        """The shape with its axes as they lie in memory."""
        return tuple(self.shape[axis] for axis in self.order) or self.shape

    def to_memory(self, array: Array) -> Array:
        """A view of the array with its axes as they lie in memory."""
        return array.transpose(self.order) if self.order else array

    def from_memory(self, array: Array) -> Array:
        """A view of an array that lies in memory, with its own axes again."""
        return array.transpose(np.argsort(self.order)) if self.order else array

    def describe(self) -> str:
        """Return the type in the way that the text spells it."""
        return f"{self.dtype} {'x'.join(map(str, self.shape)) or 'scalar'}"

    def is_compatible(self, array: Array) -> bool:
        """Return `True` if `array` has the shape and the element type of the buffer."""
        return array.shape == self.shape and array.dtype == DTYPES[self.dtype]


@dataclass(frozen=True, slots=True)
class Register:
    """A scalar register, plus a constant."""

    name: str
    offset: int = 0


Value = int | Register
"""Scalar operand: a number, or a register with an offset."""

Condition = bool | Register
"""Condition: a known truth value, or a register that is tested for not being 0."""


@dataclass(frozen=True, slots=True)
class Address:
    """A strided array in memory; a stride of 0 repeats."""

    level: str
    base: Value
    strides: tuple[int, ...]
    dtype: str


@dataclass(frozen=True, slots=True, eq=False)
class Immediate:
    """A constant operand."""

    value: Array
    """Rank 0, in the type that the operation computes in."""
    dtype: str


@dataclass(frozen=True, slots=True)
class Instruction:
    """Base of all instructions: where it stands in the text."""

    line: int
    text: str


@dataclass(frozen=True, slots=True)
class Scalar(Instruction):
    """`%target = operation operands`, on the control processor."""

    target: str
    operation: str
    operands: tuple[Value, ...]


@dataclass(frozen=True, slots=True)
class Loop(Instruction):
    """Run `body` for `register` in the range."""

    register: str
    lower: Value
    upper: Value
    step: Value
    body: tuple[Instruction, ...]


@dataclass(frozen=True, slots=True)
class Cores(Instruction):
    """Run `body` on all cores at once, with the number of each in `register`."""

    register: str
    count: int
    body: tuple[Instruction, ...]


@dataclass(frozen=True, slots=True)
class Indexed:
    """
    Indices that give the locations of the rows of a move along one axis of a table.
    """

    indices: Address
    """One index for each element, or for all along strides of 0."""
    step: int
    """Bytes between neighbours along the axis."""
    bound: int
    """The extent of the axis."""
    scatter: bool
    """True if the table is the destination, false if it is the source."""
    accumulate: bool = False
    """True to add the moved elements to those of the destination."""


@dataclass(frozen=True, slots=True)
class Dma(Instruction):
    """A strided move."""

    engine: str
    destination: Address
    source: Address
    shape: tuple[Value, ...]
    inside: tuple[tuple[Value, Value], ...] | None
    """Half-open range of indices that are read, per dimension; None reads all."""
    fill: Array
    """Rank 0, unsigned: the bits of the elements that are not read."""
    indexed: Indexed | None = None


@dataclass(frozen=True, slots=True)
class Matmul(Instruction):
    """`c (+)= a @ b`. Strides are for batch, m, n of `c`; batch, m, k; batch, k, n."""

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
    """An elementwise operation."""

    operation: str
    destination: Address
    sources: tuple[Address | Immediate, ...]
    shape: tuple[Value, ...]
    dtype: str
    """The type that the operation computes in."""


@dataclass(frozen=True, slots=True)
class Reduce(Instruction):
    """A reduction of some dimensions."""

    operation: str
    destination: Address
    source: Address
    shape: tuple[Value, ...]
    axes: tuple[int, ...]
    accumulate: Condition


@dataclass(frozen=True, slots=True)
class Signal(Instruction):
    """Increment a semaphore once the engine has done all earlier work."""

    engine: str
    semaphore: int


@dataclass(frozen=True, slots=True)
class Wait(Instruction):
    """Hold the engine until a semaphore can be decremented."""

    engine: str
    semaphore: int


@dataclass(frozen=True, slots=True)
class Halt(Instruction):
    """The end: the program is over once all engines are idle."""


_KINDS: dict[type[Instruction], str] = {
    Scalar: "scalar",
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


def kind_of(op: Instruction) -> str:
    """Return the word that counts of instructions have for it."""
    return _KINDS[type(op)]


@dataclass(frozen=True)
class Program:
    """A program that has been parsed."""

    machine: Machine
    inputs: dict[str, Buffer]
    outputs: dict[str, Buffer]
    constants: dict[str, Buffer]
    semaphores: int
    body: tuple[Instruction, ...]
    granule: int
    """Bytes of the smallest element type in use."""
    origins: Mapping[int, str] = field(default_factory=dict[int, str])
    """By line, the place in the source that an instruction comes from, where given."""
