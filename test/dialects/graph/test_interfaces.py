"""Every operation of the graph dialect keeps what its interfaces promise."""

from collections.abc import Callable, Sequence
from itertools import product
from typing import TypeAlias, TypeVar

import numpy as np
import pytest
from numpy.random import Generator
from xdsl.builder import Builder
from xdsl.dialects import test
from xdsl.dialects.builtin import StringAttr, TensorType, bf16, f16, f32, i32
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.ir.affine import AffineExpr, AffineMap
from xdsl.rewriter import InsertPoint

from tlf.dialects import graph
from tlf.dialects.access import Box, Interval, Linear, iterations, region
from tlf.dialects.interfaces import (
    AccumulatingInterface,
    Array,
    DecompositionInterface,
    IteratorKind,
    ReductionInterface,
    ReferenceInterface,
    TilingInterface,
)
from tlf.dialects.types import dtype_of, tensor_type

Factory: TypeAlias = Callable[[Generator], Operation]

Interface = TypeVar("Interface", bound=Operation)

ROUNDS = 16
"""How many random instances of each operation are tried."""

NO_FACTORY = {
    graph.GroupOp: "is no computation of its own, and tiled as a whole",
    graph.YieldOp: "is a terminator",
    graph.ConstantOp: "has no operands; its tiles have a test of their own",
}
"""The operations that the tests below leave out, with the reason."""


def value(shape: Sequence[int], element: Attribute = f32) -> SSAValue:
    """A tensor from nowhere."""
    return test.TestOp(result_types=[TensorType(element, shape)]).results[0]


def some_shape(rng: Generator, least: int = 0, most: int = 4) -> list[int]:
    """A shape of `least` to `most` axes."""
    return [int(n) for n in rng.integers(1, 8, rng.integers(least, most + 1))]


def thinned(rng: Generator, shape: Sequence[int]) -> list[int]:
    """A shape that broadcasts to `shape`."""
    kept = [n if rng.random() < 0.7 else 1 for n in shape]
    return kept[rng.integers(0, len(shape) + 1) :]


def some_axes(rng: Generator, rank: int) -> list[int]:
    """Some of `rank` axes, but not none."""
    count = rng.integers(1, rank + 1)
    return [int(axis) for axis in rng.permutation(rank)[:count]]


def coin(rng: Generator) -> bool:
    return bool(rng.random() < 0.5)


def unary(kind: Callable[[SSAValue], Operation]) -> Factory:
    return lambda rng: kind(value(some_shape(rng)))


def binary(kind: Callable[[SSAValue, SSAValue], Operation]) -> Factory:
    def build(rng: Generator) -> Operation:
        shape = some_shape(rng)
        shapes = [shape, thinned(rng, shape)]
        rng.shuffle(shapes)
        return kind(value(shapes[0]), value(shapes[1]))

    return build


def cast_op(rng: Generator) -> Operation:
    source, target = [(f32, bf16), (f32, i32), (i32, f32), (f32, f16)][rng.integers(4)]
    return graph.CastOp(value(some_shape(rng), source), target)


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


def conv2d(rng: Generator) -> Operation:
    groups = int(rng.choice([1, 1, 2, 3]))
    images, per_group, filters = (int(n) for n in rng.integers(1, 4, 3))
    taps, strides, dilation = (
        [int(n) for n in each]
        for each in (
            rng.integers(1, 4, 2),
            rng.integers(1, 4, 2),
            rng.integers(1, 3, 2),
        )
    )
    padding = [int(n) for n in rng.integers(0, 3, 4)]
    spans = [by * (tap - 1) + 1 for by, tap in zip(dilation, taps, strict=True)]
    extents = [span + int(rng.integers(0, 6)) for span in spans]
    op = graph.Conv2dOp(
        value([images, per_group * groups, *extents]),
        value([filters * groups, per_group, *taps]),
        strides=strides,
        padding=padding,
        dilation=dilation,
        groups=groups,
    )
    if coin(rng):
        return op
    init = value(tensor_type(op.result).get_shape())
    op.operands = [*op.operands, init]
    return op


def reduce(rng: Generator) -> Operation:
    shape = some_shape(rng, 1)
    kind = "max" if coin(rng) else "sum"
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


