"""Functions of PyTorch that write at indices, on a GPU that combines in memory."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from slow_chips import slow_chip
from torch import Tensor

import tlf
from tlf.dialects.target import load_target_spec

Function = Callable[[Tensor, Tensor, Tensor], Tensor]

aten = torch.ops.aten


def set_rows(x: Tensor, rows: Tensor, updates: Tensor) -> Tensor:
    result = x.clone()
    result[rows] = updates
    return result


def reduce_rows(kind: str) -> Function:
    """Return the scatter of rows that combines by `kind`."""
    return lambda x, rows, updates: x.scatter_reduce(
        0, rows[:, None].expand(-1, updates.shape[1]), updates, kind
    )


FUNCTIONS: dict[str, Function] = {
    "index_add": lambda x, rows, updates: x.index_add(0, rows, updates, alpha=2),
    "index_copy": lambda x, rows, updates: x.index_copy(0, rows, updates),
    "index_put": lambda x, rows, updates: aten.index_put(x, [rows], updates),
    "accumulate": lambda x, rows, updates: aten.index_put(
        x, [rows - 40], updates, True
    ),
    "set_rows": set_rows,
    "scatter": lambda x, rows, updates: x.scatter(1, rows[None, :8] % 16, updates[:1]),
    "scatter_add": reduce_rows("sum"),
    "amax": reduce_rows("amax"),
    "amin": reduce_rows("amin"),
    "embedding_backward": lambda x, rows, updates: aten.embedding_dense_backward(
        updates, rows, x.shape[0], -1, False
    ),
}

WITHOUT_ORDER = ("index_add", "accumulate", "scatter_add", "amax", "amin")
"""Functions that PyTorch defines for several updates of one element."""


class FunctionModule(torch.nn.Module):
    """Module that applies a function."""

    def __init__(self, function: Function) -> None:
        super().__init__()
        self.function = function

    def forward(self, x: Tensor, rows: Tensor, updates: Tensor) -> Tensor:
        return self.function(x, rows, updates)


@pytest.mark.one_in(3)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.int64], ids=str)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_of_pytorch(name: str, dtype: torch.dtype, tmp_path: Path):
    rng = np.random.default_rng(0)
    x, updates = (
        torch.tensor(rng.integers(-40, 40, shape), dtype=dtype)
        for shape in ((40, 16), (30, 16))
    )
    rows = torch.tensor(rng.permutation(40)[:30])
    if name in WITHOUT_ORDER:
        rows[3:12] = rows[0]
    inputs = (x, rows, updates)
    target = load_target_spec(slow_chip(tmp_path)("h200"))
    module = FunctionModule(FUNCTIONS[name])
    compiled = tlf.compile(module, inputs, target=target, cache=False)
    for _ in range(2):  # The second call starts from the inputs again.
        found = compiled(*inputs)
        assert torch.equal(found, FUNCTIONS[name](*inputs))
