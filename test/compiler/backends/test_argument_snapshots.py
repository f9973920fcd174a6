"""Snapshots of arguments, and what changes them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

import tlf
from tlf.compiler.backends.argument_snapshots import ArgumentSnapshots

T: Any = torch


def write(values: list[Any]) -> None:
    values[0].add_(1)


def replace_data(values: list[Any]) -> None:
    values[0].data = values[0].data.clone()


def transpose_data(values: list[Any]) -> None:
    values[0].data = values[0].data.t()


def report_write(values: list[Any]) -> None:
    values[0].data[0] = 3
    tlf.refresh(values[0])


def replace_tensor(values: list[Any]) -> None:
    values[0] = values[0].clone()


def replace_by_array(values: list[Any]) -> None:
    values[0] = values[0].numpy()


def replace_in_inference_mode(values: list[Any]) -> None:
    with T.inference_mode():
        values[0] = T.zeros(3, 3)


def write_array(values: list[Any]) -> None:
    values[1][0] = 1


def replace_array_by_tensor(values: list[Any]) -> None:
    values[1] = T.tensor(values[1])


def report_write_in_inference_mode(values: list[Any]) -> None:
    with T.inference_mode():
        values[2].add_(1)
    tlf.refresh(values[2])


@pytest.mark.parametrize(
    "change",
    [
        write,
        replace_data,
        transpose_data,
        report_write,
        replace_tensor,
        replace_by_array,
        replace_in_inference_mode,
        write_array,
        replace_array_by_tensor,
        report_write_in_inference_mode,
    ],
)
def test_changes_are_seen(change: Callable[[list[Any]], None]):
    with T.inference_mode():
        inference = T.zeros(4)
    values: list[Any] = [T.zeros(3, 3), np.zeros(4), inference]
    snapshots = ArgumentSnapshots(values)
    assert snapshots.are_unchanged(values)
    # Other tensors with the same memory have the same values.
    assert snapshots.are_unchanged([values[0].detach(), values[1].copy(), inference])
    change(values)
    assert not snapshots.are_unchanged(values)
