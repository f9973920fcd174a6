"""Targets with less of a resource, whose plans are candidates for a target."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import cast

from tlf.dialects.target import Level, TargetSpec
from tlf.dialects.target.description import Data, target_from_data


def targets_with_half_a_resource(
    target: TargetSpec, level: Level
) -> Iterator[TargetSpec]:
    """
    Yield a target with half of each resource that the tiles of a memory depend on, but
    for the capacity of an outer memory: the capacity of the innermost memory, the
    bandwidth of the memory, of those inside of it and of the next one, the array and
    the lanes.
    """
    names = list(target.levels)
    yield from _with_half_of_level(target, names[0], "capacity")
    for name in reversed(names[: names.index(level.name) + 2]):
        yield from _with_half_of_level(target, name, "bandwidth")
    for name, figures in (("matrix", ("rows", "cols")), ("vector", ("lanes",))):
        engines = {each: dict(other) for each, other in target.engines.items()}
        counts = [engines[name].get(figure, 1) for figure in figures]
        if all(isinstance(each, int) and each % 2 == 0 for each in counts):
            for figure, count in zip(figures, counts, strict=True):
                engines[name][figure] = cast(int, count) // 2
            yield target_from_data({**target.data, "engines": engines})


def _with_half_of_level(
    target: TargetSpec, level: str, figure: str
) -> Iterator[TargetSpec]:
    """Yield a target with half of a figure of a level, if it is even."""
    levels = cast(Sequence[Mapping[str, Data]], target.data["levels"])
    if any(each["name"] == level and cast(int, each[figure]) % 2 for each in levels):
        return
    halved = [
        {**each, figure: cast(int, each[figure]) // 2}
        if each["name"] == level
        else each
        for each in levels
    ]
    yield target_from_data({**target.data, "levels": halved})
