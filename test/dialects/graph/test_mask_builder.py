"""
Operations that choose elements by indices or by order: their references against torch,
and their decompositions against the references, on infinities, NaN, zeros of both signs
and the limits of integers.
"""

from collections.abc import Callable, Sequence
from math import prod
from typing import Any, TypeAlias

import numpy as np
import pytest
import torch
from graph_numerics import FLOATS, check, double, numbers, some, values
from numpy.random import Generator
from numpy.typing import NDArray
from xdsl.builder import Builder
from xdsl.dialects.builtin import f64, i1, i32, i64
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.rewriter import InsertPoint

from tlf.dialects import graph
from tlf.dialects.graph.tensor_types import shape_of
from tlf.dialects.interfaces import Array, DecompositionInterface, ReferenceInterface
from tlf.dialects.types import ELEMENT_TYPES, dtype_of, element_type_of, tensor_type

Floats: TypeAlias = NDArray[np.float64]

SHAPE = (4, 7, 3)

every_axis = pytest.mark.parametrize("axis", range(3))
every_element = pytest.mark.parametrize("element", ELEMENT_TYPES, ids=str)
every_index = pytest.mark.parametrize("index", [i64, i32], ids=str)
LONG = [((2, 131), 1), ((160, 3), 0), ((5120,), 0)]
SCATTERS = ["set", "add", "mul", "max", "min"]


def special(rng: Generator, shape: tuple[int, ...], element: Attribute) -> Array:
    """Few values, so that many are equal, and what is easily lost among them."""
    dtype = dtype_of(element)
    if element == i1:
        return rng.random(shape) < 0.5
    if element in FLOATS:
        numbers = [np.nan, np.inf, -np.inf, -0.0, 0.0, 1, 1, -3]
        return rng.choice(numbers, shape).astype(dtype)
    limits = np.iinfo(dtype.name)
    return rng.choice([limits.min, limits.max, 0, 1, -1], shape).astype(dtype)


def operands(*arrays: Array) -> list[SSAValue]:
    return values(*arrays, elements=[element_type_of(each.dtype) for each in arrays])


def decomposed(
    op: Operation,
    arrays: tuple[Array, ...],
) -> list[Array]:
    """Return the results of the decomposition of an operation."""
    assert isinstance(op, DecompositionInterface)
    return built_by(op.decompose, op, arrays)


def built_by(
    build: Callable[[Builder], Sequence[SSAValue]],
    op: Operation,
    arrays: tuple[Array, ...],
) -> list[Array]:
    """Return the results of the operations that a method of an operation builds."""
    block = Block()
    results = build(Builder(InsertPoint.at_end(block)))
    known = dict(zip(op.operands, arrays, strict=True))
    for step in block.ops:
        step.verify()
        assert isinstance(step, ReferenceInterface)
        inputs = [known[operand] for operand in step.operands]
        known.update(zip(step.results, step.compute_reference(*inputs), strict=True))
    return [known[result] for result in results]


def run(build: Any, *arrays: Array, signs: bool = True, **options: Any) -> list[Array]:
    """
    Run the reference, and compare it with the decomposition: NaN and infinities must be
    the same, and the signs of zeros as well unless something was computed.
    """
    op = build(*operands(*arrays), **options)
    op.verify()
    expected = list(op.compute_reference(*arrays))
    for found, exact in zip(decomposed(op, arrays), expected, strict=True):
        check_alike(found, exact, signs)
    return expected


def check_alike(found: Array, exact: Array, signs: bool) -> None:
    assert found.dtype == exact.dtype
    if found.dtype.kind in "ib":
        np.testing.assert_array_equal(found, exact)
    else:
        compare(found.astype(np.float64), exact.astype(np.float64), signs)


def compare(found: Floats, exact: Floats, signs: bool) -> None:
    error = 0 if signs else 2e-6
    np.testing.assert_allclose(found, exact, error, error)
    if signs:
        ordered = ~np.isnan(exact)
        np.testing.assert_array_equal(
            np.signbit(found)[ordered], np.signbit(exact)[ordered]
        )


