"""How much an operation computes, and how many bytes it has to move."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from math import prod
from typing import cast

from xdsl.builder import Builder
from xdsl.dialects import arith, math
from xdsl.dialects.builtin import TensorType
from xdsl.dialects.utils import FastMathFlag
from xdsl.ir import Block, Operation, SSAValue
from xdsl.rewriter import InsertPoint
from xdsl.traits import ConstantLike

from tlf.dialects.cuts import is_stored_cut
from tlf.dialects.interfaces import (
    ConstantInterface,
    ContractionInterface,
    DecompositionInterface,
    ElementwiseInterface,
    IndexedInterface,
    TilingInterface,
    ViewInterface,
)
from tlf.dialects.joining import JoiningInterface
from tlf.dialects.target import Target
from tlf.dialects.types import dtype_of, is_half, tensor_type

QUICK = (
    *(math.AbsFOp, math.AbsIOp, math.CopySignOp, math.FmaOp),
    *(math.CeilOp, math.FloorOp, math.RoundEvenOp, math.RoundOp, math.TruncOp),
)
SLOW = (arith.DivfOp, arith.SIToFPOp, arith.UIToFPOp, arith.FPToSIOp, arith.FPToUIOp)


@dataclass(frozen=True)
class Work:
    """
    Scalar operations, a multiply-accumulate counting as two, and bytes.
    """

    matrix: tuple[tuple[str, int], ...] = ()
    """Those of products, by the type that they are multiplied in."""
    vector: int = 0
    """All others."""
    bytes: int = 0
    """Of the operands, each once and as far as it is read, and of the results."""

    @property
    def flops(self) -> int:
        """All operations."""
        return self.vector + sum(count for _, count in self.matrix)

    @property
    def intensity(self) -> float:
        """Operations for each byte (Williams et al., Roofline, 2009)."""
        return self.flops / self.bytes if self.bytes else 0.0


def size_in_bytes(values: Iterable[SSAValue]) -> int:
    """The bytes of tensors, each counted once."""
    return sum(
        prod(tensor_type(value).get_shape())
        * dtype_of(tensor_type(value).element_type).itemsize
        for value in dict.fromkeys(values)
        if isinstance(value.type, TensorType)
    )


def work_of(op: Operation) -> Work:
    """The work of one operation; a composite does that of what it stands for."""
    if isinstance(op, ConstantInterface | ViewInterface) or is_stored_cut(op):
        return Work()
    matrix, vector = _operations(op)
    return Work(tuple(sorted(matrix.items())), vector, _moved(op))


def _moved(op: Operation) -> int:
    """The bytes of operands and results; by indices no more is read than written."""
    if not isinstance(op, IndexedInterface):
        return size_in_bytes((*op.operands, *op.results))
    table, written = size_in_bytes(op.operands[:1]), size_in_bytes(op.results)
    return min(table, written) + size_in_bytes(op.operands[1:]) + written


def lane_steps(op: Operation, target: Target) -> int:
    """
    The steps that a lane of the vector engine takes for an elementwise operation.
    Functions, quotients, and conversions between integers and floats take several: as
    `steps` of the engine says by name, or `approximate_steps` where 16-bit floats are
    enough, else `transcendental`.
    """
    if not isinstance(op, ElementwiseInterface):
        return 0
    engine = target.engines.get("vector", {})
    steps = sum(
        _steps(inner, engine)
        for inner in op.scalar_body().ops
        if not inner.has_trait(ConstantLike)
    )
    return steps * tensor_type(op.results[0]).element_count()


def _steps(op: Operation, engine: Mapping[str, object]) -> int:
    """The steps of a scalar operation."""
    if not is_slow(op):
        return 1
    name = op.name.partition(".")[2]
    tables = ("approximate_steps", "steps") if is_approximate(op) else ("steps",)
    found = (_number(engine.get(table), name) for table in tables)
    usual = engine.get("transcendental", 1)
    known = next((each for each in found if each is not None), usual)
    return known if isinstance(known, int) else 1


def _number(table: object, name: str) -> object:
    """What a table says of a name, if there is one that says something."""
    return cast("Mapping[str, object]", table).get(name) if table else None


def is_approximate(op: Operation) -> bool:
    """Whether a function of floats need be no more exact than 16 bits can tell."""
    flags = op.properties.get("fastmath")
    if isinstance(flags, arith.FastMathFlagsAttr):
        if FastMathFlag.APPROX_FUNC in flags.data:
            return True
    return is_half(op.results[0].type)


def is_slow(op: Operation) -> bool:
    """Whether a scalar operation takes the vector engine longer than an addition."""
    if op.dialect_name() == "math":
        return not isinstance(op, QUICK)
    return isinstance(op, SLOW)


def _operations(op: Operation) -> tuple[dict[str, int], int]:
    """The operations of products, by type, and all others."""
    match op:
        case IndexedInterface() | JoiningInterface():
            return {}, op.flops()
        case DecompositionInterface():
            return _of_program(op)
        case ContractionInterface():
            return {multiplied_in(op): op.flops()}, 0
        case ElementwiseInterface():
            count = tensor_type(op.results[0]).element_count()
            return {}, count * op.scalar_operations()
        case TilingInterface():
            return {}, op.flops()
        case _:
            return {}, 0


def _of_program(op: DecompositionInterface) -> tuple[dict[str, int], int]:
    """The operations of a decomposition."""
    matrix, vector = dict[str, int](), 0
    for inner in program_of(op):
        products, others = _operations(inner)
        vector += others
        for element, count in products.items():
            matrix[element] = matrix.get(element, 0) + count
    return matrix, vector


def program_of(op: DecompositionInterface) -> Iterator[Operation]:
    """The operations of a decomposition, built aside and dropped in the end."""
    block = Block(arg_types=[operand.type for operand in op.operands])
    stand_in = op.clone(dict(zip(op.operands, block.args, strict=True)))
    block.add_op(stand_in)
    stand_in.decompose(Builder(InsertPoint.before(stand_in)))
    yield from (inner for inner in list(block.ops) if inner is not stand_in)
    stand_in.detach()
    stand_in.erase()
    block.erase(safe_erase=False)


def multiplied_in(op: ContractionInterface) -> str:
    """The element type of a product's inputs, or the precision that stands for it."""
    element = str(tensor_type(op.operands[0]).element_type)
    return op.precision if element == "f32" and op.precision != "ieee" else element
