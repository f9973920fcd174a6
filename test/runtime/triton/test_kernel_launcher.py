"""Kernels that Triton compiled for buffers are found again without asking it."""

from collections.abc import Callable, Sequence
from typing import Any

import pytest
import torch

from tlf.runtime.triton import kernel_launcher
from tlf.runtime.triton.kernel_admission import KernelFacts, KernelVariant
from tlf.runtime.triton.kernel_launcher import KernelLauncher
from tlf.runtime.triton.launch_plan import Kernel
from tlf.runtime.triton.runtime_errors import KernelError

KERNEL = Kernel("f", "", "", (3,), 4, 2, ("p0", "p1"))


class Jit:
    """Triton's compiler, which notes for what it compiles and what is launched."""

    def __init__(self) -> None:
        self.loaded: list[Kernel] = []
        self.asked: list[tuple[object, ...]] = []
        self.run: list[tuple[object, ...]] = []

    def load(self, kernel: Kernel) -> Any:
        self.loaded.append(kernel)
        return self

    def compile(
        self, variant: KernelVariant, function: Any, arguments: Sequence[object]
    ) -> Any:
        kernel = variant.kernel
        assert function is self
        self.asked.append((kernel.grid, kernel.num_warps, *arguments))
        return Compiled(self)


class Compiled:
    """A kernel that notes how it is launched."""

    run = None

    def __init__(self, jit: Jit) -> None:
        self.jit = jit

    def __getitem__(self, grid: tuple[int, ...]) -> Callable[..., None]:
        return lambda *arguments: self.jit.run.append((grid, *arguments))


class Interpreter:
    """A function that Triton interprets, which notes how it is called."""

    def __init__(self) -> None:
        self.asked: list[tuple[object, ...]] = []

    def __getitem__(self, grid: tuple[int, ...]) -> Callable[..., None]:
        def call(*arguments: object, num_warps: int, num_stages: int) -> None:
            self.asked.append((grid, num_warps, num_stages, *arguments))

        return call


def made(
    monkeypatch: pytest.MonkeyPatch, jit: Jit, facts: Sequence[KernelFacts] = ()
) -> KernelLauncher:
    """A launcher; kernels that are compiled have `facts`, one after the other."""
    following = iter(facts)

    def read(compiled: object, limit: int) -> KernelFacts:
        return next(following, KernelFacts(0, 0))

    monkeypatch.setattr(kernel_launcher, "compile_kernel_variant", jit.compile)
    monkeypatch.setattr(kernel_launcher, "import_kernel_function", jit.load)
    monkeypatch.setattr(kernel_launcher, "read_kernel_facts", read)
    monkeypatch.setattr(kernel_launcher, "shared_memory_limit", lambda: 1000)
    return KernelLauncher(KERNEL)


def interpreted(monkeypatch: pytest.MonkeyPatch, function: object) -> KernelLauncher:
    """A launcher of a function that Triton interprets."""

    def load(kernel: Kernel) -> object:
        assert kernel is KERNEL
        return function

    monkeypatch.setattr(kernel_launcher, "import_kernel_function", load)
    return KernelLauncher(KERNEL, is_interpreted=True)


def test_triton_is_asked_once(monkeypatch: pytest.MonkeyPatch) -> None:
    jit, (x, y) = Jit(), torch.zeros(2, 64).unbind()
    launch = made(monkeypatch, jit)
    launch([x, y])
    assert jit.asked == [((3,), 4, x, y)]
    assert jit.run == [((3, 1, 1), x, y)]
    launch([y, x])
    assert len(jit.asked) == 1
    assert jit.run[1:] == [((3, 1, 1), y, x)]


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
    assert len(jit.run) == 4


def test_what_is_compiled_ahead_is_launched(monkeypatch: pytest.MonkeyPatch) -> None:
    jit, (x, y) = Jit(), torch.zeros(2, 64).unbind()
    launch = made(monkeypatch, jit)
    launch.compile_before_launch([x, y])
    assert (len(jit.asked), jit.run) == (1, [])
    launch.compile_before_launch([y, x])
    launch([x, y])
    assert (len(jit.asked), len(jit.run)) == (1, 1)


def test_launches_tell_of_what_failed_ahead(monkeypatch: pytest.MonkeyPatch) -> None:
    jit, x = Jit(), torch.zeros(64)
    launch = made(monkeypatch, jit, [KernelFacts(2000, 0)] * 20)
    launch.compile_before_launch([x, x])
    with pytest.raises(KernelError, match="2000 bytes of shared memory"):
        launch([x, x])


def test_numbers_are_left_to_triton(monkeypatch: pytest.MonkeyPatch) -> None:
    # The first way to compile needs too much shared memory; it is not tried again.
    jit, x = Jit(), torch.zeros(64)
    launch = made(monkeypatch, jit, [KernelFacts(2000, 0)])
    for number in (1, 16, 16):
        launch([x, number])
    assert len(jit.asked) == 4
    assert len(jit.run) == 3
    # Nor is its file looked at again.
    assert len(set(jit.loaded)) == len(jit.loaded)


def test_the_interpreter_compiles_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    function, x = Interpreter(), torch.zeros(64)
    launch = interpreted(monkeypatch, function)
    launch([x, x])
    launch([x, x])
    assert function.asked == 2 * [((3,), 4, 2, x, x)]


def test_kernels_that_cannot_run_are_not_launched(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    jit, x = Jit(), torch.zeros(64)
    launch = made(monkeypatch, jit, 9 * [KernelFacts(2000, 0)])
    with pytest.raises(KernelError, match="kernel 'f': takes 2000 bytes"):
        launch([x, x])
    assert not jit.run


def test_errors_name_the_kernel(monkeypatch: pytest.MonkeyPatch) -> None:
    launch = interpreted(monkeypatch, dict[object, object]())
    with pytest.raises(KernelError, match="kernel 'f': KeyError"):
        launch([torch.zeros(4), torch.zeros(4)])
