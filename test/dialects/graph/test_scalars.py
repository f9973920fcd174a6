"""Scalar bodies of elementwise operations and reductions, against the references."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from numpy.random import Generator
from xdsl.builder import Builder
from xdsl.dialects import arith, math, test
from xdsl.dialects.builtin import TensorType, i1
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.rewriter import InsertPoint

from tlf.dialects import graph
from tlf.dialects.graph.elementwise import BinaryOperation, error_function
from tlf.dialects.graph.tensors import NUMBERS
from tlf.dialects.interfaces import (
    Array,
    ElementwiseInterface,
    ReductionInterface,
)
from tlf.dialects.types import ELEMENT_TYPES, dtype_of, scalar_value

UNORDERED_NOT_EQUAL = 13  # the predicate `une` of arith.cmpf
NOT_EQUAL = 1  # the predicate `ne` of arith.cmpi


def reciprocal_root(array: Array) -> Array:
    return np.reciprocal(np.sqrt(array))


SEMANTICS: dict[type[Operation], Callable[..., Any]] = {
    arith.AddfOp: np.add,
    arith.AddiOp: np.add,
    arith.SubfOp: np.subtract,
    arith.SubiOp: np.subtract,
    arith.MulfOp: np.multiply,
    arith.MuliOp: np.multiply,
    arith.AndIOp: np.bitwise_and,
    arith.OrIOp: np.bitwise_or,
    arith.DivfOp: np.divide,
    arith.MaximumfOp: np.maximum,
    arith.MaxSIOp: np.maximum,
    arith.ExtFOp: np.positive,
    arith.TruncFOp: np.positive,
    arith.SIToFPOp: np.positive,
    arith.UIToFPOp: np.asarray,
    arith.ExtUIOp: np.asarray,
    arith.FPToSIOp: np.trunc,
    math.ExpOp: np.exp,
    math.SqrtOp: np.sqrt,
    math.RsqrtOp: reciprocal_root,
    math.TanhOp: np.tanh,
    math.ErfOp: error_function,
}


def step(op: Operation, operands: Sequence[Array]) -> Array:
    """One operation of `arith` or `math` on arrays, computed in f64."""
    if isinstance(op, arith.ConstantOp):
        return np.asarray(scalar_value(op.value))
    if isinstance(op, arith.CmpfOp):
        assert op.predicate.value.data == UNORDERED_NOT_EQUAL
        return np.not_equal(*operands)
    if isinstance(op, arith.CmpiOp):
        assert op.predicate.value.data == NOT_EQUAL
        return np.not_equal(*operands)
    exact = operands
    if all(array.dtype.kind not in "ib" for array in operands):
        exact = [array.astype(np.float64) for array in operands]
    return SEMANTICS[type(op)](*exact)


def evaluate(
    build: Callable[[Builder, Sequence[SSAValue]], SSAValue],
    types: Sequence[Attribute],
    arrays: Sequence[Array],
) -> Array:
    """Build a scalar body, and run it on each element of the arrays."""
    block = Block(arg_types=types)
    result = build(Builder(InsertPoint.at_end(block)), block.args)
    known: dict[SSAValue, Array] = dict(zip(block.args, arrays, strict=True))
    for op in block.ops:
        op.verify()
        found = step(op, [known[operand] for operand in op.operands])
        known[op.results[0]] = found.astype(dtype_of(op.results[0].type))
    return known[result]


def some(rng: Generator, element: Attribute, count: int = 64) -> Array:
    if element == i1:
        return rng.random(count) < 0.5
    return (rng.standard_normal(count) * 5).astype(dtype_of(element))


def cases() -> list[tuple[type[Operation], Attribute, dict[str, Any]]]:
    """Every elementwise operation with every element type, and its options."""
    options: dict[type[Operation], list[dict[str, Any]]] = {
        graph.CastOp: [{"element": target} for target in ELEMENT_TYPES],
        graph.GeluOp: [{"kind": "erf"}, {"kind": "tanh"}],
    }
    return [
        (kind, element, each)
        for kind in graph.Graph.operations
        if issubclass(kind, ElementwiseInterface)
        for element in getattr(kind, "ELEMENTS")
        for each in options.get(kind, [{}])
    ]


@pytest.mark.parametrize(
    ("kind", "element", "options"),
    cases(),
    ids=lambda each: getattr(each, "name", str(each)),
)
@pytest.mark.filterwarnings("ignore:(invalid|divide|overflow):RuntimeWarning")
def test_scalar(kind: Any, element: Attribute, options: dict[str, Any]):
    rng = np.random.default_rng(3)
    count = 2 if issubclass(kind, BinaryOperation) else 1
    arrays = [some(rng, element) for _ in range(count)]
    type_ = TensorType(element, [64])
    operands = test.TestOp(result_types=[type_] * count).results
    op = kind(*operands, **options)
    (expected,) = op.reference(*arrays)
    found = evaluate(
        lambda builder, elements: op.scalar(builder, *elements),
        [element] * count,
        arrays,
    )
    assert found.dtype == expected.dtype
    tolerance = 1e-6 if found.dtype == np.float32 else 0
    np.testing.assert_allclose(
        found.astype(float), expected.astype(float), rtol=tolerance, atol=1e-6
    )


@pytest.mark.parametrize("kind", ["sum", "max"])
@pytest.mark.parametrize("element", NUMBERS, ids=str)
def test_combine(kind: str, element: Attribute):
    rng = np.random.default_rng(4)
    array = np.stack([some(rng, element) for _ in range(2)])
    operand = test.TestOp(result_types=[TensorType(element, array.shape)]).results[0]
    op = graph.ReduceOp(operand, kind, [0])
    assert isinstance(op, ReductionInterface)
    wide = array.astype(dtype_of(op.accumulator_type))
    combined = evaluate(
        lambda builder, elements: op.combine(builder, *elements),
        [op.accumulator_type] * 2,
        list(wide),
    )
    (expected,) = op.reference(array)
    np.testing.assert_array_equal(combined.astype(expected.dtype), expected)
    start = np.full_like(wide[0], op.neutral())
    same = evaluate(
        lambda builder, elements: op.combine(builder, *elements),
        [op.accumulator_type] * 2,
        [wide[0], start],
    )
    np.testing.assert_array_equal(same, wide[0])
