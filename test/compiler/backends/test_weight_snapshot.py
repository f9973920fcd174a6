"""Snapshots of weights, and what changes them."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable
from typing import Any

import pytest
import torch

import tlf
from tlf.compiler.backends.weight_snapshot import WeightSnapshot

T: Any = torch

Change = Callable[[list[Any]], None]


def replace_tensor(values: list[Any]) -> None:
    values[0] = values[0].detach()


def replace_data(values: list[Any]) -> None:
    values[0].data = values[0].data.clone()


def shorten_data(values: list[Any]) -> None:
    values[0].data = values[0].data[:2]


def transpose_data(values: list[Any]) -> None:
    values[0].data = values[0].data.t()


def report_write(values: list[Any]) -> None:
    tlf.refresh(values[1].data[:1])


def write_watched(values: list[Any]) -> None:
    values[1].add_(1)


def move_watched_twice(values: list[Any]) -> None:
    replaced = values[1].data_ptr()
    for _ in range(100):
        values[1].data = values[1].data.clone()
        if values[1].data_ptr() == replaced:
            return


@pytest.mark.parametrize(
    "change",
    [
        replace_tensor,
        replace_data,
        shorten_data,
        transpose_data,
        report_write,
        write_watched,
        move_watched_twice,
    ],
)
def test_changes_are_seen(change: Change):
    values: list[Any] = [T.zeros(3, 3), T.zeros(4)]
    snapshot = WeightSnapshot(values, [1])
    assert snapshot.are_unchanged(values)
    change(values)
    assert not snapshot.are_unchanged(values)


def test_writes_to_other_weights_do_not_matter():
    values: list[Any] = [T.zeros(3, 3), T.zeros(4)]
    snapshot = WeightSnapshot(values, [1])
    values[0].add_(1)
    assert snapshot.are_unchanged(values)


def test_weights_of_an_inference_mode():
    with T.inference_mode():
        values = [T.zeros(4)]
    snapshot = WeightSnapshot(values, [0])
    assert snapshot.are_unchanged(values)
    tlf.refresh(values[0])
    assert not snapshot.are_unchanged(values)


def test_tensors_are_not_kept_alive():
    values = [T.zeros(4)]
    snapshot = WeightSnapshot(values, [0])
    seen = weakref.ref(values.pop().untyped_storage())
    gc.collect()
    assert seen() is None
    assert not snapshot.are_unchanged([T.zeros(4)])
