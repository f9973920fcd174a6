"""Short programs for the tests of the NPU simulator."""

from collections.abc import Callable, Mapping
from string import Template

import pytest

from tlf.runtime.npu import Report, parse, run
from tlf.runtime.npu.dtypes import DTYPES, Array

MACHINE = """\
.npu 1
.machine name=test clock_ghz=2.0 issue_cycles=1
.level L3 capacity=17179869184 bandwidth=8 latency=100 burst=32 alignment=32 \
shared=true
.level L2 capacity=1048576 bandwidth=64 latency=10 burst=8 alignment=8
.level L1 capacity=262144 bandwidth=128 latency=0 burst=1 alignment=8
.engine matrix rows=4 cols=8 cycles.f16=1 cycles.bf16=1 cycles.f32=4 cycles.i32=4 \
cycles.i8=0.5 startup=7
.engine vector lanes=16 transcendental=4 startup=3
.engine dma_l3_l2 from=L3 to=L2
.engine dma_l2_l3 from=L2 to=L3
.engine dma_l2_l1 from=L2 to=L1
.engine dma_l1_l2 from=L1 to=L2
.semaphores 8
"""

NAMES = {dtype: name for name, dtype in DTYPES.items()}


@pytest.fixture
def machine() -> str:
    """The first lines of a program: levels, engines and eight semaphores."""
    return MACHINE


@pytest.fixture
def many_cores(machine: str) -> str:
    """The same of a machine with four cores."""
    text = machine.replace(" issue_cycles=1", " issue_cycles=1 cores=4")
    return text.replace("burst=1 alignment=8", "burst=1 alignment=8 scope=core")


@pytest.fixture
def simulate() -> Callable[..., Report]:
    """
    Run code with all inputs and outputs in one level, in order. `$name` in the code is
    the address of `name`, such as `L1[64]`.
    """

    def simulate(
        code: str,
        inputs: Mapping[str, Array],
        outputs: Mapping[str, Array],
        level: str = "L1",
        base: int = 0,
    ) -> Report:
        text, address = MACHINE, base
        places: dict[str, str] = {}
        kinds = [(".input", inputs), (".output", outputs)]
        for kind, name, array in (
            (kind, name, array)
            for kind, group in kinds
            for name, array in group.items()
        ):
            shape = "x".join(map(str, array.shape)) or "scalar"
            text += f"{kind} {name} {level} {address} {NAMES[array.dtype]} {shape}\n"
            places[name] = f"{level}[{address}]"
            address += -(-array.nbytes // 64) * 64
        text += ".code\n" + Template(code).substitute(places) + "\nhalt\n"
        return run(parse(text), inputs)

    return simulate
