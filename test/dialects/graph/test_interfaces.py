"""Every operation of the graph dialect keeps what its interfaces promise."""

from collections.abc import Callable, Iterator, Sequence
from itertools import product
from typing import TypeAlias, TypeVar

import numpy as np
import pytest
from numpy.random import Generator
from xdsl.builder import Builder
from xdsl.dialects import test
from xdsl.dialects.builtin import StringAttr, TensorType, bf16, f32
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.rewriter import InsertPoint

from tlf.dialects import graph
from tlf.dialects.interfaces import (
    AccumulatingInterface,
    Array,
    DecompositionInterface,
    DelinearizedReadInterface,
    IteratorType,
    ReductionInterface,
    ReferenceInterface,
    ScanInterface,
    TilingInterface,
    WindowInterface,
)
from tlf.dialects.types import dtype_of, tensor_type
from tlf.support.affine.index_access import (
    AffineSum,
    Box,
    Interval,
    accessed_box,
    producing_iterations,
)

Cases: TypeAlias = list[tuple[Operation, Generator]]
Program: TypeAlias = Callable[[Builder], Sequence[SSAValue]]
Interface = TypeVar("Interface", bound=Operation)

NO_FACTORY = {
    graph.GroupOp: "is no computation of its own, and tiled as a whole",
    graph.YieldOp: "is a terminator",
    graph.ConstantOp: "has no operands; its tiles have a test of their own",
}
"""The operations that the tests below leave out, with the reason."""


def value(shape: Sequence[int], element: Attribute = f32) -> SSAValue:
    """A tensor from nowhere."""
    return test.TestOp(result_types=[TensorType(element, shape)]).results[0]


def test_every_operation_is_tested(tested_operations: set[type[Operation]]):
    assert tested_operations | set(NO_FACTORY) == set(graph.Graph.operations)
    assert not tested_operations & set(NO_FACTORY)
    assert all(NO_FACTORY.values())


def having(
    cases: list[tuple[Operation, Generator]], interface: type[Interface]
) -> Iterator[tuple[Interface, Generator]]:
    """The cases whose operation has an interface."""
    return ((op, rng) for op, rng in cases if isinstance(op, interface))


def numbers(
    rng: Generator, shape: Sequence[int], element: Attribute, sign: int = 1
) -> Array:
    """Values about 1, or -1, to which sums, maxima and roots are all sensitive."""
    values = np.asarray(sign * rng.uniform(0.5, 1.5, tuple(shape)))
    return values.astype(dtype_of(element))


def garbage(
    rng: Generator, shape: Sequence[int], element: Attribute, op: Operation
) -> Array:
    """Values unlike those, and so great, or small, that the result shows them."""
    sign = -1 if seeks_least(op) else 1
    values = np.asarray(sign * rng.uniform(37, 53, tuple(shape)))
    return values.astype(dtype_of(element))


def seeks_least(op: Operation) -> bool:
    """Return `True` if an operation takes the minimum of some values."""
    if isinstance(op, graph.ReduceOp | graph.CumulateOp):
        return op.kind.data is graph.ReduceKind.MIN
    return isinstance(op, graph.MinimumOp)


def operands_of(op: Operation, rng: Generator) -> list[Array]:
    """
    Values for all operands; those of a reduction are less than 0, unless it takes the
    least of them.
    """
    sign = -1 if isinstance(op, ReductionInterface) and not seeks_least(op) else 1
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
        zip(op.indexing_maps(), operands, strict=True)
    ):
        assert accesses is not None
        part = accessed_box(accesses, box)
        element = tensor_type(op.operands[position]).element_type
        outside = garbage(rng, sizes(part), element, op)
        if (border := op.padding_value(position)) is not None:
            outside = np.full(sizes(part), border, array.dtype)
        tiles.append(cut(array, part, outside))
    return tiles


def compute_tile(op: TilingInterface, tiles: Sequence[Array], box: Box) -> Array:
    """Run the tiled operation, or the load that performs it."""
    if isinstance(op, DelinearizedReadInterface):
        starts = [interval.offset.constant for interval in box]
        return op.delinearized_access.gather_elements(
            tiles[0], starts, sizes(box), op.fill_value
        )
    element = [tensor_type(each).element_type for each in (*op.operands, *op.results)]
    shapes = [tile.shape for tile in tiles]
    shapes.append(tuple(sizes(accessed_box(op.result_indexing_maps()[0], box))))
    types = [TensorType(*each) for each in zip(element, shapes, strict=True)]
    inputs = [value(type_.get_shape(), type_.element_type) for type_ in types[:-1]]
    tiled = op.tiled_implementation(inputs, types[-1:])
    tiled.verify()
    assert isinstance(tiled, type(op))
    return tiled.compute_reference(*tiles)[0]


