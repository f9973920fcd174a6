"""The references of graph operations, against torch in f64."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from graph_numerics import (
    FLOATS,
    INTEGERS,
    ROUNDOFF,
    check,
    double,
    floats,
    numbers,
    run,
    some,
    values,
)
from numpy.random import Generator
from xdsl.dialects.builtin import bf16, f16, f32, i1, i8, i32
from xdsl.ir import Attribute
from xdsl.ir.affine import AffineMap

from tlf.dialects import graph
from tlf.dialects.types import ELEMENT_TYPES, dtype_of

WIDE: dict[Attribute, Attribute] = {f16: f32, bf16: f32, i8: i32}
"""Accumulator types of elements, if not their own type."""

BINARY: dict[Any, Callable[..., torch.Tensor]] = {
    graph.AddOp: torch.add,
    graph.SubOp: torch.sub,
    graph.MulOp: torch.mul,
    graph.MaximumOp: torch.maximum,
    graph.MinimumOp: torch.minimum,
    graph.PowOp: torch.pow,
    graph.Atan2Op: torch.atan2,
    graph.CopySignOp: torch.copysign,
}

UNARY: dict[Any, Callable[..., torch.Tensor]] = {
    graph.ExpOp: torch.exp,
    graph.SqrtOp: torch.sqrt,
    graph.RsqrtOp: torch.rsqrt,
    graph.TanhOp: torch.tanh,
    graph.ErfOp: torch.erf,
    graph.ReluOp: torch.relu,
    graph.GeluOp: torch.nn.functional.gelu,
    graph.NegOp: torch.neg,
    graph.AbsOp: torch.abs,
    graph.LogOp: torch.log,
    graph.SinOp: torch.sin,
    graph.CosOp: torch.cos,
    graph.SigmoidOp: torch.sigmoid,
    graph.SiluOp: torch.nn.functional.silu,
    graph.Exp2Op: torch.exp2,
    graph.Expm1Op: torch.expm1,
    graph.Log1pOp: torch.log1p,
    graph.Log2Op: torch.log2,
    graph.Log10Op: torch.log10,
    graph.FloorOp: torch.floor,
    graph.CeilOp: torch.ceil,
    graph.TruncOp: torch.trunc,
    graph.RoundOp: torch.round,
    graph.TanOp: torch.tan,
    graph.AsinOp: torch.asin,
    graph.AcosOp: torch.acos,
    graph.AtanOp: torch.atan,
    graph.SinhOp: torch.sinh,
    graph.CoshOp: torch.cosh,
    graph.AsinhOp: torch.asinh,
    graph.AcoshOp: torch.acosh,
    graph.AtanhOp: torch.atanh,
}


@pytest.mark.parametrize(
    ("kind", "element"),
    [(kind, element) for kind in BINARY for element in kind.ACCEPTED_ELEMENT_TYPES],
    ids=str,
)
def test_binary(kind: Any, element: Attribute, rng: Generator):
    lhs, rhs = some(rng, (5, 1, 7), element), some(rng, (3, 7), element)
    found = run(kind, lhs, rhs, of=element)
    assert found.shape == (5, 3, 7)
    error = 1e-6 if kind in (graph.PowOp, graph.Atan2Op) else 0
    check(found, BINARY[kind](double(lhs), double(rhs)), element, error)


@pytest.mark.parametrize(
    ("kind", "element"),
    [(kind, element) for kind in UNARY for element in kind.ACCEPTED_ELEMENT_TYPES],
    ids=str,
)
def test_unary(kind: Any, element: Attribute, rng: Generator):
    array = some(rng, (5, 7), element)
    expected = UNARY[kind](double(array))
    check(run(kind, array, of=element), expected, element, error=4e-7)


@numbers
def test_division(element: Attribute, rng: Generator):
    lhs, rhs = some(rng, (5, 1, 7), element), some(rng, (3, 7), element)
    if element in FLOATS:
        expected = torch.div(double(lhs), double(rhs))
        check(run(graph.DivOp, lhs, rhs, of=element), expected, element)
        rest = torch.fmod(double(lhs), double(rhs))
        check(run(graph.RemOp, lhs, rhs, of=element), rest, element)
        return
    rhs[rhs == 0] = 4
    lhs[0, 0, 0], rhs[0, 0] = np.iinfo(lhs.dtype.name).min, 3
    a, b = torch.tensor(lhs), torch.tensor(rhs)
    quotient = torch.div(a, b, rounding_mode="trunc")
    check(run(graph.DivOp, lhs, rhs, of=element), quotient, element)
    check(run(graph.RemOp, lhs, rhs, of=element), torch.fmod(a, b), element)
    for kind in (graph.DivOp, graph.RemOp):
        run(kind, lhs, np.zeros_like(rhs), of=element)


@floats
def test_gelu_tanh(element: Attribute, rng: Generator):
    array = some(rng, (50,), element)
    found = run(graph.GeluOp, array, of=element, kind="tanh")
    expected = torch.nn.functional.gelu(double(array), approximate="tanh")
    check(found, expected, element, error=2e-7)


@floats
def test_nan_propagates(element: Attribute):
    dtype = dtype_of(element)
    nan, one = np.array([np.nan, 1, -1], dtype), np.array([1, np.nan, -1], dtype)
    for lhs, rhs in ((nan, one), (one, nan)):
        found = run(graph.MaximumOp, lhs, rhs, of=element)
        assert np.isnan(found.astype(float)).tolist() == [True, True, False]
        found = run(graph.MinimumOp, lhs, rhs, of=element)
        assert np.isnan(found.astype(float)).tolist() == [True, True, False]
    assert np.isnan(run(graph.ReluOp, nan, of=element).astype(float)[0])
    for kind in ("max", "min", "prod", "sum"):
        found = run(graph.ReduceOp, nan, of=element, kind=kind, axes=[0])
        assert np.isnan(found.astype(float))


@pytest.mark.parametrize("relation", ["eq", "ne", "lt", "le", "gt", "ge"])
@numbers
def test_compare(element: Attribute, relation: str, rng: Generator):
    lhs, rhs = some(rng, (5, 1, 7), element), some(rng, (3, 7), element)
    rhs[1] = lhs[3, 0]
    if element in FLOATS:
        lhs[0, 0, 0] = rhs[2, 5] = np.nan
    a, b = values(lhs, rhs, elements=[element] * 2)
    op = graph.CompareOp(a, b, relation)
    op.verify()
    (found,) = op.compute_reference(lhs, rhs)
    check(found, getattr(torch, relation)(double(lhs), double(rhs)), i1)


@pytest.mark.parametrize("element", ELEMENT_TYPES, ids=str)
def test_select(element: Attribute, rng: Generator):
    arrays = some(rng, (4, 1), i1), some(rng, (7,), element), some(rng, (4, 7), element)
    condition, a, b = values(*arrays, elements=[i1, element, element])
    op = graph.SelectOp(condition, a, b)
    op.verify()
    (found,) = op.compute_reference(*arrays)
    chosen = torch.tensor(arrays[0])
    expected = torch.where(chosen, double(arrays[1]), double(arrays[2]))
    check(found, expected, element)


@pytest.mark.parametrize("element", [*INTEGERS, i1], ids=str)
def test_logic(element: Attribute, rng: Generator):
    lhs, rhs = some(rng, (5, 1, 7), element), some(rng, (3, 7), element)
    a, b = torch.tensor(lhs), torch.tensor(rhs)
    check(run(graph.AndOp, lhs, rhs, of=element), a & b, element)
    check(run(graph.OrOp, lhs, rhs, of=element), a | b, element)
    check(run(graph.NotOp, lhs, of=element), ~a, element)
    if element != i1:
        check(run(graph.WithinOp, lhs, of=element, low=-1, high=2), a, element)


@floats
@pytest.mark.parametrize("kind", [graph.SigmoidOp, graph.SiluOp])
def test_logistic_functions_far_out(kind: Any, element: Attribute):
    array = np.array([-3e4, -90, -17, 17, 90, 3e4, np.inf, np.nan])
    array = array.astype(dtype_of(element))
    found = run(kind, array, of=element).astype(np.float64)
    expected = UNARY[kind](double(array))
    tiny = 1e-36 if element != f16 else 2.0**-25
    np.testing.assert_allclose(found, expected, ROUNDOFF[element] * 5, tiny)
    least = np.negative(array[-2:-1])
    assert run(graph.SigmoidOp, least, of=element) == 0


@pytest.mark.parametrize("target", ELEMENT_TYPES, ids=str)
@pytest.mark.parametrize("source", ELEMENT_TYPES, ids=str)
def test_cast(source: Attribute, target: Attribute, rng: Generator):
    array = np.ravel(some(rng, (64,), source))
    if source != i1:
        array = np.multiply(array, array.dtype.type(3))
        array[:2] = 0
    found = run(graph.CastOp, array, of=source, element=target)
    wide = double(array)
    if target in INTEGERS:
        wide = torch.trunc(wide)
    check(found, wide != 0 if target == i1 else wide, target)


@numbers
@pytest.mark.parametrize("with_init", [False, True])
@pytest.mark.parametrize("wide", [False, True])
def test_matmul(element: Attribute, with_init: bool, wide: bool, rng: Generator):
    result = WIDE.get(element, element) if wide else element
    lhs, rhs = some(rng, (2, 1, 5, 67), element), some(rng, (3, 67, 4), element)
    init = some(rng, (2, 3, 5, 4), result)
    arrays = [lhs, rhs, init] if with_init else [lhs, rhs]
    types = [element, element, result][: len(arrays)]
    a, b, *c = values(*arrays, elements=types)
    op = graph.MatmulOp(a, b, init=c[0] if c else None, element=result)
    op.verify()
    expected = double(lhs) @ double(rhs) + (double(init) if with_init else 0)
    check(op.compute_reference(*arrays)[0], expected, result, error=1e-6)


@numbers
def test_contract(element: Attribute, rng: Generator):
    maps = [
        AffineMap.from_callable(lambda b, m, n, k, j: (j, m, b, k)),
        AffineMap.from_callable(lambda b, m, n, k, j: (n, k, b)),
        AffineMap.from_callable(lambda b, m, n, k, j: (n, b, m)),
    ]
    lhs, rhs = some(rng, (2, 3, 4, 5), element), some(rng, (7, 5, 4), element)
    found = run(graph.ContractOp, lhs, rhs, of=element, maps=maps)
    expected = torch.einsum("jmbk,nkb->nbm", double(lhs), double(rhs))
    check(found, expected, element, error=1e-6)


def test_accumulator_is_wide(rng: Generator):
    lhs, rhs = some(rng, (8, 4096), bf16), some(rng, (4096, 8), bf16)
    exact = double(lhs) @ double(rhs)
    scale = exact.abs().max()

    found = run(graph.MatmulOp, lhs, rhs, of=bf16, element=f32)
    assert (double(found) - exact).abs().max() < 1e-6 * scale
    narrow = run(graph.MatmulOp, lhs, rhs, of=bf16, acc=bf16)
    assert (double(narrow) - exact).abs().max() > 1e-4 * scale


@numbers
@pytest.mark.parametrize("keepdims", [False, True])
@pytest.mark.parametrize("axes", [[1], [0, 2], [2, 1, 0]])
def test_reduce(element: Attribute, axes: list[int], keepdims: bool, rng: Generator):
    array = some(rng, (5, 7, 6), element)
    options = {"axes": axes, "keepdims": keepdims}
    total = run(graph.ReduceOp, array, of=element, kind="sum", **options)
    check(total, double(array).sum(axes, keepdims), element, error=1e-6)
    wide = WIDE.get(element, element)
    total = run(graph.ReduceOp, array, of=element, kind="sum", element=wide, **options)
    check(total, double(array).sum(axes, keepdims), wide, error=1e-6)
    greatest = run(graph.ReduceOp, array, of=element, kind="max", **options)
    check(greatest, double(array).amax(axes, keepdims), element)
    least = run(graph.ReduceOp, array, of=element, kind="min", **options)
    check(least, double(array).amin(axes, keepdims), element)
    if element in FLOATS:
        mean = run(graph.MeanOp, array, of=element, **options)
        check(mean, double(array).mean(axes, keepdims), element, error=1e-6)


@numbers
@pytest.mark.parametrize("axes", [[1], [1, 2]])
def test_product(element: Attribute, axes: list[int], rng: Generator):
    array = np.clip(some(rng, (5, 3, 2), element), -3, 3).astype(dtype_of(element))
    expected = double(array)
    for axis in sorted(axes, reverse=True):
        expected = expected.prod(axis)
    found = run(graph.ReduceOp, array, of=element, kind="prod", axes=axes)
    check(found, expected, element, error=1e-6)
    init = np.full(expected.shape, 3).astype(dtype_of(element))
    x, start = values(array, init, elements=[element, element])
    op = graph.ReduceOp(x, "prod", axes, init=start)
    op.verify()
    check(op.compute_reference(array, init)[0], expected * 3, element, error=1e-6)


@floats
def test_reduce_from_init(element: Attribute, rng: Generator):
    array, init = some(rng, (5, 70), element), some(rng, (5,), element)
    for kind, expected in (
        ("sum", double(array).sum(1) + double(init)),
        ("max", torch.maximum(double(array).amax(1), double(init))),
        ("min", torch.minimum(double(array).amin(1), double(init))),
    ):
        x, start = values(array, init, elements=[element, element])
        op = graph.ReduceOp(x, kind, [1], init=start)
        op.verify()
        check(op.compute_reference(array, init)[0], expected, element, error=1e-6)


@floats
@pytest.mark.parametrize("axis", [0, 2])
def test_softmax(element: Attribute, axis: int, rng: Generator):
    array = np.multiply(some(rng, (5, 7, 6), element), 9).astype(dtype_of(element))
    found = run(graph.SoftmaxOp, array, of=element, axis=axis)
    check(found, torch.softmax(double(array), axis), element, error=1e-6)


@floats
@pytest.mark.parametrize("last", [1, 2])
@pytest.mark.parametrize("affine", [False, True])
def test_layer_norm(element: Attribute, last: int, affine: bool, rng: Generator):
    array = np.add(some(rng, (5, 7, 6), element), 3).astype(dtype_of(element))
    shape = array.shape[-last:]
    parameters = [some(rng, shape, element) for _ in range(2)] if affine else []
    found = run(graph.LayerNormOp, array, *parameters, of=element, last=last)
    expected = torch.nn.functional.layer_norm(
        double(array), shape, *map(double, parameters), eps=1e-5
    )
    check(found, expected, element, error=2e-6)


@floats
@pytest.mark.parametrize("last", [1, 2])
@pytest.mark.parametrize("affine", [False, True])
def test_rms_norm(element: Attribute, last: int, affine: bool, rng: Generator):
    array = some(rng, (5, 7, 6), element)
    shape = array.shape[-last:]
    weight = [some(rng, shape, element)] if affine else []
    found = run(graph.RmsNormOp, array, *weight, of=element, last=last, epsilon=1e-3)
    expected = torch.nn.functional.rms_norm(
        double(array), shape, *map(double, weight), eps=1e-3
    )
    check(found, expected, element, error=1e-6)


@floats
@pytest.mark.parametrize("affine", [False, True])
@pytest.mark.parametrize("shape", [(5, 7), (2, 7, 3, 4)])
def test_batch_norm(
    element: Attribute, affine: bool, shape: tuple[int, ...], rng: Generator
):
    array, mean = some(rng, shape, element), some(rng, (7,), element)
    variance = np.abs(some(rng, (7,), element))
    parameters = [some(rng, (7,), element) for _ in range(2)] if affine else []
    found = run(
        graph.BatchNormOp,
        array,
        mean,
        variance,
        *parameters,
        of=element,
        epsilon=1e-3,
    )
    statistics, affines = map(double, (mean, variance)), map(double, parameters)
    expected = torch.nn.functional.batch_norm(
        double(array), *statistics, *affines, training=False, momentum=0, eps=1e-3
    )
    check(found, expected, element, error=1e-6)


def test_parameters_may_be_wider(rng: Generator):
    array, weight = some(rng, (5, 6), bf16), some(rng, (6,), f32)
    x, w = values(array, weight, elements=[bf16, f32])
    op = graph.LayerNormOp(x, w)
    op.verify()
    expected = torch.nn.functional.layer_norm(double(array), (6,), double(weight))
    check(op.compute_reference(array, weight)[0], expected, bf16, error=1e-6)


@pytest.mark.parametrize("element", ELEMENT_TYPES, ids=str)
def test_movement(element: Attribute, rng: Generator):
    array = some(rng, (4, 1, 6), element)
    wide = double(array)
    found = run(graph.ReshapeOp, array, of=element, shape=(8, 3))
    check(found, wide.reshape(8, 3), element)
    found = run(graph.TransposeOp, array, of=element, permutation=[2, 0, 1])
    check(found, wide.permute(2, 0, 1), element)
    found = run(graph.BroadcastOp, array, of=element, shape=(3, 4, 5, 6))
    check(found, wide.expand(3, 4, 5, 6), element)
    found = run(graph.DropoutOp, array, of=element, ratio=0.3)
    check(found, wide, element)