def tensor(array: Array) -> torch.Tensor:
    """The array for torch, without loss."""
    return torch.tensor(array) if array.dtype.kind in "ib" else double(array)


def same(found: Array, expected: torch.Tensor) -> None:
    """Compare exactly, NaN with NaN."""
    wide = found if found.dtype.kind in "ib" else found.astype(np.float64)
    np.testing.assert_array_equal(wide, expected.numpy())


def part_of(axis: int) -> tuple[int, ...]:
    """A shape within the other, but longer along one axis."""
    part = [3, 5, 2]
    part[axis] = 9
    return tuple(part)


@every_element
@every_index
@every_axis
@pytest.mark.parametrize("shape", [(), (5,), (2, 6)])
def test_take(
    element: Attribute,
    index: Attribute,
    axis: int,
    shape: tuple[int, ...],
    rng: Generator,
):
    array = special(rng, SHAPE, element)
    chosen = np.asarray(rng.integers(0, SHAPE[axis], shape), dtype_of(index))
    (found,) = run(graph.TakeOp, array, chosen, axis=axis)
    flat = torch.tensor(chosen.reshape(-1), dtype=torch.int64)
    expected = tensor(array).index_select(axis, flat)
    same(found, expected.reshape(*SHAPE[:axis], *shape, *SHAPE[axis + 1 :]))


@every_element
@every_index
@every_axis
def test_gather(element: Attribute, index: Attribute, axis: int, rng: Generator):
    array = special(rng, SHAPE, element)
    chosen = rng.integers(0, SHAPE[axis], part_of(axis)).astype(dtype_of(index))
    (found,) = run(graph.GatherOp, array, chosen, axis=axis)
    places = torch.tensor(chosen, dtype=torch.int64)
    same(found, torch.gather(tensor(array), axis, places))


@every_element
@every_index
def test_nothing_is_chosen_outside(element: Attribute, index: Attribute):
    array = np.ones((4,), dtype_of(element))
    limits = np.iinfo(dtype_of(index).name)
    chosen = np.array([-1, 0, 3, 4, limits.min, limits.max], dtype_of(index))
    inside = np.array([0, 1, 1, 0, 0, 0])
    for kind in (graph.TakeOp, graph.GatherOp):
        (found,) = run(kind, array, chosen, axis=0)
        np.testing.assert_array_equal(found.astype(int), inside)
    updates = np.zeros((6,), dtype_of(element))
    (found,) = run(graph.ScatterOp, array, chosen, updates, axis=0, kind="set")
    np.testing.assert_array_equal(found.astype(int), [0, 1, 1, 0])


def scattered(kind: str, axis: int, *arrays: Array) -> torch.Tensor:
    array, chosen, updates = map(tensor, arrays)
    names = {"add": "sum", "mul": "prod", "max": "amax", "min": "amin"}
    places = chosen.to(torch.int64)
    if kind == "set":
        return array.scatter(axis, places, updates)
    return array.scatter_reduce(axis, places, updates, names[kind])


@pytest.mark.one_in(1 / 2)
@every_element
@every_index
@every_axis
@pytest.mark.parametrize("kind", SCATTERS)
def test_scatter(
    element: Attribute, index: Attribute, axis: int, kind: str, rng: Generator
):
    if element == i1 and kind == "add":
        return
    array, updates = some(rng, SHAPE, element), some(rng, part_of(axis), element)
    chosen = rng.integers(0, SHAPE[axis], part_of(axis)).astype(dtype_of(index))
    arrays = array, chosen, updates
    (found,) = run(graph.ScatterOp, *arrays, axis=axis, kind=kind, signs=False)
    check(found, scattered(kind, axis, *arrays), element, error=1e-6)


