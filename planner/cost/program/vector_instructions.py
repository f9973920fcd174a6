"""
Cost model of elementwise operations on tiles: their bodies read as vector instructions,
one for each scalar operation.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from math import prod

from xdsl.builder import Builder
from xdsl.dialects import arith
from xdsl.ir import Block, Operation, SSAValue
from xdsl.rewriter import InsertPoint

from tlf.analysis.work.vector_step_costs import is_multi_step
from tlf.dialects.interfaces import ElementwiseInterface, splat_attribute_of
from tlf.dialects.types import (
    dtype_of,
    scalar_attribute,
    scalar_value,
    tensor_type,
)
from tlf.support.affine.index_access import Accesses

OUTPUT = "output"
"""Name of the view of the result."""

Name = int | str
"""Index of an input, name of a temporary, or `OUTPUT`."""


@dataclass(frozen=True)
class VectorInstruction:
    """Modelled vector instruction on all elements of named inputs and temporaries."""

    element_count: int
    is_slow: bool
    reads: tuple[Name, ...]
    writes: Name = OUTPUT
    byte_count: int = 0
    """Bytes of the buffer of a temporary."""


@dataclass
class ScalarBody:
    """The scalar operations of an elementwise operation on tiles."""

    shape: tuple[int, ...]
    inputs: list[SSAValue] = field(default_factory=list[SSAValue])
    """Operands that are not splat constants."""
    operations: list[Operation] = field(default_factory=list[Operation])
    result: SSAValue | None = None
    """The value computed last; `None` for a copy of the first input."""
    names: dict[SSAValue, Name] = field(default_factory=dict[SSAValue, Name])
    dimensions: dict[SSAValue, frozenset[int]] = field(
        default_factory=dict[SSAValue, frozenset[int]]
    )
    """Dimensions of the domain that scalars depend on."""

    @staticmethod
    def from_operation(op: ElementwiseInterface) -> ScalarBody:
        """Build the scalar operations of an elementwise one in a new detached block."""
        body = ScalarBody(tensor_type(op.results[0]).get_shape())
        block = Block()
        builder = Builder(InsertPoint.at_end(block))
        elements: list[SSAValue] = []
        for operand, accesses in zip(op.operands, op.indexing_maps(), strict=True):
            element = tensor_type(operand).element_type
            if (
                constant := splat_attribute_of(operand)
            ) is not None and accesses is not None:
                attribute = scalar_attribute(scalar_value(constant), element)
                elements.append(builder.insert(arith.ConstantOp(attribute)).result)
                continue
            elements.append(block.insert_arg(element, len(block.args)))
            body.names[elements[-1]] = len(body.inputs)
            body.dimensions[elements[-1]] = _result_dimensions_of(accesses or ())
            body.inputs.append(operand)
        body.result = op.build_scalar_computation(builder, *elements)
        body.operations = [e for e in block.ops if not isinstance(e, arith.ConstantOp)]
        return body

    def vector_instructions(
        self, reused_inputs: Collection[int]
    ) -> Iterator[VectorInstruction]:
        """
        Yield the instructions. `reused_inputs` are the inputs whose buffer the result
        reuses. The last value is computed into the result if it depends on all
        dimensions and no replaced input is read later; all other values are
        temporaries.
        """
        total = prod(self.shape)
        if len(self.operations) <= 1:
            slow = bool(self.operations) and is_multi_step(self.operations[0])
            yield VectorInstruction(total, slow, tuple(range(len(self.inputs))))
            return
        all_dimensions = frozenset(range(len(self.shape)))
        for index, op in enumerate(self.operations):
            (value,) = op.results
            sources = [each for each in op.operands if each in self.names]
            dimensions = frozenset[int]().union(
                *(self.dimensions[each] for each in sources)
            )
            is_last = value is self.result and dimensions == all_dimensions
            if is_last and not self._has_reused_input_read_from(
                index + 1, reused_inputs
            ):
                self.names[value] = OUTPUT
            else:
                self.names[value] = f"value {index}"
            self.dimensions[value] = dimensions
            count = prod(self.shape[axis] for axis in dimensions)
            reads = tuple(self.names[each] for each in sources)
            size = count * dtype_of(value.type).itemsize
            yield VectorInstruction(
                count, is_multi_step(op), reads, self.names[value], size
            )
        assert self.result is not None
        if (name := self.names.get(self.result)) != OUTPUT:
            yield VectorInstruction(total, False, () if name is None else (name,))

    def _has_reused_input_read_from(
        self, start: int, reused_inputs: Collection[int]
    ) -> bool:
        """
        Return `True` if any operation from index `start` on reads a replaced input.
        """
        later = [value for op in self.operations[start:] for value in op.operands]
        return any(self.names.get(value) in reused_inputs for value in later)


def body_of_copy(source: SSAValue, shape: Sequence[int]) -> ScalarBody:
    """Return the body of a copy."""
    return ScalarBody(tuple(shape), [source])


def _result_dimensions_of(accesses: Accesses) -> frozenset[int]:
    """Return the dimensions of the result that an operand depends on."""
    return frozenset(iterator for each in accesses for iterator, _ in each.terms)
