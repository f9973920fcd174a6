"""The reference of linear interpolation, against torch in f64."""

import numpy as np
import pytest
import torch
from differential import compiled_results
from graph_numerics import ROUNDOFF, check, double, floats, run, some
from numpy.random import Generator
from xdsl.ir import Attribute

from tlf.dialects import graph
from tlf.dialects.types import accumulator_type_of

SIZES = [
    ((5,), (11,)),
    ((5, 4), (3, 9)),
    ((5, 4), (5, 9)),
    ((3, 1, 4), (6, 2, 7)),
]
MODES = {1: "linear", 2: "bilinear", 3: "trilinear"}


@floats
@pytest.mark.parametrize("aligns_corners", [False, True])
@pytest.mark.parametrize(("extents", "counts"), SIZES)
def test_values(
    extents: tuple[int, ...],
    counts: tuple[int, ...],
    aligns_corners: bool,
    element: Attribute,
    rng: Generator,
):
    images = some(rng, (2, 3, *extents), element)
    steps = [
        (n - 1) / (c - 1) if aligns_corners else n / c
        for n, c in zip(extents, counts, strict=True)
    ]
    found = run(
        graph.InterpolateOp,
        images,
        of=element,
        counts=counts,
        steps=steps,
        half_pixel=not aligns_corners,
    )
    expected = torch.nn.functional.interpolate(
        double(images),
        counts,
        mode=MODES[len(counts)],
        align_corners=aligns_corners,
    )
    check(found, expected, element, error=8 * ROUNDOFF[accumulator_type_of(element)])


TEXT = """
func.func @main(%x: tensor<1x2x5x5xf32>) -> tensor<1x2x9x9xf32> {
  %y = graph.interpolate %x steps [0.5, 0.5] half_pixel
    : (tensor<1x2x5x5xf32>) -> tensor<1x2x9x9xf32>
  return %y : tensor<1x2x9x9xf32>
}
"""


def test_infinities_reach_their_neighbours_only():
    x = np.ones((1, 2, 5, 5), np.float32)
    x[0, 1, 2, 2] = np.inf
    (found,) = compiled_results(TEXT, {"x": x}, "h200")
    finite = np.ones((1, 2, 9, 9), bool)
    finite[0, 1, 3:7, 3:7] = False
    assert (np.isfinite(found) == finite).all()
