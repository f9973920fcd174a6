"""Checks of arguments that are repeated only for other tensors."""

import gc
import weakref

import numpy as np
import pytest
import torch

from tlf.runtime.triton import argument_guard
from tlf.runtime.triton.argument_guard import ArgumentGuard
from tlf.runtime.triton.device_tensors import upload_argument
from tlf.runtime.triton.launch_plan import DeviceBuffer
from tlf.runtime.triton.runtime_errors import GuardError

CPU = torch.device("cpu")


def guard() -> ArgumentGuard:
    return ArgumentGuard([DeviceBuffer("x", "argument", "f32", (4,))], CPU)


def count_checks(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    checked: list[object] = []

    def upload_and_note(
        buffer: DeviceBuffer, value: object, device: torch.device
    ) -> torch.Tensor:
        checked.append(value)
        return upload_argument(buffer, value, device)

    monkeypatch.setattr(argument_guard, "upload_argument", upload_and_note)
    return checked


def test_known_tensors_are_checked_once(monkeypatch: pytest.MonkeyPatch) -> None:
    checked, known, (x, y) = count_checks(monkeypatch), guard(), torch.zeros(2, 4)
    assert known.upload_arguments([x])[0] is x
    assert known.upload_arguments([x])[0] is x
    assert len(checked) == 1
    assert known.upload_arguments([y])[0] is y
    assert len(checked) == 2


def test_tensors_with_other_data_are_checked() -> None:
    known, x = guard(), torch.zeros(4)
    known.upload_arguments([x])
    x.data = torch.zeros(5)
    with pytest.raises(GuardError, match=r"shape \(4,\), got \(5,\)"):
        known.upload_arguments([x])
    x.data = torch.zeros(4)
    assert known.upload_arguments([x])[0] is x
    x.data = x.data[:3]
    with pytest.raises(GuardError, match=r"shape \(4,\), got \(3,\)"):
        known.upload_arguments([x])


def test_arrays_are_uploaded_each_time() -> None:
    known, x = guard(), np.zeros(4, np.float32)
    known.upload_arguments([x])
    x[:] = 1
    assert torch.equal(known.upload_arguments([x])[0], torch.ones(4))


def test_tensors_are_not_kept_alive() -> None:
    known, x = guard(), torch.zeros(4)
    known.upload_arguments([x])
    seen = weakref.ref(x)
    del x
    gc.collect()
    assert seen() is None
