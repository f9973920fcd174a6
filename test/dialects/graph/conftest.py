"""Random instances of every operation of the graph dialect."""

from collections.abc import Sequence
from dataclasses import astuple, replace

import numpy as np
import pytest
from choosing_instances import CHOOSING
from graph_instances import (
    Factory,
    binary,
    coin,
    some_axes,
    some_shape,
    thinned,
    unary,
    value,
)
from linear_instances import linear_contract
from numpy.random import Generator
from xdsl.dialects.builtin import TensorType, bf16, f16, f32, i1, i32
from xdsl.ir import Operation
from xdsl.ir.affine import AffineExpr, AffineMap

from tlf.dialects import graph
from tlf.dialects.graph.image_windows import Window
from tlf.dialects.types import tensor_type

ROUNDS = 16
"""Number of random instances of each operation that are tried."""


def compare(rng: Generator) -> Operation:
    relation = list(graph.Relation)[rng.integers(6)]
    return binary(lambda a, b: graph.CompareOp(a, b, relation))(rng)


def select(rng: Generator) -> Operation:
    shape = some_shape(rng)
    shapes = [shape, *(thinned(rng, shape) for _ in range(2))]
    rng.shuffle(shapes)
    condition, lhs, rhs = shapes
    return graph.SelectOp(value(condition, i1), value(lhs), value(rhs))


def cast_op(rng: Generator) -> Operation:
    source, target = [(f32, bf16), (f32, i32), (i32, f32), (f32, f16)][rng.integers(4)]
    return graph.CastOp(value(some_shape(rng), source), target)


def within(rng: Generator) -> Operation:
    low = int(rng.integers(-9, 9))
    return graph.WithinOp(value(some_shape(rng), i32), low, low + 3)


def matmul(rng: Generator) -> Operation:
    rows, inner, columns = (int(n) for n in rng.integers(1, 8, 3))
    batch = some_shape(rng, 0, 2)
    lhs = value([*thinned(rng, batch), rows, inner])
    rhs = value([*batch, inner, columns])
    init = value([*batch, rows, columns]) if coin(rng) else None
    return graph.MatmulOp(lhs, rhs, init)


def contract(rng: Generator) -> Operation:
    extents = some_shape(rng, 1, 4)
    used: list[list[int]] = [[], [], []]
    for axis in range(len(extents)):
        sides = [[0], [1], [0, 1]][rng.integers(3)]
        for side in (*sides, 2) if coin(rng) else sides:
            used[side].append(axis)
    for axes in used:
        rng.shuffle(axes)
    maps = [
        AffineMap(len(extents), 0, tuple(AffineExpr.dimension(axis) for axis in axes))
        for axes in used
    ]
    lhs, rhs, init = (value([extents[axis] for axis in axes]) for axes in used)
    return graph.ContractOp(lhs, rhs, maps, init if coin(rng) else None)


def some_window(rng: Generator, rank: int) -> tuple[list[int], Window]:
    """Extents of images along some axes, and a window that moves over them."""
    taps, strides, dilation = (
        [int(n) for n in rng.integers(1, most, rank)] for most in (4, 4, 3)
    )
    padding = [int(n) for n in rng.integers(0, 3, 2 * rank)]
    spans = [by * (tap - 1) + 1 for by, tap in zip(dilation, taps, strict=True)]
    extents = [span + int(rng.integers(0, 6)) for span in spans]
    return extents, Window(*map(tuple, (taps, strides, padding, dilation)))


def conv2d(rng: Generator) -> Operation:
    op = convolution(graph.Conv2dOp, 2)(rng)
    if coin(rng):
        return op
    init = value(tensor_type(op.results[0]).get_shape())
    op.operands = [*op.operands, init]
    return op


def convolution(kind: type[graph.Conv2dOp | graph.Conv3dOp], rank: int) -> Factory:
    def build(rng: Generator) -> Operation:
        groups = int(rng.choice([1, 1, 2, 3]))
        images, per_group, filters = (int(n) for n in rng.integers(1, 4, 3))
        extents, window = some_window(rng, rank)
        return kind(
            value([images, per_group * groups, *extents]),
            value([filters * groups, per_group, *window.taps]),
            strides=window.strides,
            padding=window.padding,
            dilation=window.dilation,
            groups=groups,
        )

    return build


