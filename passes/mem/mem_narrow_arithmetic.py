"""
Pass `mem-narrow-arithmetic`: computes on 16-bit floats what is rounded to them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
from xdsl.builder import Builder
from xdsl.context import Context
from xdsl.dialects import arith, math
from xdsl.dialects.builtin import BFloat16Type, FloatAttr, ModuleOp
from xdsl.ir import Attribute, Block, BlockArgument, Region, SSAValue
from xdsl.ir.affine import AffineMap
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter

from tlf.dialects import mem
from tlf.dialects.function_calls import defined_functions_of
from tlf.dialects.types import dtype_of, is_16_bit_float, scalar_attribute
from tlf.support.factor_splitting import split_factor

_Arithmetic = arith.AddfOp | arith.SubfOp | arith.MulfOp


@dataclass(frozen=True)
class MemNarrowArithmeticPass(ModulePass):
    """
    Let sums, differences and products in f32 of two 16-bit floats, which are rounded to
    the same type, be computed in this type: the results are the same, and nothing is
    widened or rounded by instructions of its own. A product of bf16 and an f32 constant
    becomes a product and a multiply-add with two constants of bf16, if all products are
    the same.

    Applies to maps on tensors.
    """

    name = "mem-narrow-arithmetic"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in defined_functions_of(op):
            maps = [each for each in function.walk() if isinstance(each, mem.MapOp)]
            for each in maps:
                if each.parent is not None and len(each.results) == 1:
                    _narrow_rounding(each)


@dataclass(frozen=True)
class _Scalar:
    """A value in the body of a map, and the map from a domain to that of its map."""

    op: mem.MapOp
    value: SSAValue
    indexing: AffineMap

    def trace(self) -> Self:
        """Return the value in the body of the map that computes this one."""
        if not isinstance(self.value, BlockArgument):
            return self
        source = self.argument_source
        if not isinstance(producer := source.owner, mem.MapOp):
            return self
        value = _yielded_values(producer)[producer.results.index(source)]
        return type(self)(producer, value, self.argument_indexing).trace()

    def operand(self, value: SSAValue) -> Self:
        """Return another value of the same body."""
        return type(self)(self.op, value, self.indexing)

    @property
    def argument_source(self) -> SSAValue:
        """Tensor of a block argument."""
        assert isinstance(self.value, BlockArgument)
        return self.op.inputs[self.value.index]

    @property
    def argument_indexing(self) -> AffineMap:
        """Map from the domain to the elements of the tensor of a block argument."""
        assert isinstance(self.value, BlockArgument)
        return self.op.input_maps[self.value.index].compose(self.indexing)


_Operand = _Scalar | float


def _narrow_rounding(rounding: mem.MapOp) -> None:
    """Replace a map that rounds f32 arithmetic to 16 bits, if it can be in 16 bits."""
    (rounded,) = _yielded_values(rounding)
    cast = rounded.owner
    if not isinstance(cast, arith.TruncFOp) or not is_16_bit_float(rounded.type):
        return
    identity = AffineMap.identity(len(rounding.domain_extents))
    result = _Scalar(rounding, cast.input, identity).trace()
    compute = result.value.owner
    if not isinstance(compute, _Arithmetic) or result.op.parent is not rounding.parent:
        return
    operands = [
        _find_narrow_operand(result.operand(value).trace(), rounded.type)
        for value in compute.operands
    ]
    body = _write_narrow_body(compute, operands, rounded.type)
    if body is None:
        return
    scalars = [each for each in operands if isinstance(each, _Scalar)]
    narrowed = mem.MapOp(
        [each.argument_source for each in scalars],
        [],
        rounding.domain_extents,
        [*(each.argument_indexing for each in scalars), identity],
        Region(body),
        [rounding.results[0].type],
    )
    sources = tuple(rounding.inputs)
    Rewriter.replace_op(rounding, narrowed)
    _erase_unused_maps(sources)


def _yielded_values(op: mem.MapOp) -> tuple[SSAValue, ...]:
    terminator = op.body.block.last_op
    assert isinstance(terminator, mem.YieldOp)
    return tuple(terminator.operands)


def _find_narrow_operand(scalar: _Scalar, element: Attribute) -> _Operand | None:
    """
    Return the element of a tensor of 16-bit floats that an f32 scalar is, or a number;
    `None` for others.
    """
    match scalar.value.owner:
        case arith.ConstantOp(value=FloatAttr() as number):
            return number.value.data
        case arith.ExtFOp(input=BlockArgument() as narrow) if narrow.type == element:
            return scalar.operand(narrow)
        case _:
            return None


def _write_narrow_body(
    compute: _Arithmetic, operands: Sequence[_Operand | None], element: Attribute
) -> Block | None:
    """
    Return the body of a map that computes on 16-bit floats, or `None` if there is none.
    """
    scalars = [each for each in operands if isinstance(each, _Scalar)]
    numbers = [each for each in operands if isinstance(each, float | int)]
    if not scalars or len(scalars) + len(numbers) < len(operands):
        return None
    block = Block(arg_types=[element] * len(scalars))
    builder, arguments = Builder(InsertPoint.at_end(block)), iter(block.args)
    if all(_is_number_of(number, element) for number in numbers):
        left, right = (
            _insert_constant(builder, each, element)
            if isinstance(each, float | int)
            else next(arguments)
            for each in operands
        )
        narrow = type(compute)(left, right, compute.fastmath)
        builder.insert(mem.YieldOp([builder.insert(narrow).result]))
        return block
    if not isinstance(compute, arith.MulfOp) or not isinstance(element, BFloat16Type):
        return None
    if (split := split_factor(*numbers)) is None:
        return None
    high, low = (_insert_constant(builder, each, element) for each in split)
    addend = builder.insert(arith.MulfOp(block.args[0], low)).result
    narrow = math.FmaOp(block.args[0], high, addend)
    builder.insert(mem.YieldOp([builder.insert(narrow).result]))
    return block


def _is_number_of(number: float, element: Attribute) -> bool:
    """Return `True` if a number is one of an element type."""
    with np.errstate(over="ignore"):
        return float(np.array(number).astype(dtype_of(element))) == number


def _insert_constant(builder: Builder, number: float, element: Attribute) -> SSAValue:
    return builder.insert(arith.ConstantOp(scalar_attribute(number, element))).result


def _erase_unused_maps(values: Sequence[SSAValue]) -> None:
    """Erase the maps of values without uses, and those that only they used."""
    for value in values:
        producer = value.owner
        if not isinstance(producer, mem.MapOp) or producer.parent is None:
            continue
        if all(result.first_use is None for result in producer.results):
            sources = tuple(producer.inputs)
            Rewriter.erase_op(producer)
            _erase_unused_maps(sources)
