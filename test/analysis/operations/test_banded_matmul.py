"""Windows in bands: they compute the same, in the fewest steps that there are."""

from collections.abc import Sequence
from itertools import product
from math import ceil, prod

import numpy as np
import pytest
from graph_instances import value
from numpy.random import Generator
from numpy.typing import NDArray

from tlf.analysis.bounds.array_passes import ContractionSteps
from tlf.analysis.operations.banded_matmul import (
    BandedMatmul,
    MatmulWork,
    SystolicArray,
    Windows,
)
from tlf.analysis.operations.op_facts import OpFacts
from tlf.dialects import graph
from tlf.dialects.interfaces import Array, to_affine_map
from tlf.dialects.types import tensor_type

ARRAY = SystolicArray(8, 8)


def some_convolution(rng: Generator, groups: int) -> graph.Conv2dOp:
    """A convolution without padding, with few filters for each group."""
    per_group, filters = (int(n) for n in rng.integers(1, 3, 2))
    taps = [int(n) for n in rng.integers(1, 4, 2)]
    strides = [int(n) for n in rng.integers(1, 3, 2)]
    places = [int(n) for n in rng.integers(1, 9, 2)]
    images = [
        (place - 1) * stride + tap
        for place, stride, tap in zip(places, strides, taps, strict=True)
    ]
    return graph.Conv2dOp(
        value([2, groups * per_group, *images]),
        value([groups * filters, per_group, *taps]),
        strides=strides,
        groups=groups,
    )


def all_counts(windows: Windows, extents: tuple[int, ...]) -> list[tuple[int, ...]]:
    """All numbers of neighbours that divide what windows move over."""
    moved = [extents[axis.result_iterator] for axis in windows.axes]
    divisors = [[n for n in range(1, each + 1) if each % n == 0] for each in moved]
    return list(product(*divisors))


@pytest.mark.parametrize("groups", [1, 3])
@pytest.mark.parametrize("seed", range(10))
def test_bands_compute_windows(seed: int, groups: int):
    rng = np.random.default_rng(seed)
    op = some_convolution(rng, groups)
    form = OpFacts(op)
    if (windows := form.windows) is None:
        assert all(extent == 1 for extent in tensor_type(op.rhs).get_shape()[2:])
        return
    given = [
        rng.uniform(-1, 1, tensor_type(each).get_shape()).astype(np.float32)
        for each in (op.lhs, op.rhs)
    ]
    (wanted,) = op.compute_reference(*given)
    for counts in all_counts(windows, form.extents):
        (found,) = in_bands(op, BandedMatmul(windows, form.extents, counts), given)
        distance = found.astype(np.float32) - wanted.astype(np.float32)
        assert np.abs(distance).max() < 1e-5


def in_bands(
    op: graph.Conv2dOp, bands: BandedMatmul, given: Sequence[NDArray[np.float32]]
) -> tuple[Array, ...]:
    """Return the results of a convolution that is computed in bands."""
    form, zeros = OpFacts(op), [0] * given[1].ndim
    for axis, count in zip(bands.windows.axes, bands.neighbour_counts, strict=True):
        (place,) = (
            number
            for number, each in enumerate(form.indexing_maps[1] or ())
            if each.depends_on({axis.tap_iterator})
        )
        zeros[place] = (count - 1) * axis.stride
    wide = np.pad(given[1], [(each, each) for each in zeros])
    maps = [
        to_affine_map(each, len(bands.domain_extents)).data
        for each in bands.tile_accesses(form.indexing_maps, form.result_map)
    ]
    new = graph.LinearContractOp(
        [op.lhs, value(wide.shape)], bands.domain_extents, maps, op.result.type
    )
    new.verify()
    work = MatmulWork.of_iterators(OpFacts(new).iterator_roles, OpFacts(new).extents)
    assert work == bands.banded_work
    return new.compute_reference(given[0], wide)


@pytest.mark.one_in(1 / 2)
@pytest.mark.parametrize("seed", range(60))
def test_bands_take_the_fewest_steps(seed: int):
    rng = np.random.default_rng(seed)
    op = some_convolution(rng, int(rng.integers(1, 5)))
    form = OpFacts(op)
    if (windows := form.windows) is None:
        return
    alone = ARRAY.steps_of_matmul(
        MatmulWork.of_iterators(form.iterator_roles, form.extents)
    )
    found = BandedMatmul.find_fastest(windows, form.extents, ARRAY)
    least = min(
        [alone]
        + [
            ARRAY.steps_of_matmul(windows.banded_matmul_work(form.extents, counts))
            for counts in all_counts(windows, form.extents)
            if prod(counts) * windows.filter_count(form.extents) <= 8
        ]
    )
    assert (
        alone if found is None else ARRAY.steps_of_matmul(found.banded_work)
    ) == least
    assert found is None or least < alone


def test_channels_by_themselves_fill_the_columns():
    """Of 56 x 56 results of 3 x 3 windows, 7 x 7 see 81 elements: 81 steps, not 441."""
    form = OpFacts(
        graph.Conv2dOp(value([1, 1, 58, 58]), value([1, 1, 3, 3]), padding=[0, 0, 0, 0])
    )
    assert form.windows is not None
    bands = BandedMatmul.find_fastest(form.windows, form.extents, SystolicArray(64, 64))
    assert bands is not None
    assert bands.neighbour_counts == (7, 7)
    assert bands.banded_work == MatmulWork(1, 64, 49, 81)
    assert SystolicArray(64, 64).steps_of_matmul(bands.banded_work) == 81
    assert (
        SystolicArray(64, 64).steps_of_matmul(
            MatmulWork.of_iterators(form.iterator_roles, form.extents)
        )
        == 9 * 49
    )


def test_filters_that_fill_the_columns_need_no_bands():
    form = OpFacts(graph.Conv2dOp(value([1, 4, 9, 9]), value([8, 4, 3, 3])))
    assert form.windows is not None
    assert BandedMatmul.find_fastest(form.windows, form.extents, ARRAY) is None


@pytest.mark.parametrize("kind", ["dilated", "no windows"])
def test_only_windows_of_neighbours_have_bands(kind: str):
    if kind == "dilated":
        op = graph.Conv2dOp(value([1, 1, 9, 9]), value([1, 1, 3, 3]), dilation=[2, 2])
    else:
        op = graph.MatmulOp(value([4, 5]), value([5, 6]))
    assert OpFacts(op).windows is None


@pytest.mark.one_in(1 / 2)
@pytest.mark.parametrize("seed", range(60))
def test_no_tiles_beat_the_bound(seed: int):
    """However rows are cut, in bands or not, they take the passes of the bound."""
    rng = np.random.default_rng(seed)
    op = some_convolution(rng, int(rng.integers(1, 4)))
    form, rows, cols = OpFacts(op), 8, 8
    *first, height, width, channels, tall, wide = form.extents
    total, left = 0, height
    while left:
        part = int(rng.integers(1, left + 1))
        left -= part
        extents = (*first, part, width, channels, tall, wide)
        choices = [MatmulWork.of_iterators(form.iterator_roles, extents)]
        if form.windows is not None:
            choices += [
                form.windows.banded_matmul_work(extents, counts)
                for counts in all_counts(form.windows, extents)
            ]
        batch, m, n, k = choices[int(rng.integers(len(choices)))]
        total += batch * k * ceil(m / rows) * ceil(n / cols)
    assert ContractionSteps.of(op).min_passes(rows, cols) <= total
    least = ContractionSteps.of(op).min_cells_per_mac(rows, cols)
    assert ContractionSteps.of(op).macs * least <= total * rows * cols
