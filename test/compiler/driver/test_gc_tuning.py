"""Frequency of Python's garbage collections while passes run."""

import gc
from collections.abc import Generator

import pytest

from tlf.compiler.driver.gc_tuning import YOUNG_THRESHOLD, reduce_garbage_collections


@pytest.fixture(autouse=True)
def threshold() -> Generator[None]:
    before = gc.get_threshold()
    yield
    gc.set_threshold(*before)


@pytest.mark.parametrize(
    ("young", "meanwhile"), [(700, YOUNG_THRESHOLD), (0, 0), (90_000, 90_000)]
)
def test_collections_are_rare_for_a_while(young: int, meanwhile: int):
    gc.set_threshold(young, 11, 12)

    with reduce_garbage_collections():
        assert gc.get_threshold() == (meanwhile, 11, 12)

    assert gc.get_threshold() == (young, 11, 12)


def test_they_are_as_before_after_an_error():
    gc.set_threshold(700, 11, 12)

    with pytest.raises(ZeroDivisionError), reduce_garbage_collections():
        _ = 1 / 0

    assert gc.get_threshold() == (700, 11, 12)
