"""The arithmetic under lower bounds, against counting one by one."""

from collections.abc import Sequence
from itertools import product
from math import ceil, prod
from operator import mul

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tlf.analysis.bounds.access_footprint import (
    access_footprint_of,
    footprint_size,
    is_access_in_bounds,
    min_bursts_of_footprint,
)
from tlf.analysis.bounds.array_passes import ContractionSteps, min_cells_of_product_row
from tlf.analysis.bounds.matmul_traffic import min_words_moved_by_matmul
from tlf.analysis.work.engine_throughput import Engines, min_cycles_on_both_engines
from tlf.compiler.driver.driver import new_context, parse_module
from tlf.compiler.driver.source import Source
from tlf.dialects.graph import Conv2dOp
from tlf.dialects.target import load_target_spec
from tlf.support.affine.index_access import IndexAccess

NPU = load_target_spec("npu")

ACCESSES = st.builds(
    IndexAccess,
    st.lists(st.tuples(st.integers(0, 3), st.integers(1, 5)), max_size=2).map(
        lambda terms: tuple({iterator: (iterator, c) for iterator, c in terms}.values())
    ),
    st.integers(-4, 4),
    st.integers(1, 3),
)


def reached(
    accesses: Sequence[IndexAccess], extents: Sequence[int], shape: Sequence[int]
) -> set[tuple[int, ...]]:
    """The indices that iterations touch, one by one."""
    found: set[tuple[int, ...]] = set()
    for iteration in product(*map(range, extents)):
        starts = [
            access.offset + sum(c * iteration[each] for each, c in access.terms)
            for access in accesses
        ]
        widths = [range(access.width) for access in accesses]
        for more in product(*widths):
            index = tuple(
                start + each for start, each in zip(starts, more, strict=True)
            )
            if all(0 <= i < extent for i, extent in zip(index, shape, strict=True)):
                found.add(index)
    return found


