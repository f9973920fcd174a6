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


def test_triton_is_asked_once(monkeypatch: pytest.MonkeyPatch) -> None:
    jit, (x, y) = Jit(), torch.zeros(2, 64).unbind()
    launcher = made(monkeypatch, jit)
    launcher.bind([x, y])(1, 2)
    assert jit.asked == [((3,), 4, x, y)]
    assert jit.run == [((3, 1, 1), 1, 2)]
    launcher.bind([y, x])(2, 1)
    assert len(jit.asked) == 1
    assert jit.run[1:] == [((3, 1, 1), 2, 1)]


def test_buffers_elsewhere_in_a_sector_have_another_kernel(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    jit, x = Jit(), torch.zeros(64)
    launcher = made(monkeypatch, jit)
    launcher.bind([x, x])
    launcher.bind([x, x[1:]])
    launcher.bind([x[1:], x])
    assert len(jit.asked) == 3
    launcher.bind([x, x[2:]])
    assert len(jit.asked) == 3


def test_what_is_compiled_ahead_is_launched(monkeypatch: pytest.MonkeyPatch) -> None:
    jit, (x, y) = Jit(), torch.zeros(2, 64).unbind()
    launcher = made(monkeypatch, jit)
    launcher.compile_before_launch([x, y])
    launcher.compile_before_launch([y, x])
    launcher.bind([x, y])
    assert (len(jit.asked), jit.run) == (1, [])


def test_launches_tell_of_what_failed_ahead(monkeypatch: pytest.MonkeyPatch) -> None:
    jit, x = Jit(), torch.zeros(64)
    launcher = made(monkeypatch, jit, [KernelFacts(2000, 0)] * 20)
    launcher.compile_before_launch([x, x])
    with pytest.raises(KernelError, match="2000 bytes of shared memory"):
        launcher.bind([x, x])


def test_numbers_are_specialized(monkeypatch: pytest.MonkeyPatch) -> None:
    # The first way to compile needs too much shared memory; it is not tried again.
    jit, x = Jit(), torch.zeros(64)
    launcher = made(monkeypatch, jit, [KernelFacts(2000, 0)])
    first = launcher.bind([x, 1])
    assert len(jit.asked) == 2
    others = [launcher.bind([x, number]) for number in (3, 5, 16, 32, 2**40, 2**33)]
    assert len(jit.asked) == 5
    assert len({first, *others}) == 4
    # Nor is its file looked at again.
    assert len(set(jit.loaded)) == len(jit.loaded)


def test_kernels_that_cannot_run_are_not_launched(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    jit, x = Jit(), torch.zeros(64)
    launcher = made(monkeypatch, jit, 9 * [KernelFacts(2000, 0)])
    with pytest.raises(KernelError, match="kernel 'f': takes 2000 bytes"):
        launcher.bind([x, x])
    assert not jit.run
