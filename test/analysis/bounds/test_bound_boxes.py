"""
Bounds on what boxes at unknown positions read and what reads them, against all
positions.
"""

from collections.abc import Iterator, Sequence
from itertools import product

from hypothesis import given, settings
from hypothesis import strategies as st

from tlf.analysis.bounds.runs import Run, reached_box, reshaped_box
from tlf.analysis.bounds.touches import touch
from tlf.support.affine.access import Access, Accesses

EXTENTS = st.tuples(*[st.integers(1, 5)] * 3)
RUNS = st.tuples(*[st.tuples(st.integers(1, 5), st.integers(1, 2))] * 3)


@st.composite
def accesses(draw: st.DrawFn) -> Accesses:
    """One or two axes; an iterator may move along both."""
    return tuple(
        Access(
            tuple(
                (each, draw(st.integers(1, 3)))
                for each in draw(st.sets(st.integers(0, 2), max_size=2))
            ),
            draw(st.integers(-3, 3)),
            draw(st.sampled_from([1, 1, 1, 2])),
        )
        for _ in range(draw(st.integers(1, 2)))
    )


def read(each: Access, iteration: Sequence[int], extent: int) -> range:
    """The indices of an axis that an iteration reads."""
    start = each.offset + sum(c * iteration[number] for number, c in each.terms)
    return range(max(0, start), min(extent, start + each.width))


def places(runs: Sequence[Run], extents: Sequence[int]) -> Iterator[list[range]]:
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


def within(run: tuple[int, int], extent: int) -> Run:
    """A run that an axis has room for."""
    length, step = run
    return Run(min(length, (extent - 1) // step + 1), step)


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

    reached = reached_box(found, box, extents, shape)

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

    touched = touch(found, lengths, extents, shape)

    for place in places([Run(each) for each in lengths], shape):
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
        for number, count in enumerate(touched.values):
            assert count <= len({each[number] for each in iterations})


def test_windows_at_a_border_read_less():
    window = (Access(((0, 1), (1, 1)), -1),)

    assert reached_box(window, [Run(1), Run(3)], (8, 3), (8,)) == (Run(2),)
    assert reached_box(window, [Run(8), Run(3)], (8, 3), (8,)) == (Run(8),)
    assert reached_box((Access(((0, 2),)),), [Run(3)], (4,), (8,)) == (Run(3, 2),)


def test_strides_leave_taps_out():
    window = (Access(((0, 2), (1, 1)), -1),)

    found = touch(window, [1], (4, 3), (8,))
    assert found is not None
    assert (found.values, found.iterations) == ((1, 1), 1)
    found = touch(window, [3], (4, 3), (8,))
    assert found is not None
    assert (found.values, found.iterations) == ((2, 3), 4)


def test_other_shapes_keep_whole_axes():
    groups = [((0,), (0, 1)), ((1, 2), (2,))]

    def box(*lengths: int):
        return tuple(map(Run, lengths))

    assert reshaped_box(groups, box(2, 3, 8), (2, 3, 8), (6, 4, 2)) == box(6, 4, 2)
    assert reshaped_box(groups, box(2, 1, 8), (2, 3, 8), (6, 4, 2)) == box(1, 4, 2)
    assert reshaped_box(groups, box(2, 3, 7), (2, 3, 8), (6, 4, 2)) == box(6, 1, 1)