def reduce(rng: Generator) -> Operation:
    shape = some_shape(rng, 1)
    kind = list(graph.ReduceKind)[rng.integers(4)]
    if kind is graph.ReduceKind.PROD:
        shape = shape[:2]  # so that products are not too small
    op = graph.ReduceOp(value(shape), kind, some_axes(rng, len(shape)), coin(rng))
    if coin(rng):
        op.operands = [*op.operands, value(tensor_type(op.result).get_shape())]
    return op


def mean(rng: Generator) -> Operation:
    shape = some_shape(rng, 1)
    return graph.MeanOp(value(shape), some_axes(rng, len(shape)), coin(rng))


def softmax(rng: Generator) -> Operation:
    shape = some_shape(rng, 1)
    axis = int(rng.integers(len(shape)))
    shape[axis] += 1  # an axis of one element is 1 whatever it was
    return graph.SoftmaxOp(value(shape), axis)


def layer_norm(rng: Generator) -> Operation:
    shape = [n + 2 for n in some_shape(rng, 1)]
    last = int(rng.integers(1, len(shape) + 1))
    weight, bias = (value(shape[-last:]) if coin(rng) else None for _ in range(2))
    return graph.LayerNormOp(value(shape), weight, bias, last)


def rms_norm(rng: Generator) -> Operation:
    shape = [n + 2 for n in some_shape(rng, 1)]
    last = int(rng.integers(1, len(shape) + 1))
    weight = value(shape[-last:]) if coin(rng) else None
    return graph.RmsNormOp(value(shape), weight, last)


def batch_norm(rng: Generator) -> Operation:
    shape = some_shape(rng, 2)
    mean, variance, weight, bias = (value([shape[1]]) for _ in range(4))
    return graph.BatchNormOp(
        value(shape),
        mean,
        variance,
        weight if coin(rng) else None,
        bias if coin(rng) else None,
    )


