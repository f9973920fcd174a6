"""Elementwise bodies as vector instructions: one scalar operation at a time."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from math import prod

from xdsl.builder import Builder
from xdsl.dialects import arith
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.rewriter import InsertPoint

from tlf.analysis.work.vector_step_costs import is_multi_step
from tlf.dialects.interfaces import ConstantInterface, ElementwiseInterface
from tlf.dialects.types import (
    dtype_of,
    scalar_attribute,
    scalar_value,
    tensor_type,
)
from tlf.support.affine.index_access import Accesses

OUTPUT = "output"
"""The name of the place of a result."""

Name = int | str
"""An input by its number, a value in between by its letter, or the result."""


def splat_value_of(value: SSAValue) -> Attribute | None:
    """The one value of the constant that defines a tile, if one does."""
    owner = value.owner
    return owner.splat_value() if isinstance(owner, ConstantInterface) else None


@dataclass(frozen=True)
class VectorInstruction:
    """One vector instruction."""

    elements: int
    slow: bool
    reads: tuple[Name, ...]
    writes: Name = OUTPUT
    bytes: int = 0
    """Of the place for its result, where that is no output."""


@dataclass
class ScalarBody:
    """The scalar operations of an elementwise operation on tiles."""

    shape: tuple[int, ...]
    inputs: list[SSAValue] = field(default_factory=list[SSAValue])
    """The operands that are no constants of one value."""
    work: list[Operation] = field(default_factory=list[Operation])
    result: SSAValue | None = None
    """The value computed last; None for a copy of the first input."""
    names: dict[SSAValue, Name] = field(default_factory=dict[SSAValue, Name])
    dimensions: dict[SSAValue, frozenset[int]] = field(
        default_factory=dict[SSAValue, frozenset[int]]
    )
    """The dimensions of the domain that scalars depend on."""

    @staticmethod
    def of(op: ElementwiseInterface) -> ScalarBody:
        """Return the body of an elementwise operation."""
        body = ScalarBody(tensor_type(op.results[0]).get_shape())
        block = Block()
        builder = Builder(InsertPoint.at_end(block))
        elements: list[SSAValue] = []
        for operand, accesses in zip(op.operands, op.indexing_maps(), strict=True):
            element = tensor_type(operand).element_type
            if (
                constant := splat_value_of(operand)
            ) is not None and accesses is not None:
                attribute = scalar_attribute(scalar_value(constant), element)
                elements.append(builder.insert(arith.ConstantOp(attribute)).result)
                continue
            elements.append(block.insert_arg(element, len(block.args)))
            body.names[elements[-1]] = len(body.inputs)
            body.dimensions[elements[-1]] = _dimensions_of(accesses or ())
            body.inputs.append(operand)
        body.result = op.build_scalar(builder, *elements)
        body.work = [e for e in block.ops if not isinstance(e, arith.ConstantOp)]
        return body

    def instructions(self, replaced: Collection[int]) -> Iterator[VectorInstruction]:
        """
        The instructions. The inputs `replaced` are where the result goes. What depends
        on all dimensions is computed into the result unless an input that it replaces
        is read later; all else in a place of its own.
        """
        whole = prod(self.shape)
        if len(self.work) <= 1:
            slow = bool(self.work) and is_multi_step(self.work[0])
            yield VectorInstruction(whole, slow, tuple(range(len(self.inputs))))
            return
        everything = frozenset(range(len(self.shape)))
        for number, op in enumerate(self.work):
            (value,) = op.results
            sources = [each for each in op.operands if each in self.names]
            kept = frozenset[int]().union(*(self.dimensions[each] for each in sources))
            is_last = value is self.result and kept == everything
            if is_last and not self._is_read_from(number + 1, replaced):
                self.names[value] = OUTPUT
            else:
                self.names[value] = f"value {number}"
            self.dimensions[value] = kept
            count = prod(self.shape[axis] for axis in kept)
            reads = tuple(self.names[each] for each in sources)
            size = count * dtype_of(value.type).itemsize
            yield VectorInstruction(
                count, is_multi_step(op), reads, self.names[value], size
            )
        assert self.result is not None
        if (name := self.names.get(self.result)) != OUTPUT:
            yield VectorInstruction(whole, False, () if name is None else (name,))

    def _is_read_from(self, first: int, replaced: Collection[int]) -> bool:
        """Return `True` if any operation from `first` on reads one of some inputs."""
        later = [value for op in self.work[first:] for value in op.operands]
        return any(self.names.get(value) in replaced for value in later)


def copy_body(source: SSAValue, shape: Sequence[int]) -> ScalarBody:
    """A body that copies."""
    return ScalarBody(tuple(shape), [source])


def _dimensions_of(accesses: Accesses) -> frozenset[int]:
    """The dimensions of the result that an operand moves with."""
    return frozenset(iterator for each in accesses for iterator, _ in each.terms)