def some_interval(rng: Generator, extent: int, overhang: int = 0) -> Interval:
    first = int(rng.integers(0, extent))
    return Interval(
        AffineSum(first), int(rng.integers(1, extent - first + 1 + overhang))
    )


def wanted_box(op: TilingInterface, rng: Generator) -> Box:
    """
    The iterations that compute a random box of the result; all along iterators that
    cannot be tiled.
    """
    shape = tensor_type(op.results[0]).get_shape()
    wanted = tuple(some_interval(rng, extent, overhang=2) for extent in shape)
    extents = [iterator.extent for iterator in op.iteration_domain()]
    box = producing_iterations(op.result_indexing_maps()[0], extents, wanted)
    whole = op.untileable_dims() if isinstance(op, ScanInterface) else ()
    return tuple(
        Interval.whole(extents[position]) if position in whole else interval
        for position, interval in enumerate(box)
    )


def parallel_box(op: TilingInterface, rng: Generator) -> Box:
    """A random box of parallel iterations."""
    whole = op.untileable_dims()
    assert all(isinstance(reason, str) and reason for reason in whole.values())
    return tuple(
        Interval.whole(iterator.extent)
        if iterator.kind is IteratorType.REDUCTION or position in whole
        else some_interval(rng, iterator.extent, overhang=2)
        for position, iterator in enumerate(op.iteration_domain())
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
def test_tile_equals_part_of_the_whole(cases: Cases, some_box: Callable[..., Box]):
    for op, rng in having(cases, TilingInterface):
        operands = operands_of(op, rng)
        (whole,) = op.compute_reference(*operands)
        box = some_box(op, rng)
        tile = compute_tile(op, tiles_of(op, rng, operands, box), box)

        part = accessed_box(op.result_indexing_maps()[0], box)
        assert_close(cut(tile, inverse(part, whole.shape), whole), whole)


def inverse(box: Box, shape: Sequence[int]) -> Box:
    """A whole array as a box of the array that is `box` of it."""
    return tuple(
        Interval(interval.offset * -1, extent)
        for interval, extent in zip(box, shape, strict=True)
    )


HIDING = (
    graph.AndOp,
    graph.CompareOp,
    graph.GatherOp,
    graph.Im2colOp,
    graph.OrOp,
    graph.RemOp,
    graph.SelectOp,
    graph.TakeOp,
)
"""Operations whose result need not change where an operand does."""


@pytest.mark.one_in(4)
@some_boxes
def test_regions_are_minimal(cases: Cases, some_box: Callable[..., Box]):
    for op, rng in having(cases, TilingInterface):
        if isinstance(op, HIDING):
            continue
        box = some_box(op, rng)
        elements = [tensor_type(operand).element_type for operand in op.operands]
        tiles = [
            numbers(rng, sizes(accessed_box(accesses, box)), element)
            for accesses, element in zip(op.indexing_maps(), elements, strict=True)
            if accesses is not None
        ]
        tile = compute_tile(op, tiles, box).astype(float)
        for position, array in enumerate(tiles):
            for axis, side in product(range(array.ndim), (0, -1)):
                changed = array.copy()
                edge = (slice(None),) * axis + (side,)
                shape, element = changed[edge].shape, elements[position]
                changed[edge] = garbage(rng, shape, element, op)
                others = [*tiles[:position], changed, *tiles[position + 1 :]]
                found = compute_tile(op, others, box).astype(float)
                assert not np.allclose(found, tile, rtol=1e-4), (
                    f"{op}: operand {position} needs less along axis {axis}"
                )


def pieces(op: TilingInterface, rng: Generator) -> list[Box]:
    """All iterations, cut along reductions that tile."""
    cuts: list[list[Interval]] = []
    for position, iterator in enumerate(op.iteration_domain()):
        size = iterator.extent
        reduces = iterator.kind is IteratorType.REDUCTION
        if reduces and position not in op.untileable_dims():
            size = int(rng.integers(1, iterator.extent + 1))
        starts = range(0, iterator.extent, size)
        cuts.append([Interval(AffineSum(start), size) for start in starts])
    return list(product(*cuts))


def test_reductions_can_be_computed_in_pieces(cases: Cases):
    for op, rng in having(cases, AccumulatingInterface):
        operands = operands_of(op, rng)
        (whole,) = op.compute_reference(*operands)
        total = np.full_like(whole, op.neutral_element())
        if op.init_value is None:
            op.operands = [*op.operands, value(whole.shape)]
            operands.append(total)
        total = operands.pop()
        for box in pieces(op, rng):
            tiles = tiles_of(op, rng, [*operands, total], box)
            total = compute_tile(op, tiles, box)
        assert_close(total, whole)


def check_program(op: ReferenceInterface, program: Program, rng: Generator) -> Block:
    """Compare a program with the operation that it stands for."""
    block = Block()
    results = program(Builder(InsertPoint.at_end(block)))
    operands = operands_of(op, rng)
    known = dict(zip(op.operands, operands, strict=True))
    for step in block.ops:
        step.verify()
        assert isinstance(step, ReferenceInterface)
        inputs = [known[operand] for operand in step.operands]
        known.update(zip(step.results, step.compute_reference(*inputs), strict=True))
    assert [result.type for result in results] == list(op.result_types)
    for result, expected in zip(results, op.compute_reference(*operands), strict=True):
        assert_close(known[result], expected)
    return block


def test_decomposition_computes_the_same(cases: Cases):
    for op, rng in having(cases, DecompositionInterface):
        check_program(op, op.decompose, rng)


def test_operations_without_windows_compute_the_same(cases: Cases):
    for op, rng in having(cases, WindowInterface):
        block = check_program(op, op.decompose_windows, rng)
        assert not any(isinstance(step, WindowInterface) for step in block.ops)


def test_reference_has_the_declared_type(cases: Cases):
    for op, rng in having(cases, ReferenceInterface):
        results = op.compute_reference(*operands_of(op, rng))
        for array, result in zip(results, op.results, strict=True):
            type_ = tensor_type(result)
            assert array.shape == type_.get_shape()
            assert array.dtype == dtype_of(type_.element_type)


LEVEL = StringAttr("L1")
"""Any attribute will do as an encoding."""


def test_encodings_do_not_matter(cases: Cases):
    for op, _ in having(cases, TilingInterface):
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
    constant = graph.ConstantOp.from_splat(2.5, TensorType(bf16, [4, 6]))
    assert constant.untileable_dims() == {}
    tile = constant.tiled_implementation([], [TensorType(bf16, [3, 2])])
    tile.verify()
    assert isinstance(tile, graph.ConstantOp)
    assert (tile.to_array() == np.float32(2.5)).all()

    several = graph.ConstantOp(np.arange(6, dtype=np.float32).reshape(2, 3))
    assert several.splat_attribute() is None
    assert set(several.untileable_dims()) == {0, 1}
    assert all(several.untileable_dims().values())
    same = several.tiled_implementation([], [several.result.type])
    assert isinstance(same, graph.ConstantOp)
    assert (same.to_array() == several.to_array()).all()


def test_flops():
    assert graph.MatmulOp(value([3, 4, 5]), value([5, 6])).flops() == 2 * 3 * 4 * 5 * 6
    conv = graph.Conv2dOp(value([1, 4, 5, 5]), value([6, 2, 3, 3]), groups=2)
    assert conv.flops() == 2 * 6 * 3 * 3 * 2 * 3 * 3
    assert graph.AddOp(value([3, 1]), value([4])).flops() == 12
    assert graph.ReshapeOp(value([3, 4]), [12]).flops() == 0
    assert graph.ReduceOp(value([3, 4]), "sum", [1]).flops() == 12


def test_linear_operands(cases: Cases):
    for op, rng in having(cases, TilingInterface):
        operands = operands_of(op, rng)
        if isinstance(op, AccumulatingInterface) and op.init_value is not None:
            operands[-1][...] = 0
        (once,) = op.compute_reference(*operands)
        for position in op.linear_operands():
            if operands[position].dtype != np.float32:
                continue
            doubled = [*operands]
            doubled[position] = np.multiply(doubled[position], np.float32(2))
            (twice,) = op.compute_reference(*doubled)
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
    assert [iterator.extent for iterator in op.iteration_domain()] == extents
