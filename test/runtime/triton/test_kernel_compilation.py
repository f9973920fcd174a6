"""Options of launches, and compiled kernels, which are loaded one at a time."""

import time
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

from tlf.runtime.triton.kernel_compilation import read_kernel_facts
from tlf.runtime.triton.launch_plan import Kernel
from tlf.runtime.triton.requested_kernel import launch_options


class Launchers:
    """
    The module of launchers of all kernels, as Triton has it: loading one changes the
    module, and what it then has is taken.
    """

    def __init__(self) -> None:
        self.launch = -1


class Compiled:
    """A kernel that Triton compiled, loaded by the first access of `run`."""

    def __init__(self, launchers: Launchers, parameters: int) -> None:
        self.asm = {"ttgir": "", "ptx": ""}
        self.metadata = SimpleNamespace(shared=0)
        self.n_spills = 0
        self.parameters = parameters
        self.launch: int | None = None
        self._launchers = launchers

    @property
    def run(self) -> int:
        if self.launch is None:
            self._launchers.launch = self.parameters
            time.sleep(0.001)
            self.launch = self._launchers.launch
        return self.launch


def test_threads_do_not_swap_launchers():
    launchers = Launchers()
    kernels = [Compiled(launchers, count) for count in range(32)]

    def load(kernel: Compiled) -> None:
        read_kernel_facts(kernel, 1)

    with ThreadPoolExecutor(8) as threads:
        list(threads.map(load, kernels))
    assert [each.launch for each in kernels] == list(range(32))


def test_only_kernels_that_wait_may_start_early():
    kernel = Kernel("f", "", "def f(p0):\n    tl.store(p0, 1)\n", (1,), 4, 3, ("p0",))
    waiting = kernel.with_source("def f(p0):\n    tl.extra.cuda.gdc_wait()\n")
    assert launch_options(kernel) == {"num_warps": 4, "num_stages": 3}
    assert launch_options(waiting)["launch_pdl"] is True
