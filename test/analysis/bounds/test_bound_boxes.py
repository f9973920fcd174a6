"""
Bounds on what boxes at unknown positions read and what reads them, against all
positions.
"""

from collections.abc import Iterator, Sequence
from itertools import product

from hypothesis import given, settings
from hypothesis import strategies as st

from tlf.analysis.bounds.reading_iterations import min_reading_iterations
from tlf.analysis.bounds.strided_runs import (
    StridedRun,
    min_reached_box,
    reshape_run_box,
)
from tlf.support.affine.index_access import Accesses, IndexAccess

EXTENTS = st.tuples(*[st.integers(1, 5)] * 3)
RUNS = st.tuples(*[st.tuples(st.integers(1, 5), st.integers(1, 2))] * 3)


@st.composite
def accesses(draw: st.DrawFn) -> Accesses:
    """One or two axes; an iterator may move along both."""
    return tuple(
        IndexAccess(
            tuple(
                (each, draw(st.integers(1, 3)))
                for each in draw(st.sets(st.integers(0, 2), max_size=2))
            ),
            draw(st.integers(-3, 3)),
            draw(st.sampled_from([1, 1, 1, 2])),
        )
        for _ in range(draw(st.integers(1, 2)))
    )


def read(each: IndexAccess, iteration: Sequence[int], extent: int) -> range:
    """The indices of an axis that an iteration reads."""
    start = each.offset + sum(c * iteration[number] for number, c in each.terms)
    return range(max(0, start), min(extent, start + each.width))


def places(runs: Sequence[StridedRun], extents: Sequence[int]) -> Iterator[list[range]]:
    """All places of a box."""
    yield from map(
        list,
        product(
            *[
                [
                    range(at, at + (run.length - 1) * run.step + 1, run.step)
                    for at in range(extent - (run.length - 1) * run.step)
                ]
                for run, extent in zip(runs, extents, strict=True)
            ]
        ),
    )


def within(run: tuple[int, int], extent: int) -> StridedRun:
    """A run that an axis has room for."""
    length, step = run
    return StridedRun(min(length, (extent - 1) // step + 1), step)


@settings(max_examples=300, deadline=None)
@given(accesses(), EXTENTS, RUNS, st.tuples(*[st.integers(1, 8)] * 2))
def test_no_box_reads_less(
    found: Accesses,
    extents: tuple[int, ...],
    runs: tuple[tuple[int, int], ...],
    shape: tuple[int, ...],
):
    shape = shape[: len(found)]
    box = [within(run, extent) for run, extent in zip(runs, extents, strict=True)]

    reached = min_reached_box(found, box, extents, shape)

    for place in places(box, extents):
        elements = {
            index
            for iteration in product(*place)
            for index in product(
                *[
                    read(each, iteration, n)
                    for each, n in zip(found, shape, strict=True)
                ]
            )
        }
        assert reached is None or any(
            elements.issuperset(product(*each)) for each in places(reached, shape)
        )


@settings(max_examples=300, deadline=None)
@given(accesses(), EXTENTS, st.tuples(*[st.integers(1, 8)] * 4))
def test_no_box_is_read_less(
    found: Accesses, extents: tuple[int, ...], sizes: tuple[int, ...]
):
    shape = sizes[: len(found)]
    lengths = [min(pair) for pair in zip(sizes[2:], shape, strict=False)]

    touched = min_reading_iterations(found, lengths, extents, shape)

    for place in places([StridedRun(each) for each in lengths], shape):
        iterations = {
            iteration
            for iteration in product(*map(range, extents))
            if all(
                set(read(each, iteration, n)) & set(indices)
                for each, n, indices in zip(found, shape, place, strict=True)
            )
        }
        if touched is None:
            continue
        assert touched.iterations <= len(iterations)
        for number, count in enumerate(touched.values_per_iterator):
            assert count <= len({each[number] for each in iterations})


def test_windows_at_a_border_read_less():
    window = (IndexAccess(((0, 1), (1, 1)), -1),)

    assert min_reached_box(window, [StridedRun(1), StridedRun(3)], (8, 3), (8,)) == (
        StridedRun(2),
    )
    assert min_reached_box(window, [StridedRun(8), StridedRun(3)], (8, 3), (8,)) == (
        StridedRun(8),
    )
    assert min_reached_box((IndexAccess(((0, 2),)),), [StridedRun(3)], (4,), (8,)) == (
        StridedRun(3, 2),
    )


def test_strides_leave_taps_out():
    window = (IndexAccess(((0, 2), (1, 1)), -1),)

    found = min_reading_iterations(window, [1], (4, 3), (8,))
    assert found is not None
    assert (found.values_per_iterator, found.iterations) == ((1, 1), 1)
    found = min_reading_iterations(window, [3], (4, 3), (8,))
    assert found is not None
    assert (found.values_per_iterator, found.iterations) == ((2, 3), 4)


def test_other_shapes_keep_whole_axes():
    groups = [((0,), (0, 1)), ((1, 2), (2,))]

    def box(*lengths: int):
        return tuple(map(StridedRun, lengths))

    assert reshape_run_box(groups, box(2, 3, 8), (2, 3, 8), (6, 4, 2)) == box(6, 4, 2)
    assert reshape_run_box(groups, box(2, 1, 8), (2, 3, 8), (6, 4, 2)) == box(1, 4, 2)
    assert reshape_run_box(groups, box(2, 3, 7), (2, 3, 8), (6, 4, 2)) == box(6, 1, 1)
