"""Kernels that Triton's interpreter runs."""

from collections.abc import Callable
from typing import Any

import pytest
import torch

from tlf.runtime.triton import interpreted_kernel
from tlf.runtime.triton.interpreted_kernel import InterpretedKernel
from tlf.runtime.triton.launch_plan import Kernel
from tlf.runtime.triton.runtime_errors import KernelError

KERNEL = Kernel("f", "", "", (3,), 4, 2, ("p0", "p1"))


class Function:
    """A function that Triton interprets, which notes how it is called."""

    def __init__(self) -> None:
        self.asked: list[tuple[object, ...]] = []

    def __getitem__(self, grid: tuple[int, ...]) -> Callable[..., None]:
        def call(*arguments: object, num_warps: int, num_stages: int) -> None:
            self.asked.append((grid, num_warps, num_stages, *arguments))

        return call


def interpreted(monkeypatch: pytest.MonkeyPatch, function: object) -> InterpretedKernel:
    loads: list[Kernel] = []

    def load(kernel: Kernel) -> Any:
        assert not loads
        loads.append(kernel)
        return function

    monkeypatch.setattr(interpreted_kernel, "import_kernel_function", load)
    return InterpretedKernel(KERNEL)


def test_all_programs_are_run(monkeypatch: pytest.MonkeyPatch) -> None:
    function, x = Function(), torch.zeros(64)
    run = interpreted(monkeypatch, function)
    run([x, x])
    run([x, x])
    assert function.asked == 2 * [((3,), 4, 2, x, x)]


def test_errors_name_the_kernel(monkeypatch: pytest.MonkeyPatch) -> None:
    run = interpreted(monkeypatch, dict[object, object]())
    with pytest.raises(KernelError, match="kernel 'f': KeyError"):
        run([torch.zeros(4), torch.zeros(4)])