FACTORIES: dict[type[Operation], Factory] = {
    graph.AddOp: binary(graph.AddOp),
    graph.BatchNormOp: batch_norm,
    graph.BroadcastOp: broadcast,
    graph.CastOp: cast_op,
    graph.ContractOp: contract,
    graph.Conv2dOp: conv2d,
    graph.DivOp: binary(graph.DivOp),
    graph.DropoutOp: unary(graph.DropoutOp),
    graph.ErfOp: unary(graph.ErfOp),
    graph.ExpOp: unary(graph.ExpOp),
    graph.GeluOp: lambda rng: graph.GeluOp(
        value(some_shape(rng)), "tanh" if coin(rng) else "erf"
    ),
    graph.LayerNormOp: layer_norm,
    graph.MatmulOp: matmul,
    graph.MaximumOp: binary(graph.MaximumOp),
    graph.MeanOp: mean,
    graph.MulOp: binary(graph.MulOp),
    graph.ReduceOp: reduce,
    graph.ReluOp: unary(graph.ReluOp),
    graph.ReshapeOp: reshape,
    graph.RsqrtOp: unary(graph.RsqrtOp),
    graph.SoftmaxOp: softmax,
    graph.SqrtOp: unary(graph.SqrtOp),
    graph.SubOp: binary(graph.SubOp),
    graph.TanhOp: unary(graph.TanhOp),
    graph.TransposeOp: transpose,
}


def test_every_operation_is_tested():
    assert set(FACTORIES) | set(NO_FACTORY) == set(graph.Graph.operations)
    assert not set(FACTORIES) & set(NO_FACTORY)
    assert all(NO_FACTORY.values())


every_operation = pytest.mark.parametrize(
    ("kind", "factory"), FACTORIES.items(), ids=[kind.name for kind in FACTORIES]
)


def instances(
    factory: Factory, interface: type[Interface]
) -> list[tuple[Interface, Generator]]:
    """Random valid instances, with a generator for each."""
    found: list[tuple[Interface, Generator]] = []
    for seed in range(ROUNDS):
        rng = np.random.default_rng(seed)
        op = factory(rng)
        op.verify()
        if isinstance(op, interface):
            found.append((op, rng))
    return found


def numbers(
    rng: Generator, shape: Sequence[int], element: Attribute, sign: int = 1
) -> Array:
    """Values about 1, or -1, to which sums, maxima and roots are all sensitive."""
    values = np.asarray(sign * rng.uniform(0.5, 1.5, tuple(shape)))
    return values.astype(dtype_of(element))


def garbage(rng: Generator, shape: Sequence[int], element: Attribute) -> Array:
    """Values that are unlike those, and greater, so that a maximum shows them."""
    return rng.uniform(37, 53, tuple(shape)).astype(dtype_of(element))


def operands_of(op: Operation, rng: Generator) -> list[Array]:
    """Values for all operands; those of a reduction are less than 0."""
    sign = -1 if isinstance(op, ReductionInterface) else 1
    types = [tensor_type(operand) for operand in op.operands]
    return [
        numbers(rng, type_.get_shape(), type_.element_type, sign) for type_ in types
    ]


def sizes(box: Box) -> list[int]:
    return [interval.size for interval in box]


def cut(array: Array, box: Box, tile: Array) -> Array:
    """`tile`, with what of `box` lies within the array copied from there."""
    inside = [
        range(
            max(0, each.offset.constant), min(extent, each.offset.constant + each.size)
        )
        for each, extent in zip(box, array.shape, strict=True)
    ]
    tile = tile.copy()
    if all(inside):
        target = tuple(
            slice(part.start - each.offset.constant, part.stop - each.offset.constant)
            for part, each in zip(inside, box, strict=True)
        )
        tile[target] = array[tuple(slice(part.start, part.stop) for part in inside)]
    return tile


def tiles_of(
    op: TilingInterface, rng: Generator, operands: Sequence[Array], box: Box
) -> list[Array]:
    """Exactly what iterations read, borders filled in and the rest of it garbage."""
    tiles: list[Array] = []
    for position, (accesses, array) in enumerate(
        zip(op.operand_accesses(), operands, strict=True)
    ):
        assert accesses is not None
        part = region(accesses, box)
        element = tensor_type(op.operands[position]).element_type
        outside = garbage(rng, sizes(part), element)
        if (border := op.border(position)) is not None:
            outside = np.full(sizes(part), border, array.dtype)
        tiles.append(cut(array, part, outside))
    return tiles


def compute_tile(op: TilingInterface, tiles: Sequence[Array], box: Box) -> Array:
    """Run the tiled operation."""
    element = [tensor_type(each).element_type for each in (*op.operands, *op.results)]
    shapes = [tile.shape for tile in tiles]
    shapes.append(tuple(sizes(region(op.result_accesses()[0], box))))
    types = [TensorType(*each) for each in zip(element, shapes, strict=True)]
    inputs = [value(type_.get_shape(), type_.element_type) for type_ in types[:-1]]
    tiled = op.tiled(inputs, types[-1:])
    tiled.verify()
    assert isinstance(tiled, type(op))
    return tiled.reference(*tiles)[0]


