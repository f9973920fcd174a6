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

from tlf.dialects import graph, mem
from tlf.dialects.graph.division import divide_truncating_arrays
from tlf.dialects.graph.elementwise import BinaryOperation
from tlf.dialects.graph.tensor_types import NUMBERS
from tlf.dialects.graph.unary_functions import error_function
from tlf.dialects.interfaces import (
    Array,
    ElementwiseInterface,
    ReductionInterface,
)
from tlf.dialects.types import ELEMENT_TYPES, dtype_of, scalar_value

COMPARISONS: dict[str, Callable[..., Any]] = {
    "eq": np.equal,
    "ne": np.not_equal,
    "lt": np.less,
    "le": np.less_equal,
    "gt": np.greater,
    "ge": np.greater_equal,
}
"""Comparisons of numpy: with NaN they are false, except `ne`."""

FLOAT_PREDICATES = ("oeq", "une", "olt", "ole", "ogt", "oge")
INTEGER_PREDICATES = ("eq", "ne", "slt", "sle", "sgt", "sge")


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
    arith.DivSIOp: divide_truncating_arrays,
    arith.RemSIOp: np.fmod,
    mem.RemFOp: np.fmod,
    arith.MaximumfOp: np.maximum,
    arith.MaxSIOp: np.maximum,
    arith.MinimumfOp: np.minimum,
    arith.MinSIOp: np.minimum,
    arith.NegfOp: np.negative,
    arith.SelectOp: np.where,
    arith.XOrIOp: np.bitwise_xor,
    arith.ExtFOp: np.positive,
    arith.TruncFOp: np.positive,
    arith.SIToFPOp: np.positive,
    arith.UIToFPOp: np.asarray,
    arith.ExtUIOp: np.asarray,
    arith.ExtSIOp: np.asarray,
    arith.TruncIOp: np.asarray,
    arith.FPToSIOp: np.trunc,
    math.ExpOp: np.exp,
    math.SqrtOp: np.sqrt,
    math.RsqrtOp: reciprocal_root,
    math.TanhOp: np.tanh,
    math.ErfOp: error_function,
    math.AbsFOp: np.abs,
    math.AbsIOp: np.abs,
    math.CosOp: np.cos,
    math.LogOp: np.log,
    math.PowFOp: np.power,
    math.SinOp: np.sin,
    math.Exp2Op: np.exp2,
    math.ExpM1Op: np.expm1,
    math.Log1pOp: np.log1p,
    math.Log2Op: np.log2,
    math.Log10Op: np.log10,
    math.FloorOp: np.floor,
    math.CeilOp: np.ceil,
    math.TruncOp: np.trunc,
    math.RoundEvenOp: np.rint,
    math.TanOp: np.tan,
    math.AsinOp: np.arcsin,
    math.AcosOp: np.arccos,
    math.AtanOp: np.arctan,
    math.Atan2Op: np.arctan2,
    math.CopySignOp: np.copysign,
    math.SinhOp: np.sinh,
    math.CoshOp: np.cosh,
    math.AsinhOp: np.arcsinh,
    math.AcoshOp: np.arccosh,
    math.AtanhOp: np.arctanh,
}


def step(op: Operation, operands: Sequence[Array]) -> Array:
    """One operation of `arith` or `math` on arrays, computed in f64."""
    if isinstance(op, arith.ConstantOp):
        return np.asarray(scalar_value(op.value))
    if isinstance(op, arith.CmpfOp):
        name = arith.CMPF_COMPARISON_OPERATIONS[op.predicate.value.data]
        assert name in FLOAT_PREDICATES
        return COMPARISONS[name[1:]](*operands)
    if isinstance(op, arith.CmpiOp):
        name = arith.CMPI_COMPARISON_OPERATIONS[op.predicate.value.data]
        assert name in INTEGER_PREDICATES
        return COMPARISONS[name[-2:]](*operands)
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
        graph.CompareOp: [{"relation": each} for each in graph.Relation],
        graph.CastOp: [{"element": target} for target in ELEMENT_TYPES],
        graph.GeluOp: [{"kind": "erf"}, {"kind": "tanh"}],
        graph.WithinOp: [{"low": -1, "high": 1}],
    }
    return [
        (kind, element, each)
        for kind in graph.Graph.operations
        if issubclass(kind, ElementwiseInterface)
        for element in getattr(kind, "ACCEPTED_ELEMENT_TYPES")
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
    elements = [element] * (2 if issubclass(kind, BinaryOperation) else 1)
    if kind is graph.SelectOp:
        elements = [i1, element, element]
    arrays = [some(rng, each) for each in elements]
    arrays[-1][:8] = arrays[-2][:8] if len(arrays) > 1 else arrays[-1][:8]
    types = [TensorType(each, [64]) for each in elements]
    operands = test.TestOp(result_types=types).results
    op = kind(*operands, **options)
    (expected,) = op.compute_reference(*arrays)
    found = evaluate(
        lambda builder, scalars: op.build_scalar_computation(builder, *scalars),
        elements,
        arrays,
    )
    assert found.dtype == expected.dtype
    tolerance = 1e-6 if found.dtype == np.float32 else 0
    np.testing.assert_allclose(
        found.astype(float), expected.astype(float), rtol=tolerance, atol=1e-6
    )


@pytest.mark.parametrize("kind", ["sum", "max", "min", "prod"])
@pytest.mark.parametrize("element", NUMBERS, ids=str)
def test_combine(kind: str, element: Attribute):
    rng = np.random.default_rng(4)
    array = np.stack([some(rng, element) for _ in range(2)])
    operand = test.TestOp(result_types=[TensorType(element, array.shape)]).results[0]
    op = graph.ReduceOp(operand, kind, [0])
    assert isinstance(op, ReductionInterface)
    wide = array.astype(dtype_of(op.accumulator_type))
    combined = evaluate(
        lambda builder, elements: op.build_combination_of_scalars(builder, *elements),
        [op.accumulator_type] * 2,
        list(wide),
    )
    (expected,) = op.compute_reference(array)
    np.testing.assert_array_equal(combined.astype(expected.dtype), expected)
    start = np.full_like(wide[0], op.neutral_element())
    same = evaluate(
        lambda builder, elements: op.build_combination_of_scalars(builder, *elements),
        [op.accumulator_type] * 2,
        [wide[0], start],
    )
    np.testing.assert_array_equal(same, wide[0])
