"""Random chips, and the same chips with one resource doubled."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from random import Random
from typing import cast

from tlf.dialects.target import TargetSpec
from tlf.dialects.target.description import Data, target_from_data

CAPACITY = "capacity"
BANDWIDTH = "bandwidth"
ARRAY = "matrix array"
LANES = "vector lanes"

RESOURCES = (
    f"L1 {CAPACITY}",
    f"L2 {CAPACITY}",
    f"L1 {BANDWIDTH}",
    f"L2 {BANDWIDTH}",
    f"L3 {BANDWIDTH}",
    ARRAY,
    LANES,
)
"""Resources of a chip that can be doubled."""

DOUBLED_FIGURES = {ARRAY: ("matrix", ("rows", "cols")), LANES: ("vector", ("lanes",))}
"""Engine of a resource that is no memory, and the figures that double."""


def draw_chip(seed: int) -> TargetSpec:
    """
    Return an NPU with three memories, each of which is larger and slower than the one
    before; all figures are drawn independently by the seed.
    """
    random = Random(seed)
    data: dict[str, Data] = {
        "name": f"chip {seed}",
        "backend": "npu",
        "issue_cycles": random.choice((1, 1, 2)),
        "cores": random.choice((1, 1, 1, 2)),
        "levels": _draw_levels(random),
        "engines": _draw_engines(random),
    }
    return target_from_data(data)


def _draw_levels(random: Random) -> list[Data]:
    """Return the memories, innermost first."""
    inner = _draw_size(random, 12, 18)
    outer = inner * random.choice((8, 16, 32, 64))
    slow = 1 << random.randint(3, 7)
    middle = slow * (1 << random.randint(1, 4))
    burst = 1 << random.randint(6, 9)
    levels = [
        ("L1", inner, middle * (1 << random.randint(1, 3)), 0, 4, 1),
        ("L2", outer, middle, 10, 100, min(burst, 1 << random.randint(5, 7))),
        ("L3", 1 << 34, slow, 100, 1000, burst),
    ]
    return [
        {
            "name": name,
            "kind": "buffer",
            "scope": "core" if name == "L1" else "chip",
            "capacity": capacity,
            "bandwidth": bandwidth,
            "shared": name == "L3",
            "latency": random.randint(least, most),
            "burst": bytes_,
            "alignment": max(bytes_, 1 << random.randint(4, 6)),
        }
        for name, capacity, bandwidth, least, most, bytes_ in levels
    ]


def _draw_size(random: Random, least: int, most: int) -> int:
    """Return a power of two, or one and a half of it, from 2^least to 2^most."""
    size = 1 << random.randint(least, most)
    return size if random.random() < 0.5 or size >> most else size + size // 2


def _draw_engines(random: Random) -> Data:
    """Return the engines; a result drains along both sides of the array."""
    rows, cols = (1 << random.randint(2, 6) for _ in range(2))
    wide = random.choice((1, 2, 4))
    return {
        "matrix": {
            "rows": rows,
            "cols": cols,
            "startup": rows + cols - 2,
            "cycles": {"f16": 1, "bf16": 1, "f32": wide},
        },
        "vector": {
            "lanes": 1 << random.randint(4, 9),
            "transcendental": random.choice((1, 2, 4, 8)),
            "startup": random.randint(1, 8),
        },
    }


def double_resource(target: TargetSpec, resource: str) -> TargetSpec:
    """Return a chip with twice as much of a resource; all other figures are equal."""
    if resource in DOUBLED_FIGURES:
        engine, figures = DOUBLED_FIGURES[resource]
        engines = {name: dict(each) for name, each in target.engines.items()}
        engines[engine] |= {
            each: 2 * cast(int, engines[engine][each]) for each in figures
        }
        return target_from_data({**target.data, "engines": engines})
    name, figure = resource.split()
    levels = cast(Sequence[Mapping[str, Data]], target.data["levels"])
    doubled = [
        {**level, figure: 2 * cast(int, level[figure])}
        if level["name"] == name
        else level
        for level in levels
    ]
    return target_from_data({**target.data, "levels": doubled})


def describe_chip(target: TargetSpec) -> str:
    """Return the figures of a chip that plans depend on, on one line."""
    memories = [
        f"{name} {level.capacity // 1024}K {level.bandwidth} B/cycle"
        for name, level in list(target.levels.items())[:-1]
    ]
    outer = target.outermost_level
    matrix, vector = target.engines["matrix"], target.engines["vector"]
    return ", ".join(
        [
            target.name + (f" of {target.cores} cores" if target.cores > 1 else ""),
            *memories,
            f"{outer.name} {outer.bandwidth} B/cycle {outer.latency} cycles",
            f"array {matrix['rows']}x{matrix['cols']}",
            f"{vector['lanes']} lanes",
        ]
    )
