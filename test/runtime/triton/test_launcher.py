"""What Triton compiled for buffers is found again without asking it."""

from collections.abc import Callable
from typing import Any

import pytest
import torch

from tlf.runtime.triton import launcher
from tlf.runtime.triton.errors import KernelError
from tlf.runtime.triton.launcher import Launcher
from tlf.runtime.triton.plan import Kernel

KERNEL = Kernel("f", "", "", (3,), 4, 2, ("p0", "p1"))


class Jit:
    """A function of Triton that notes how it is called."""

    def __init__(self, is_compiled: bool = True) -> None:
        self.is_compiled = is_compiled
        self.asked: list[tuple[object, ...]] = []
        self.run: list[tuple[object, ...]] = []

    def __getitem__(self, grid: tuple[int, ...]) -> Callable[..., Any]:
        def call(*arguments: object, num_warps: int, num_stages: int) -> Any:
            self.asked.append((grid, num_warps, num_stages, *arguments))
            return Compiled(self) if self.is_compiled else None

        return call


class Compiled:
    """A kernel that notes how it is launched."""

    def __init__(self, jit: Jit) -> None:
        self.jit = jit

    def __getitem__(self, grid: tuple[int, ...]) -> Callable[..., None]:
        return lambda *arguments: self.jit.run.append((grid, *arguments))


def made(monkeypatch: pytest.MonkeyPatch, jit: object) -> Launcher:
    def function(kernel: Kernel) -> object:
        assert kernel is KERNEL
        return jit

    monkeypatch.setattr(launcher, "kernel_function", function)
    return Launcher(KERNEL)


def test_triton_is_asked_once(monkeypatch: pytest.MonkeyPatch) -> None:
    jit, (x, y) = Jit(), torch.zeros(2, 64).unbind()
    launch = made(monkeypatch, jit)
    launch([x, y])
    assert jit.asked == [((3,), 4, 2, x, y)]
    assert not jit.run
    launch([y, x])
    assert len(jit.asked) == 1
    assert jit.run == [((3, 1, 1), y, x)]


def test_buffers_elsewhere_in_a_sector_have_another_kernel(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    jit, x = Jit(), torch.zeros(64)
    launch = made(monkeypatch, jit)
    launch([x, x])
    launch([x, x[1:]])
    launch([x[1:], x])
    assert len(jit.asked) == 3
    launch([x, x[2:]])
    assert len(jit.asked) == 3
    assert len(jit.run) == 1


def test_numbers_are_left_to_triton(monkeypatch: pytest.MonkeyPatch) -> None:
    jit, x = Jit(), torch.zeros(64)
    launch = made(monkeypatch, jit)
    for number in (1, 16, 16):
        launch([x, number])
    assert len(jit.asked) == 3
    assert not jit.run


def test_the_interpreter_compiles_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    jit, x = Jit(is_compiled=False), torch.zeros(64)
    launch = made(monkeypatch, jit)
    launch([x, x])
    launch([x, x])
    assert len(jit.asked) == 2
    assert not jit.run


def test_errors_name_the_kernel(monkeypatch: pytest.MonkeyPatch) -> None:
    launch = made(monkeypatch, {})
    with pytest.raises(KernelError, match="kernel 'f': KeyError"):
        launch([torch.zeros(4), torch.zeros(4)])