def some_interval(rng: Generator, extent: int, overhang: int = 0) -> Interval:
    first = int(rng.integers(0, extent))
    return Interval(Linear(first), int(rng.integers(1, extent - first + 1 + overhang)))


def wanted_box(op: TilingInterface, rng: Generator) -> Box:
    """The iterations that compute a random box of the result."""
    shape = tensor_type(op.results[0]).get_shape()
    wanted = tuple(some_interval(rng, extent, overhang=2) for extent in shape)
    extents = [iterator.extent for iterator in op.iterators()]
    return iterations(op.result_accesses()[0], extents, wanted)


def parallel_box(op: TilingInterface, rng: Generator) -> Box:
    """A random box of parallel iterations."""
    whole = op.untileable()
    assert all(isinstance(reason, str) and reason for reason in whole.values())
    return tuple(
        Interval.whole(iterator.extent)
        if iterator.kind is IteratorKind.REDUCTION or position in whole
        else some_interval(rng, iterator.extent, overhang=2)
        for position, iterator in enumerate(op.iterators())
    )


some_boxes = pytest.mark.parametrize("some_box", [wanted_box, parallel_box])


def assert_close(found: Array, expected: Array) -> None:
    assert found.dtype == expected.dtype
    exact = expected.dtype.kind in "ib" or expected.dtype.itemsize == 2
    tolerance = 0 if exact else 1e-5
    np.testing.assert_allclose(
        found.astype(float), expected.astype(float), tolerance, tolerance
    )


@some_boxes
@every_operation
def test_tile_equals_part_of_the_whole(
    kind: type[Operation], factory: Factory, some_box: Callable[..., Box]
):
    for op, rng in instances(factory, TilingInterface):
        operands = operands_of(op, rng)
        (whole,) = op.reference(*operands)
        box = some_box(op, rng)
        tile = compute_tile(op, tiles_of(op, rng, operands, box), box)

        part = region(op.result_accesses()[0], box)
        assert_close(cut(tile, inverse(part, whole.shape), whole), whole)


def inverse(box: Box, shape: Sequence[int]) -> Box:
    """A whole array as a box of the array that is `box` of it."""
    return tuple(
        Interval(interval.offset * -1, extent)
        for interval, extent in zip(box, shape, strict=True)
    )


@some_boxes
@every_operation
def test_regions_are_minimal(
    kind: type[Operation], factory: Factory, some_box: Callable[..., Box]
):
    for op, rng in instances(factory, TilingInterface):
        box = some_box(op, rng)
        elements = [tensor_type(operand).element_type for operand in op.operands]
        tiles = [
            numbers(rng, sizes(region(accesses, box)), element)
            for accesses, element in zip(op.operand_accesses(), elements, strict=True)
            if accesses is not None
        ]
        tile = compute_tile(op, tiles, box).astype(float)
        for position, array in enumerate(tiles):
            for axis, side in product(range(array.ndim), (0, -1)):
                changed = array.copy()
                edge = (slice(None),) * axis + (side,)
                changed[edge] = garbage(rng, changed[edge].shape, elements[position])
                others = [*tiles[:position], changed, *tiles[position + 1 :]]
                found = compute_tile(op, others, box).astype(float)
                assert not np.allclose(found, tile, rtol=1e-4), (
                    f"{op}: operand {position} needs less along axis {axis}"
                )


def pieces(op: TilingInterface, rng: Generator) -> list[Box]:
    """All iterations, cut along reductions that tile."""
    cuts: list[list[Interval]] = []
    for position, iterator in enumerate(op.iterators()):
        size = iterator.extent
        reduces = iterator.kind is IteratorKind.REDUCTION
        if reduces and position not in op.untileable():
            size = int(rng.integers(1, iterator.extent + 1))
        starts = range(0, iterator.extent, size)
        cuts.append([Interval(Linear(start), size) for start in starts])
    return list(product(*cuts))


@every_operation
def test_reductions_can_be_computed_in_pieces(kind: type[Operation], factory: Factory):
    for op, rng in instances(factory, AccumulatingInterface):
        operands = operands_of(op, rng)
        (whole,) = op.reference(*operands)
        total = np.full_like(whole, op.neutral())
        if op.init_value is None:
            op.operands = [*op.operands, value(whole.shape)]
            operands.append(total)
        total = operands.pop()
        for box in pieces(op, rng):
            tiles = tiles_of(op, rng, [*operands, total], box)
            total = compute_tile(op, tiles, box)
        assert_close(total, whole)


