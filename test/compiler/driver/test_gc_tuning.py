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
    ("young", "meanwhile"), [(700, YOUNG_THRESHOLD), (0, 0), (9_000_000, 9_000_000)]
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


def test_new_objects_are_not_collected_at_the_end():
    started: list[int] = []

    def observe(phase: str, info: dict[str, int]) -> None:
        started.append(info["generation"])

    gc.collect()
    gc.set_threshold(700, 11, 12)
    with reduce_garbage_collections():
        kept = [[index] for index in range(5_000)]
        gc.callbacks.append(observe)
    few = [[index] for index in range(100)]
    gc.callbacks.remove(observe)
    assert len(kept) + len(few) == 5_100
    assert not started


def test_frozen_objects_stay_frozen():
    gc.freeze()
    try:
        with reduce_garbage_collections():
            pass
        assert gc.get_freeze_count()
    finally:
        gc.unfreeze()