@every_element
@every_axis
@pytest.mark.parametrize("kind", SCATTERS)
def test_scatter_keeps_special_values(
    element: Attribute, axis: int, kind: str, rng: Generator
):
    if element == i1 and kind == "add":
        return
    array, updates = special(rng, SHAPE, element), special(rng, part_of(axis), element)
    chosen = rng.integers(-2, SHAPE[axis] + 1, part_of(axis)).astype(np.int64)
    arrays, signs = (array, chosen, updates), kind == "set"
    run(graph.ScatterOp, *arrays, axis=axis, kind=kind, signs=signs)


@pytest.mark.one_in(1 / 2)
@every_element
@every_index
@every_axis
@pytest.mark.parametrize("kind", SCATTERS)
def test_scatter_of_slices(
    element: Attribute, index: Attribute, axis: int, kind: str, rng: Generator
):
    """Indices that hold all along the other axes are looked at once for each."""
    if element == i1 and kind == "add":
        return
    count = 5
    wanted = (*SHAPE[:axis], count, *SHAPE[axis + 1 :])
    array, updates = special(rng, SHAPE, element), special(rng, wanted, element)
    ones = tuple(count if each == axis else 1 for each in range(3))
    rows = rng.integers(-2, SHAPE[axis] + 1, ones).astype(dtype_of(index))
    start, names, added = operands(array, rows, updates)
    op = graph.ScatterOp(start, names, added, axis, kind)
    arrays = array, rows, updates
    (found,), (exact,) = decomposed(op, arrays), op.compute_reference(*arrays)
    (each,) = operands(np.broadcast_to(rows, wanted))
    spread = graph.ScatterOp(start, each, added, axis, kind)
    spread_out = spread.compute_reference(array, np.broadcast_to(rows, wanted), updates)
    check_alike(exact, spread_out[0], kind == "set")
    check_alike(found, exact, kind == "set")
    block = Block()
    op.decompose(Builder(InsertPoint.at_end(block)))
    taken = sum(isinstance(each, graph.TakeOp) for each in block.ops)
    assert taken == (kind == "set")


@pytest.mark.one_in(1 / 2)
@every_element
@every_index
@every_axis
@pytest.mark.parametrize("kind", SCATTERS)
def test_combined_writes(
    element: Attribute, index: Attribute, axis: int, kind: str, rng: Generator
):
    """Updates that are combined in memory, with indices that are shared or not."""
    if element == i1 and kind == "add":
        return
    array, updates = special(rng, SHAPE, element), special(rng, part_of(axis), element)
    for shared in ((), (0,), (1,), (2,), (0, 1, 2)):
        shape = [1 if n in shared else each for n, each in enumerate(part_of(axis))]
        shape[axis] = part_of(axis)[axis]
        chosen = rng.integers(-2, SHAPE[axis] + 1, shape).astype(dtype_of(index))
        arrays = array, chosen, updates
        start, names, added = operands(*arrays)
        op = graph.ScatterOp(start, names, added, axis, kind)
        assert (op.combined_writes is None) == (kind == "mul" or dropped(op))
        if op.combined_writes is not None:
            (found,) = built_by(op.build_combined_writes, op, arrays)
            check_alike(found, op.compute_reference(*arrays)[0], kind == "set")


def dropped(op: graph.ScatterOp) -> bool:
    """Return `True` for sums and extrema of f64, which are not combined in memory."""
    is_replaced = op.kind.data is graph.ScatterKind.SET
    return not is_replaced and tensor_type(op.operand).element_type == f64


def test_the_last_update_counts():
    array, updates = np.zeros((2, 2), np.float32), np.arange(8.0, dtype=np.float32)
    chosen = np.array([[0, 1, 0, 1], [1, 1, 1, -1]], np.int32)
    (found,) = run(
        graph.ScatterOp, array, chosen, updates.reshape(2, 4), axis=1, kind="set"
    )
    np.testing.assert_array_equal(found, [[2, 3], [0, 6]])