@settings(max_examples=150, deadline=None)
@given(
    st.lists(ACCESSES, min_size=1, max_size=3),
    st.tuples(*[st.integers(1, 4)] * 4),
    st.tuples(*[st.integers(1, 12)] * 3),
    st.sampled_from([1, 4, 16]),
)
def test_touched_elements_are_counted(
    accesses: list[IndexAccess],
    extents: tuple[int, ...],
    room: tuple[int, ...],
    burst: int,
):
    shape = room[: len(accesses)]
    exact = reached(accesses, extents, shape)
    moving = [{i for i, _ in access.terms if extents[i] > 1} for access in accesses]
    found = access_footprint_of(tuple(accesses), extents, shape)

    if sum(map(len, moving)) == len(set[int]().union(*moving)):
        assert footprint_size(found) == len(exact)
    assert footprint_size(found) <= len(exact)
    weights = [prod(shape[axis + 1 :]) for axis in range(len(shape))]
    places = {2 * sum(np.multiply(index, weights)) for index in exact}
    with_one = {(place + byte) // burst for place in places for byte in (0, 1)}
    if footprint_size(found) == len(exact):
        assert ceil(2 * len(exact) / burst) <= min_bursts_of_footprint(
            found, shape, 2, burst
        )
        assert min_bursts_of_footprint(found, shape, 2, burst) <= len(with_one)


def test_products_with_padding_are_left_out():
    module = parse_module(
        new_context(),
        Source(
            """
func.func @f(%x: tensor<2x6x9x7xf32>, %w: tensor<4x3x3x5xf32>) -> tensor<2x4x5x6xf32> {
  %0 = graph.conv2d %x, %w strides [2, 1] padding [1, 2, 1, 1] groups 2
      : (tensor<2x6x9x7xf32>, tensor<4x3x3x5xf32>) -> tensor<2x4x5x6xf32>
  func.return %0 : tensor<2x4x5x6xf32>
}
""",
            "program.mlir",
        ),
    )
    (op,) = (each for each in module.walk() if isinstance(each, Conv2dOp))
    rows = sum(0 <= 2 * h + r - 1 < 9 for h in range(5) for r in range(3))
    columns = sum(0 <= w + s - 2 < 7 for w in range(6) for s in range(5))

    assert ContractionSteps.of(op).macs == 2 * 4 * 3 * rows * columns
    assert 2 * ContractionSteps.of(op).macs < op.flops()


@settings(max_examples=200, deadline=None)
@given(st.data())
def test_no_tiling_needs_fewer_passes(data: st.DataObject):
    """Rows are cut first, the columns of each piece by themselves."""
    rows, cols = data.draw(st.tuples(st.integers(1, 5), st.integers(1, 5)))
    m, n = data.draw(st.tuples(st.integers(1, 17), st.integers(1, 17)))

    def pieces(total: int) -> list[int]:
        found: list[int] = []
        while sum(found) < total:
            found.append(data.draw(st.integers(1, total - sum(found))))
        return found

    total = 0
    for high in pieces(m):
        for wide in pieces(n):
            ways = ((rows, cols), (cols, rows))
            total += min(ceil(high / r) * ceil(wide / c) for r, c in ways)
    assert ContractionSteps(3, (m,), n).min_passes(rows, cols) <= 3 * total
    assert ContractionSteps(3, (m,), n).min_passes(rows, cols) >= 3 * ceil(
        m * n / (rows * cols)
    )


def test_passes_where_rows_need_not_be_neighbours():
    """Three passes of 2 by 2 cover 3 by 3, two rows and two columns each."""
    cells = {
        cell
        for rows, columns in (((0, 1), (0, 1)), ((0, 2), (1, 2)), ((1, 2), (0, 2)))
        for cell in product(rows, columns)
    }
    assert len(cells) == 9

    assert ContractionSteps(1, (3,), 3).min_passes(2, 2) == 3


@pytest.mark.parametrize(
    ("m", "n", "passes"), [(64, 64, 1), (65, 64, 2), (1, 4096, 64), (128, 100, 4)]
)
def test_passes_of_a_square_array(m: int, n: int, passes: int):
    assert ContractionSteps(1, (m,), n).min_passes(64, 64) == passes


def test_shares_of_an_oblong_array():
    # 40 columns on an array of 8 by 32: 32 along its columns, 8 along its rows.
    assert min_cells_of_product_row(40, 8, 32) == 40
    assert min_cells_of_product_row(33, 8, 32) == 40
    assert min_cells_of_product_row(64, 8, 32) == 64


@pytest.mark.parametrize(("mebibytes", "megabytes"), [(1, 377.5), (16, 61.3)])
def test_words_of_a_large_product(mebibytes: int, megabytes: float):
    """4096 cubed in 16 bits: 2 m n k / sqrt(S) - 2 S words."""
    words = mebibytes * 2**20 // 2

    moved = 2 * min_words_moved_by_matmul(4096, 4096, 4096, words)
    assert abs(moved / 1e6 - megabytes) < 0.2
    assert moved <= 2 * (2 * 4096**3 / words**0.5 - 2 * words)


@settings(max_examples=100, deadline=None)
@given(
    st.lists(st.tuples(st.floats(0, 50), st.integers(0, 5000)), max_size=3),
    st.floats(0, 60),
)
def test_products_divide_between_engines(
    products: list[tuple[float, int]], vector: float
):
    """No other way to give parts of products to the engines is quicker."""
    products = [(cycles, macs) for cycles, macs in products if cycles > 1e-3]
    engines = Engines.of(NPU)
    found = min_cycles_on_both_engines(products, vector, engines)

    for parts in product(np.linspace(0, 1, 9), repeat=len(products)):
        matrix, other = 0.0, vector
        for part, (cycles, macs) in zip(parts, products, strict=True):
            matrix += (1 - part) * cycles if macs else cycles
            other += part * 2 * macs / engines.vector_rate
        assert found <= max(matrix, other) + 1e-9


@pytest.mark.parametrize("coefficients", [(2, 1), (-1, 1), (1, -2), (-1, -1)])
def test_bounds_of_accesses_are_those_of_their_indices(coefficients: tuple[int, int]):
    extents = (4, 3)
    for offset, width in product(range(-2, 9), (1, 2)):
        access = IndexAccess(tuple(enumerate(coefficients)), offset, width)
        starts = [
            offset + sum(map(mul, coefficients, at))
            for at in product(*map(range, extents))
        ]
        expected = min(starts) >= 0 and max(starts) + width <= 9
        assert is_access_in_bounds(access, extents, 9) == expected
