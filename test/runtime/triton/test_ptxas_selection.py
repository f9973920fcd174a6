"""The choice of an assembler, which all threads share."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from threading import Barrier, Event, Thread
from typing import Any

import pytest

from tlf.runtime.triton.kernel_admission import KernelVariant
from tlf.runtime.triton.kernel_compilation import compile_kernel_variant
from tlf.runtime.triton.launch_plan import Kernel
from tlf.runtime.triton.ptxas_selection import use_assembler

KERNEL = Kernel("f", "", "", (3,), 4, 2, ())


@pytest.fixture
def nvidia(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Triton's settings, by which the usual assembler is another than the newest."""
    triton: Any = pytest.importorskip("triton")
    knobs = triton.knobs.nvidia
    monkeypatch.setenv("TRITON_PTXAS_PATH", knobs.ptxas.path)
    monkeypatch.setenv("TRITON_PTXAS_BLACKWELL_PATH", knobs.ptxas_blackwell.path)
    return knobs


def usual(nvidia: Any) -> str:
    return str(nvidia.ptxas.path)


def test_that_the_choice_ends(nvidia: Any):
    before = usual(nvidia)
    with use_assembler(is_newest=True):
        assert usual(nvidia) == nvidia.ptxas_blackwell.path
    assert usual(nvidia) == before
    with suppress(KeyError), use_assembler(is_newest=True):
        raise KeyError
    assert usual(nvidia) == before
    with use_assembler(is_newest=False):
        assert usual(nvidia) == before


def test_that_threads_compile_with_what_they_ask_for(nvidia: Any):
    """One that compiles with the newest does so alone."""
    found: dict[str, str] = {}
    is_inside, others_started = Event(), Event()

    class Function:
        def __init__(self, name: str) -> None:
            self.name = name

        def warmup(self, **settings: object) -> None:
            if self.name == "newest":
                is_inside.set()
                others_started.wait(0.2)
            found[self.name] = usual(nvidia)

    def run(name: str) -> Thread:
        variant = KernelVariant(KERNEL, name == "newest")
        thread = Thread(
            target=compile_kernel_variant, args=(variant, Function(name), [])
        )
        thread.start()
        return thread

    before = usual(nvidia)
    threads = [run("newest")]
    assert is_inside.wait(5)
    threads += [run("first"), run("second")]
    others_started.wait(0.05)
    others_started.set()
    for thread in threads:
        thread.join()
    newest = str(nvidia.ptxas_blackwell.path)
    assert found == {"newest": newest, "first": before, "second": before}
    assert usual(nvidia) == before


def test_threads_may_share_the_usual_assembler():
    barrier = Barrier(2, timeout=10)

    def assemble(_: int) -> None:
        with use_assembler(is_newest=False):
            barrier.wait()

    with ThreadPoolExecutor(2) as threads:
        list(threads.map(assemble, range(2)))
    assert not barrier.broken
