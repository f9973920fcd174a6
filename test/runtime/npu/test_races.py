"""Random programs: the races found are those of the order between instructions."""

import random
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import pytest

from tlf.runtime.npu import NPUTrap, parse, run

SIZE = 128
"""Bytes in use of each level."""

Bytes = set[tuple[str, int]]


@dataclass
class Work:
    """An instruction, and what is known to be over before it starts."""

    text: str
    engine: str
    reads: Bytes = field(default_factory=set[tuple[str, int]])
    writes: Bytes = field(default_factory=set[tuple[str, int]])
    before: set[int] = field(default_factory=set[int])


def region(generator: random.Random, level: str, half: int) -> tuple[str, Bytes, str]:
    """A strided array in one half of a level: address, bytes, shape."""
    rows, cols = generator.randrange(1, 4), generator.randrange(1, 5)
    step = generator.choice([1, 2])
    pitch = step * cols + generator.randrange(4)
    base = half * SIZE // 2 + generator.randrange(SIZE // 2 - (rows * pitch + 8))
    covered = {
        (level, base + row * pitch + col * step)
        for row in range(rows)
        for col in range(cols)
    }
    return f"{level}[{base}]({pitch},{step})", covered, f"({rows},{cols})"


def move(generator: random.Random) -> Work:
    """A copy or a move between random places."""
    engine, source, target = generator.choice(
        [
            ("vector", "L1", "L1"),
            ("dma_l2_l1", "L2", "L1"),
            ("dma_l1_l2", "L1", "L2"),
        ]
    )
    half = generator.randrange(2)
    destination, writes, shape = region(generator, target, half)
    base = (1 - half) * SIZE // 2 + generator.randrange(8)
    strides = destination.partition("]")[2]
    shift = base - int(destination.partition("[")[2].partition("]")[0])
    reads = {(source, place + shift) for _, place in writes}
    origin = f"{source}[{base}]{strides}"
    if engine == "vector":
        text = f"vector copy dst={destination}:i8 a={origin}:i8 shape={shape}"
    else:
        text = f"dma {engine} dst={destination} src={origin} shape={shape} type=i8"
    return Work(text, engine, reads, writes)


def program(generator: random.Random) -> list[Work]:
    """Random work, signals and waits; every wait has a signal before it."""
    result: list[Work] = []
    last: dict[str, int] = {}
    signals: list[int] = []
    for index in range(generator.randrange(4, 24)):
        work = move(generator)
        kind = generator.randrange(4)
        if kind == 0:
            work = Work(f"signal {work.engine} s0", work.engine)
            signals.append(index)
        elif kind == 1 and signals:
            work = Work(f"wait {work.engine} s0", work.engine)
            signal = signals.pop(0)
            work.before |= result[signal].before | {signal}
        if work.engine in last:
            work.before |= result[last[work.engine]].before | {last[work.engine]}
        last[work.engine] = index
        result.append(work)
    return result


def first_race(works: list[Work]) -> int | None:
    """The first instruction in conflict with one that may still be at work."""
    for index, work in enumerate(works):
        for other, earlier in enumerate(works[:index]):
            touched = earlier.reads | earlier.writes
            conflict = work.writes & touched or work.reads & earlier.writes
            if conflict and other not in work.before:
                return index
    return None


def test_races(machine: str, draws: Callable[[int], int]):
    generator = random.Random(11)
    head = machine.replace("bandwidth=64", f"bandwidth={generator.randrange(1, 64)}")
    for level in ("L1", "L2"):
        head += f".input {level} {level} 0 i8 {SIZE}\n"
    arrays = {level: np.ones(SIZE, np.int8) for level in ("L1", "L2")}
    found = 0
    for _ in range(draws(1500)):
        works = program(generator)
        code = "\n".join(work.text for work in works)
        parsed = parse(f"{head}.code\n{code}\nhalt\n")
        race = first_race(works)
        if race is None:
            run(parsed, arrays)
            continue
        found += 1
        with pytest.raises(NPUTrap) as caught:
            run(parsed, arrays)
        assert caught.value.line == head.count("\n") + 2 + race
    assert 200 / 1500 < found / draws(1500) < 1300 / 1500
