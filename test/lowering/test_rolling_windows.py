"""
Rolling windows as ring buffers: after every pass, and on the simulated NPU, the results
are those of the tiles, and no step moves what a window keeps.
"""

import random
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from differential import check, compiled_text, make_case
from rolling_programs import KINDS, USES, Rolling, Window

from tlf.runtime import npu

pytestmark = pytest.mark.usefixtures("first_plans")

ROOT = Path(__file__).parents[2]

LOADED = Rolling((Window(3),), 2, (4, 17, 6))
CASES = {
    "loaded": LOADED,
    "all rows are new": replace(LOADED, windows=(Window(2),)),
    "one row at a time": replace(LOADED, count=1, windows=(Window(7),)),
    "computed": replace(LOADED, windows=(Window(5, "made"),)),
    "recurrent": replace(LOADED, windows=(Window(4, "old"),)),
    "part of a tile": replace(LOADED, windows=(Window(4, "view"),)),
    "the same rows": replace(LOADED, windows=(Window(4, "outside"),)),
    "read before it moves on": replace(LOADED, windows=(Window(4, use="old"),)),
    "twice as far as the loop": replace(LOADED, count=4, step=2, windows=(Window(6),)),
    "a step of its own": replace(LOADED, first=-3, step=5),
    "first axis": replace(LOADED, axis=0, shape=(17, 3)),
    "last axis": replace(LOADED, axis=2, shape=(3, 2, 17)),
    "three stages": replace(LOADED, stages=3, windows=(Window(4, "load", "old"),)),
    "two stages and steps": replace(
        LOADED, first=-3, step=5, stages=2, windows=(Window(5), Window(4, "made"))
    ),
    "stages in a batch": replace(
        LOADED, count=4, first=2, step=3, stages=3, batch=2, windows=(Window(5),)
    ),
    "two windows": replace(
        LOADED, windows=(Window(3), Window(4, "made", "whole", is_result=True))
    ),
    "a batch": replace(
        LOADED, batch=3, windows=(Window(3), Window(5, "made", is_result=True))
    ),
}


@pytest.mark.one_in(4)
@pytest.mark.parametrize("target", ["npu-tiny", "npu"])
@pytest.mark.parametrize("name", CASES)
def test_windows(name: str, target: str) -> None:
    assert check(make_case(CASES[name].text()), target) is None


@pytest.mark.parametrize("element", ["f16", "bf16", "i8"])
def test_elements(element: str) -> None:
    windows = (Window(3), Window(5, "made"))
    program = replace(LOADED, windows=windows, element=element)
    assert check(make_case(program.text()), "npu-tiny") is None


def random_program(generator: random.Random) -> Rolling:
    rank = generator.randint(1, 3)
    axis, count = generator.randrange(rank), generator.randint(1, 4)
    shape = [generator.randint(1, 6) for _ in range(rank)]
    shape[axis] = generator.randint(1, 14)
    windows = tuple(
        Window(
            generator.randint(max(3, count), 7),
            generator.choice(KINDS),
            generator.choice(USES),
            generator.random() < 0.3,
        )
        for _ in range(generator.choice([1, 1, 2]))
    )
    return Rolling(
        windows,
        count,
        tuple(shape),
        axis,
        generator.choice([0, 0, 2, -3]),
        generator.choice([1, count, 2, 3]),
        generator.choice([1, 1, 2, 3]),
        generator.choice(["f32", "f32", "f16", "bf16", "i8"]),
        generator.choice([None, None, 3]),
    )


@pytest.mark.one_in(2)
@pytest.mark.parametrize("seed", range(16))
def test_random_windows(seed: int) -> None:
    program = random_program(random.Random(seed))
    case = make_case(program.text(), seed)
    target, plans = ("npu-tiny", "npu")[seed % 2], seed if seed % 4 < 2 else None
    assert check(case, target, plans=plans) is None, program


def written(text: str) -> int:
    """The bytes that a program on npu-tiny writes to L2."""
    program = npu.parse(compiled_text(text, "npu-tiny"))
    generator = np.random.default_rng(0)
    inputs = {
        name: generator.standard_normal(each.shape).astype(np.float32)
        for name, each in program.inputs.items()
    }
    return npu.run(program, inputs).traffic["L2"].written


def test_a_loaded_window_is_not_copied() -> None:
    """Rows of 8 floats come to L2, and every step computes as many as are new."""
    program = replace(LOADED, shape=(1, 10, 8))
    row, steps = 32, 5
    assert written(program.text()) == (3 + 2 * steps + 2 * steps) * row


def test_the_windows_of_the_example_are_not_copied() -> None:
    """
    Windows of 20 floats wide rows, x of 16 channels and t of 4, in 9 steps of two rows:
    nothing comes to L2 but what is loaded and computed. Shifting them would add 46,080.
    """
    path = ROOT / "examples" / "rolling_bottleneck.mlir"
    x, t, weights, steps = 1280, 320, 256 + 16 + 2304, 9
    loaded = weights + 3 * x + 4 * x + steps * 2 * x
    computed = 4 * t + steps * 2 * (t + x)
    assert written(path.read_text(encoding="utf-8")) == loaded + computed == 64_656
