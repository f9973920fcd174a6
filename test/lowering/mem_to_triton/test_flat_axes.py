"""Axes of a tile that enumerate several dims of a value."""

import numpy as np
import pytest

from tlf.lowering.mem_to_triton.flat_axes import FlatAxes

GROUPS = [
    ((0,), (1,), (2,), (3,)),
    ((0, 1), (2, 3)),
    ((0,), (1, 2, 3)),
    ((0, 1, 2, 3),),
]


@pytest.mark.parametrize("groups", GROUPS)
@pytest.mark.parametrize("shape", [(2, 4, 1, 8), (1, 1, 2, 2), (4, 2, 2, 1)])
def test_indices_along_dims_are_those_of_a_row_major_array(
    shape: tuple[int, ...], groups: tuple[tuple[int, ...], ...]
):
    axes = FlatAxes(shape, groups)
    wanted = np.indices(shape)
    for axis, dims in enumerate(groups):
        numbers = np.arange(axes.extents[axis])
        for dim in dims:
            assert axes.axis_of(dim) == axis
            found = eval(axes.index_along(dim, "numbers"), {"numbers": numbers})
            first = tuple(
                slice(None) if each in dims else 0 for each in range(len(shape))
            )
            assert (found == wanted[dim][first].ravel()).all()


def test_first_and_innermost_dims_have_several_elements():
    axes = FlatAxes((1, 4, 2, 1, 8, 1), ((0, 1, 2, 3), (4, 5)))
    assert axes.first_dims((10, 11, 12, 13, 14, 15)) == (11, 14)
    assert axes.innermost_dims() == {0: 2, 1: 4}