def reshape(rng: Generator) -> Operation:
    shape = some_shape(rng, 0, 5)
    target: list[int] = []
    for extent in shape:
        if target and coin(rng):
            target[-1] *= extent
        else:
            target.append(extent)
    target = [
        part
        for extent in target
        for part in ((extent // 2, 2) if extent % 2 == 0 and coin(rng) else (extent,))
    ]
    shapes = [shape, target]
    rng.shuffle(shapes)
    return graph.ReshapeOp(value(shapes[0]), shapes[1])


def transpose(rng: Generator) -> Operation:
    shape = some_shape(rng)
    return graph.TransposeOp(
        value(shape), [int(axis) for axis in rng.permutation(len(shape))]
    )


def broadcast(rng: Generator) -> Operation:
    shape = some_shape(rng)
    return graph.BroadcastOp(value(thinned(rng, shape)), shape)


def concat(rng: Generator) -> Operation:
    shape = some_shape(rng, 1)
    axis = int(rng.integers(len(shape)))
    shapes = [
        [*shape[:axis], int(rng.integers(1, 8)), *shape[axis + 1 :]]
        for _ in range(rng.integers(2, 5))
    ]
    return graph.ConcatOp([value(each) for each in shapes], axis)


def iota(rng: Generator) -> Operation:
    shape = some_shape(rng, 1)
    element = [f32, i32, bf16][rng.integers(3)]
    return graph.IotaOp(TensorType(element, shape), int(rng.integers(len(shape))))


def pad(rng: Generator) -> Operation:
    shape = some_shape(rng)
    most = 4 if coin(rng) else 1
    low, high = ([int(n) for n in rng.integers(0, most, len(shape))] for _ in range(2))
    return graph.PadOp(value(shape), low, high, float(rng.integers(0, 3)))


def slice_op(rng: Generator) -> Operation:
    sizes = some_shape(rng)
    offsets, steps, rest = (
        [int(n) for n in rng.integers(least, 4, len(sizes))] for least in (0, 1, 0)
    )
    shape = [
        offset + step * (size - 1) + 1 + more
        for offset, step, size, more in zip(offsets, steps, sizes, rest, strict=True)
    ]
    return graph.SliceOp(value(shape), offsets, sizes, steps)


def gathering_map(rng: Generator, source: Sequence[int], dimensions: int) -> AffineMap:
    """A linear map from some dimensions to places in a tensor, and next to it."""
    results: list[AffineExpr] = []
    for _ in source:
        place = AffineExpr.constant(int(rng.integers(-3, 3)))
        for axis in range(dimensions):
            if rng.random() < 0.4:
                place = place + AffineExpr.dimension(axis) * int(rng.integers(1, 4))
        results.append(place)
    return AffineMap(dimensions, 0, tuple(results))


def unfold(rng: Generator) -> Operation:
    source, result = some_shape(rng, 0, 3), some_shape(rng, 0, 4)
    map_ = gathering_map(rng, source, len(result))
    return graph.UnfoldOp(value(source), map_, result, float(rng.integers(0, 3)))


def im2col(rng: Generator) -> Operation:
    source = some_shape(rng, 0, 3)
    basis = tuple(tuple(some_shape(rng, 1, 3)) for _ in range(rng.integers(0, 4)))
    map_ = gathering_map(rng, source, sum(map(len, basis)))
    return graph.Im2colOp(value(source), map_, basis, float(rng.integers(0, 3)))


def windowed(rng: Generator, rank: int) -> tuple[list[int], Window]:
    """A shape of images, and a window that moves over them."""
    extents, window = some_window(rng, rank)
    return [*(int(n) for n in rng.integers(1, 4, 2)), *extents], window


def pool(kind: type[graph.MaxPool2dOp | graph.SumPool2dOp]) -> Factory:
    def build(rng: Generator) -> Operation:
        shape, window = windowed(rng, 2)
        op = kind(value(shape), *astuple(window))
        if coin(rng):
            op.operands = [*op.operands, value(tensor_type(op.result).get_shape())]
        return op

    return build


def max_pool3d(rng: Generator) -> Operation:
    shape, window = windowed(rng, 3)
    return graph.MaxPool3dOp(value(shape), *astuple(window))


def interpolate(rng: Generator) -> Operation:
    rank = int(rng.integers(1, 4))
    shape = [int(each) for each in rng.integers(1, 5, 2 + rank)]
    counts = [int(each) for each in rng.integers(1, 5, rank)]
    steps = [*rng.random(rank) * 2]
    return graph.InterpolateOp(value(shape), counts, steps, coin(rng))


def avg_pool(kind: type[graph.AvgPool2dOp | graph.AvgPool3dOp], rank: int) -> Factory:
    def build(rng: Generator) -> Operation:
        shape, window = windowed(rng, rank)
        exclude = coin(rng)
        if exclude:
            taps = (*window.taps, *window.taps)
            pairs = zip(window.padding, taps, strict=True)
            padding = tuple(min(most, tap // 2) for most, tap in pairs)
            window = replace(window, padding=padding, dilation=(1,) * rank)
        return kind(value(shape), *astuple(window), exclude_padding=exclude)

    return build


FACTORIES: dict[type[Operation], Factory] = {
    graph.AbsOp: unary(graph.AbsOp),
    graph.AcosOp: unary(graph.AcosOp),
    graph.AcoshOp: unary(graph.AcoshOp),
    graph.AddOp: binary(graph.AddOp),
    graph.AndOp: binary(graph.AndOp, i32),
    graph.AsinOp: unary(graph.AsinOp),
    graph.AsinhOp: unary(graph.AsinhOp),
    graph.Atan2Op: binary(graph.Atan2Op),
    graph.AtanOp: unary(graph.AtanOp),
    graph.AtanhOp: unary(graph.AtanhOp),
    graph.AvgPool2dOp: avg_pool(graph.AvgPool2dOp, 2),
    graph.AvgPool3dOp: avg_pool(graph.AvgPool3dOp, 3),
    graph.BatchNormOp: batch_norm,
    graph.BroadcastOp: broadcast,
    graph.CastOp: cast_op,
    graph.CeilOp: unary(graph.CeilOp),
    graph.CompareOp: compare,
    graph.ConcatOp: concat,
    graph.ContractOp: contract,
    graph.Conv2dOp: conv2d,
    graph.Conv3dOp: convolution(graph.Conv3dOp, 3),
    graph.CopySignOp: binary(graph.CopySignOp),
    graph.CosOp: unary(graph.CosOp),
    graph.CoshOp: unary(graph.CoshOp),
    graph.DivOp: binary(graph.DivOp),
    graph.DropoutOp: unary(graph.DropoutOp),
    graph.ErfOp: unary(graph.ErfOp),
    graph.Exp2Op: unary(graph.Exp2Op),
    graph.ExpOp: unary(graph.ExpOp),
    graph.Expm1Op: unary(graph.Expm1Op),
    graph.FloorOp: unary(graph.FloorOp),
    graph.Im2colOp: im2col,
    graph.GeluOp: lambda rng: graph.GeluOp(
        value(some_shape(rng)), "tanh" if coin(rng) else "erf"
    ),
    graph.InterpolateOp: interpolate,
    graph.IotaOp: iota,
    graph.LayerNormOp: layer_norm,
    graph.LinearContractOp: linear_contract,
    graph.Log10Op: unary(graph.Log10Op),
    graph.Log1pOp: unary(graph.Log1pOp),
    graph.Log2Op: unary(graph.Log2Op),
    graph.LogOp: unary(graph.LogOp),
    graph.MatmulOp: matmul,
    graph.MaxPool2dOp: pool(graph.MaxPool2dOp),
    graph.MaxPool3dOp: max_pool3d,
    graph.MaximumOp: binary(graph.MaximumOp),
    graph.MeanOp: mean,
    graph.MinimumOp: binary(graph.MinimumOp),
    graph.MulOp: binary(graph.MulOp),
    graph.NegOp: unary(graph.NegOp),
    graph.NotOp: unary(graph.NotOp, i32),
    graph.OrOp: binary(graph.OrOp, i32),
    graph.PadOp: pad,
    graph.PowOp: binary(graph.PowOp),
    graph.ReduceOp: reduce,
    graph.ReluOp: unary(graph.ReluOp),
    graph.RemOp: binary(graph.RemOp, i32),
    graph.ReshapeOp: reshape,
    graph.RmsNormOp: rms_norm,
    graph.RoundOp: unary(graph.RoundOp),
    graph.RoundTf32Op: unary(graph.RoundTf32Op),
    graph.RsqrtOp: unary(graph.RsqrtOp),
    graph.SelectOp: select,
    graph.SigmoidOp: unary(graph.SigmoidOp),
    graph.SiluOp: unary(graph.SiluOp),
    graph.SinOp: unary(graph.SinOp),
    graph.SinhOp: unary(graph.SinhOp),
    graph.SliceOp: slice_op,
    graph.SoftmaxOp: softmax,
    graph.SqrtOp: unary(graph.SqrtOp),
    graph.SubOp: binary(graph.SubOp),
    graph.SumPool2dOp: pool(graph.SumPool2dOp),
    graph.TanOp: unary(graph.TanOp),
    graph.TanhOp: unary(graph.TanhOp),
    graph.TransposeOp: transpose,
    graph.TruncOp: unary(graph.TruncOp),
    graph.UnfoldOp: unfold,
    graph.WithinOp: within,
    **CHOOSING,
}


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Give every operation to tests that ask for its `cases`."""
    if "cases" in metafunc.fixturenames:
        ids = [kind.name for kind in FACTORIES]
        metafunc.parametrize("cases", FACTORIES.values(), indirect=True, ids=ids)


@pytest.fixture
def rng() -> Generator:
    return np.random.default_rng(7)


@pytest.fixture
def cases(request: pytest.FixtureRequest) -> list[tuple[Operation, Generator]]:
    """Random valid instances of one operation, with a generator for each."""
    factory: Factory = request.param
    found: list[tuple[Operation, Generator]] = []
    for seed in range(ROUNDS):
        rng = np.random.default_rng(seed)
        op = factory(rng)
        op.verify()
        found.append((op, rng))
    return found


@pytest.fixture
def tested_operations() -> set[type[Operation]]:
    """The operations that tests get instances of."""
    return set(FACTORIES)
