"""The references of convolutions, against torch in f64."""

import pytest
from graph_numerics import check, double, numbers, run, some
from numpy.random import Generator
from torch.nn import functional
from xdsl.dialects.builtin import bf16, f32
from xdsl.ir import Attribute

from tlf.dialects import graph

groups = pytest.mark.parametrize("groups", [1, 2, 6])


@groups
@numbers
def test_conv2d(element: Attribute, groups: int, rng: Generator):
    images = some(rng, (2, 6, 9, 11), element)
    filters = some(rng, (12, 6 // groups, 3, 2), element)
    found = run(
        graph.Conv2dOp,
        images,
        filters,
        of=element,
        strides=(2, 3),
        padding=(1, 0, 2, 3),
        dilation=(2, 1),
        groups=groups,
    )
    padded = functional.pad(double(images), (0, 3, 1, 2))
    expected = functional.conv2d(
        padded, double(filters), stride=(2, 3), dilation=(2, 1), groups=groups
    )
    check(found, expected, element, error=1e-6)


@groups
@numbers
def test_conv3d(element: Attribute, groups: int, rng: Generator):
    images = some(rng, (2, 6, 5, 9, 7), element)
    filters = some(rng, (12, 6 // groups, 2, 3, 2), element)
    found = run(
        graph.Conv3dOp,
        images,
        filters,
        of=element,
        strides=(1, 2, 3),
        padding=(0, 1, 0, 2, 2, 3),
        dilation=(3, 2, 1),
        groups=groups,
    )
    padded = functional.pad(double(images), (0, 3, 1, 2, 0, 2))
    expected = functional.conv3d(
        padded, double(filters), stride=(1, 2, 3), dilation=(3, 2, 1), groups=groups
    )
    check(found, expected, element, error=1e-6)


def test_conv3d_of_points_keeps_its_accumulator(rng: Generator):
    images, filters = (
        some(rng, shape, bf16) for shape in ((1, 4, 2, 3, 5), (6, 4, 1, 1, 1))
    )
    found = run(graph.Conv3dOp, images, filters, of=bf16, element=f32)
    expected = functional.conv3d(double(images), double(filters))
    check(found, expected, f32, error=1e-6)