@numbers
@every_axis
@pytest.mark.parametrize("kind", ["sum", "prod", "max", "min"])
def test_cumulate(element: Attribute, axis: int, kind: str, rng: Generator):
    array = some(rng, SHAPE, element)
    (found,) = run(graph.CumulateOp, array, axis=axis, kind=kind, signs=False)
    wide = tensor(array)
    expected = {
        "sum": lambda: torch.cumsum(wide, axis),
        "prod": lambda: torch.cumprod(wide, axis),
        "max": lambda: torch.cummax(wide, axis).values,
        "min": lambda: torch.cummin(wide, axis).values,
    }[kind]()
    check(found, expected, element, error=1e-6)
    array = special(rng, SHAPE, element)
    run(graph.CumulateOp, array, axis=axis, kind=kind, signs=False)
    run(graph.CumulateOp, array, axis=axis, kind=kind, reverse=True, signs=False)


@numbers
@every_axis
def test_reversed_cumulate(element: Attribute, axis: int, rng: Generator):
    array = some(rng, SHAPE, element)
    options: dict[str, Any] = {"axis": axis, "kind": "sum", "signs": False}
    (found,) = run(graph.CumulateOp, array, reverse=True, **options)
    expected = torch.flip(torch.cumsum(torch.flip(tensor(array), [axis]), axis), [axis])
    check(found, expected, element, error=1e-6)


@pytest.mark.one_in(1 / 2)
@numbers
@pytest.mark.parametrize("kind", ["sum", "prod", "max", "min"])
@pytest.mark.parametrize(("shape", "axis"), LONG)
def test_long_cumulate(
    element: Attribute, kind: str, shape: tuple[int, ...], axis: int, rng: Generator
):
    """In blocks, cut off in the last one or not, and in blocks of blocks."""
    chosen = [-1, 1] if kind == "prod" else [-1, 0, 1, 1]
    array = rng.choice(chosen, shape).astype(dtype_of(element))
    run(graph.CumulateOp, array, axis=axis, kind=kind, signs=False)
    array = special(rng, shape, element)
    run(graph.CumulateOp, array, axis=axis, kind=kind, signs=False)
    run(graph.CumulateOp, array, axis=axis, kind=kind, reverse=True, signs=False)


def test_cumulate_does_work_in_proportion_to_the_axis():
    """Elements that the largest operation has for each one of the axis."""
    for count in (1 << 10, 1 << 15, 1 << 20):
        op = graph.CumulateOp(operands(np.zeros((count,), np.float32))[0], "sum", 0)
        block = Block()
        op.decompose(Builder(InsertPoint.at_end(block)))
        sizes = [prod(shape_of(each)) for op in block.ops for each in op.results]
        assert max(sizes) <= 64 * count


@numbers
@every_axis
@pytest.mark.parametrize("keepdims", [False, True])
def test_arg_reduce(element: Attribute, axis: int, keepdims: bool, rng: Generator):
    array = special(rng, SHAPE, element)
    for kind, find in (("max", torch.argmax), ("min", torch.argmin)):
        options: dict[str, Any] = {"axis": axis, "kind": kind, "keepdims": keepdims}
        (found,) = run(graph.ArgReduceOp, array, **options)
        assert found.dtype == np.int64
        same(found, find(tensor(array), axis, keepdims))


@numbers
@every_axis
@pytest.mark.parametrize("count", [None, 2])
@pytest.mark.parametrize("descending", [False, True])
def test_sort(
    element: Attribute,
    axis: int,
    count: int | None,
    descending: bool,
    rng: Generator,
):
    array = special(rng, SHAPE, element)
    options: dict[str, Any] = {"axis": axis, "descending": descending}
    found, places = run(graph.SortOp, array, **options, count=count)
    expected = torch.sort(tensor(array), stable=True, dim=axis, descending=descending)
    kept = SHAPE[axis] if count is None else count
    same(found, expected.values.narrow(axis, 0, kept))
    same(places, expected.indices.narrow(axis, 0, kept))