@every_operation
def test_decomposition_computes_the_same(kind: type[Operation], factory: Factory):
    for op, rng in instances(factory, DecompositionInterface):
        block = Block()
        results = op.decompose(Builder(InsertPoint.at_end(block)))
        operands = operands_of(op, rng)
        known = dict(zip(op.operands, operands, strict=True))
        for step in block.ops:
            step.verify()
            assert isinstance(step, ReferenceInterface)
            inputs = [known[operand] for operand in step.operands]
            known.update(zip(step.results, step.reference(*inputs), strict=True))
        assert [result.type for result in results] == list(op.result_types)
        assert_close(known[results[0]], op.reference(*operands)[0])


@every_operation
def test_reference_has_the_declared_type(kind: type[Operation], factory: Factory):
    for op, rng in instances(factory, ReferenceInterface):
        results = op.reference(*operands_of(op, rng))
        for array, result in zip(results, op.results, strict=True):
            type_ = tensor_type(result)
            assert array.shape == type_.get_shape()
            assert array.dtype == dtype_of(type_.element_type)


LEVEL = StringAttr("L1")
"""Any attribute will do as an encoding."""


@every_operation
def test_encodings_do_not_matter(kind: type[Operation], factory: Factory):
    for op, _ in instances(factory, TilingInterface):
        types = [tensor_type(operand) for operand in op.operands]
        encoded = [
            TensorType(type_.element_type, type_.get_shape(), LEVEL) for type_ in types
        ]
        op.operands = test.TestOp(result_types=encoded).results
        op.verify()


def test_results_inherit_the_first_encoding():
    plain, moved = TensorType(f32, [4, 4]), TensorType(f32, [4, 4], LEVEL)
    a, b = test.TestOp(result_types=[plain, moved]).results
    assert graph.AddOp(a, b).result.type == moved
    assert graph.MatmulOp(a, b).result.type == moved
    assert graph.ExpOp(b).result.type == moved
    assert graph.CastOp(b, bf16).result.type == TensorType(bf16, [4, 4], LEVEL)
    assert graph.ReduceOp(b, "sum", [0]).result.type == TensorType(f32, [4], LEVEL)
    assert graph.ReshapeOp(b, [16]).result.type == TensorType(f32, [16], LEVEL)
    assert graph.SubOp(a, a).result.type == plain


def test_tiles_of_constants():
    constant = graph.ConstantOp.filled(2.5, TensorType(bf16, [4, 6]))
    assert constant.untileable() == {}
    tile = constant.tiled([], [TensorType(bf16, [3, 2])])
    tile.verify()
    assert isinstance(tile, graph.ConstantOp)
    assert (tile.array() == np.float32(2.5)).all()

    several = graph.ConstantOp(np.arange(6, dtype=np.float32).reshape(2, 3))
    assert several.splat() is None
    assert set(several.untileable()) == {0, 1}
    assert all(several.untileable().values())
    same = several.tiled([], [several.result.type])
    assert isinstance(same, graph.ConstantOp)
    assert (same.array() == several.array()).all()


def test_flops():
    assert graph.MatmulOp(value([3, 4, 5]), value([5, 6])).flops() == 2 * 3 * 4 * 5 * 6
    conv = graph.Conv2dOp(value([1, 4, 5, 5]), value([6, 2, 3, 3]), groups=2)
    assert conv.flops() == 2 * 6 * 3 * 3 * 2 * 3 * 3
    assert graph.AddOp(value([3, 1]), value([4])).flops() == 12
    assert graph.ReshapeOp(value([3, 4]), [12]).flops() == 0
    assert graph.ReduceOp(value([3, 4]), "sum", [1]).flops() == 12


@every_operation
def test_linear_operands(kind: type[Operation], factory: Factory):
    for op, rng in instances(factory, TilingInterface):
        operands = operands_of(op, rng)
        if isinstance(op, AccumulatingInterface) and op.init_value is not None:
            operands[-1][...] = 0
        (once,) = op.reference(*operands)
        for position in op.linear_in():
            if operands[position].dtype != np.float32:
                continue
            doubled = [*operands]
            doubled[position] = np.multiply(doubled[position], np.float32(2))
            (twice,) = op.reference(*doubled)
            assert_close(twice, np.add(once, once))


@pytest.mark.parametrize(
    ("source", "result", "extents"),
    [
        ((16, 64), (16, 4, 16), [16, 4]),
        ((16, 4, 16), (16, 64), [16, 4]),
        ((4, 6), (24,), [4]),
        ((1, 4, 1), (4,), [4]),
        ((4, 6), (6, 4), [2]),
        ((2, 3, 5), (5, 6), [1]),
        ((3, 4, 2, 9), (3, 8, 3, 3), [3, 4, 3]),
        ((), (1, 1), []),
    ],
)
def test_reshape_tiles_as_finely_as_rows_allow(
    source: tuple[int, ...], result: tuple[int, ...], extents: list[int]
):
    op = graph.ReshapeOp(value(source), result)
    assert [iterator.extent for iterator in op.iterators()] == extents
