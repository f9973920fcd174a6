"""Plans run where their tensors are."""

from __future__ import annotations

import pytest
import torch

from tlf.runtime.triton.device_tensors import common_device
from tlf.runtime.triton.runtime_errors import GuardError

FIRST, SECOND, HOST = (torch.device(each) for each in ("cuda:0", "cuda:1", "cpu"))


def test_common_device():
    assert common_device([], FIRST) == FIRST
    assert common_device([HOST], FIRST) == FIRST
    assert common_device([HOST, SECOND, SECOND], FIRST) == SECOND
    assert common_device([SECOND], HOST) == HOST
    with pytest.raises(GuardError, match=r"on one device, got cuda:0, cuda:1"):
        common_device([FIRST, SECOND], FIRST)
