"""Operations that a call of PyTorch becomes have its location."""

import torch
from torch import nn
from xdsl.dialects.builtin import UnknownLoc

from tlf.dialects import graph
from tlf.frontend.torch.export import from_torch


def test_weighted_sums_of_uneven_windows():
    module = from_torch(nn.AdaptiveAvgPool2d(3), (torch.ones(1, 2, 7, 8),)).module
    sums = [op for op in module.walk() if isinstance(op, graph.ContractOp)]
    assert sums
    assert not any(isinstance(op.location, UnknownLoc) for op in sums)
