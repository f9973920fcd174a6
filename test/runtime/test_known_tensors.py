"""Tensors of earlier calls, and what makes them unknown."""

import weakref

import numpy as np
import torch

from tlf.runtime.known_tensors import KnownTensors


def test_tensors_are_known_by_identity_and_position():
    known, (x, y) = KnownTensors(2), torch.zeros(2, 4)
    assert known.find_unknown([x, y]) == [0, 1]
    known.remember(0, x)
    known.remember(1, y)
    assert known.find_unknown([x, y]) == []
    assert known.find_unknown([y, x]) == [0, 1]
    assert known.find_unknown([x, y.clone()]) == [1]
    known.forget(0)
    assert known.find_unknown([x, y]) == [0]


def test_arrays_are_unknown():
    known, x = KnownTensors(1), np.zeros(4)
    assert known.find_unknown([x]) == [0]
    known.remember(0, torch.zeros(4))
    assert known.find_unknown([x]) == [0]


def test_tensors_with_other_data_are_unknown():
    x = torch.zeros(4, 4)
    known = KnownTensors(1)
    known.remember(0, x)
    x[0] = 1
    assert not known.find_unknown([x])
    data = x.data
    for other in (data.clone(), data[:2], data.t()):
        x.data = other
        assert known.find_unknown([x])
    x.data = data
    assert not known.find_unknown([x])


def test_tensors_are_not_kept_alive():
    known, x = KnownTensors(1), torch.zeros(4)
    known.remember(0, x)
    seen = weakref.ref(x)
    del x
    assert seen() is None
