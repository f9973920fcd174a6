"""Targets with less of a resource, whose plans are candidates for a target."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import cast

from tlf.dialects.target import TargetSpec
from tlf.dialects.target.description import Data, target_from_data


def targets_with_half_a_resource(target: TargetSpec) -> Iterator[TargetSpec]:
    """
    Yield a target with half of each resource that the tiles of its innermost memory
    depend on: its capacity, its bandwidth and that of the next memory, the array and
    the lanes.
    """
    innermost, outer = list(target.levels)[:2]
    yield from _with_half_of_level(target, innermost, "capacity")
    yield from _with_half_of_level(target, outer, "bandwidth")
    yield from _with_half_of_level(target, innermost, "bandwidth")
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
