"""Movements, against torch and numpy."""

import numpy as np
import pytest
import torch
from graph_numerics import FLOATS, check, double, floats, run, some, values
from numpy.random import Generator
from xdsl.builder import Builder
from xdsl.dialects.builtin import TensorType, i1
from xdsl.ir import Attribute, Block
from xdsl.ir.affine import AffineMap
from xdsl.rewriter import InsertPoint

from tlf.dialects import graph
from tlf.dialects.graph.image_windows import Window
from tlf.dialects.graph.tensor_types import NUMBERS
from tlf.dialects.interfaces import ReferenceInterface
from tlf.dialects.types import ELEMENT_TYPES, dtype_of

elements = pytest.mark.parametrize("element", ELEMENT_TYPES, ids=str)


@elements
def test_pad(element: Attribute, rng: Generator):
    array = some(rng, (4, 1, 6), element)
    fill = True if element == i1 else -7
    options = {"low": (0, 2, 1), "high": (3, 0, 2), "fill": fill}
    found = run(graph.PadOp, array, of=element, **options)
    expected = np.pad(
        array, ((0, 3), (2, 0), (1, 2)), constant_values=array.dtype.type(fill)
    )
    check(found, double(expected), element)


@floats
@pytest.mark.parametrize("fill", [np.inf, -np.inf, np.nan])
def test_pad_with_no_number(fill: float, element: Attribute, rng: Generator):
    array = some(rng, (5,), element)
    found = run(graph.PadOp, array, of=element, low=[1], high=[1], fill=fill)
    np.testing.assert_array_equal(found[1:-1], array)
    np.testing.assert_array_equal(found[::6].astype(float), [fill, fill])


@elements
def test_slice(element: Attribute, rng: Generator):
    array = some(rng, (7, 1, 9), element)
    found = run(
        graph.SliceOp,
        array,
        of=element,
        offsets=[1, 0, 2],
        sizes=[2, 1, 3],
        strides=[4, 5, 3],
    )
    check(found, double(array[1::4, :, 2::3]), element)
    found = run(graph.SliceOp, array, of=element, offsets=[6, 0, 0], sizes=[1, 1, 9])
    check(found, double(array[6:]), element)


@elements
@pytest.mark.parametrize("axis", [0, 1, 2])
def test_concat(element: Attribute, axis: int, rng: Generator):
    shapes = [[4, 3, 5] for _ in range(3)]
    shapes[1][axis], shapes[2][axis] = 1, 7
    arrays = [some(rng, shape, element) for shape in shapes]
    if element in FLOATS:
        arrays[0][0, 0, :4] = np.array([np.inf, -np.inf, np.nan, -0.0])
    op = graph.ConcatOp(values(*arrays, elements=[element] * 3), axis)
    op.verify()
    (found,) = op.compute_reference(*arrays)
    expected = torch.cat([double(array) for array in arrays], axis)
    check(found, expected, element)


@elements
def test_parts_of_a_concat_keep_their_bits(element: Attribute, rng: Generator):
    arrays = [some(rng, (3,), element), some(rng, (4,), element)]
    if element in FLOATS:
        arrays[1][:] = np.array([np.inf, -np.inf, -0.0, 0.0])
    op = graph.ConcatOp(values(*arrays, elements=[element] * 2), 0)
    block = Block()
    (joined,) = op.decompose(Builder(InsertPoint.at_end(block)))
    known = dict(zip(op.operands, arrays, strict=True))
    for step in block.ops:
        assert isinstance(step, ReferenceInterface)
        inputs = [known[operand] for operand in step.operands]
        known[step.results[0]] = step.compute_reference(*inputs)[0]
    assert known[joined].tobytes() == np.concatenate(arrays).tobytes()


@pytest.mark.parametrize("element", NUMBERS, ids=str)
@pytest.mark.parametrize("axis", [0, 1, 2])
def test_iota(element: Attribute, axis: int):
    shape = (3, 90, 4)
    op = graph.IotaOp(TensorType(element, shape), axis)
    op.verify()
    (found,) = op.compute_reference()
    expected = np.broadcast_to(np.indices(shape)[axis], shape)
    assert found.dtype == dtype_of(element)
    check(found, double(expected), element)


@elements
def test_unfold(element: Attribute, rng: Generator):
    array = some(rng, (2, 6, 8), element)
    map_ = AffineMap.from_callable(
        lambda n, kh, kw, oh, ow: (n, oh * 2 + kh * 3 - 1, ow + kw - 2)
    )
    shape = (2, 2, 3, 3, 10)
    (x,) = values(array, elements=[element])
    op = graph.UnfoldOp(x, map_, shape, 1)
    op.verify()
    (found,) = op.compute_reference(array)
    expected = np.full(shape, 1, array.dtype)
    for n, kh, kw, oh, ow in np.ndindex(*shape):
        row, column = oh * 2 + kh * 3 - 1, ow + kw - 2
        if 0 <= row < 6 and 0 <= column < 8:
            expected[n, kh, kw, oh, ow] = array[n, row, column]
    check(found, double(expected), element)


def test_unfolded_images_are_columns(rng: Generator):
    images = some(rng, (2, 3, 7, 6), ELEMENT_TYPES[0])
    window = Window((3, 2), (2, 1), (1, 0, 1, 0), (1, 3))
    (x,) = values(images, elements=ELEMENT_TYPES[:1])
    op = window.build_unfold(x, 0)
    (found,) = op.compute_reference(images)
    expected = torch.nn.functional.unfold(
        double(images), (3, 2), dilation=(1, 3), padding=(1, 0), stride=(2, 1)
    )
    check(found.reshape(expected.shape), expected, ELEMENT_TYPES[0])
