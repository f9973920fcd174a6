"""The pipeline of a target with other options, for comparisons with it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from xdsl.utils.arg_spec import ArgSpec, ParameterListType

from tlf.compiler.driver.driver import PASSES
from tlf.compiler.driver.pipeline import expand
from tlf.dialects.target import Target
from tlf.lowering.pipelines import pipelines_for

GROUP = "graph-group"
PARTITION = "graph-partition"
TILES = "graph-select-tile-sizes"
LAYOUTS = "graph-assign-layouts"
PLANNERS = (PARTITION, LAYOUTS, TILES)
"""The passes that choose plans."""
TILED = "convert-graph-to-tile"

Options = Mapping[str, ParameterListType]


@dataclass(frozen=True)
class Change:
    """Other options of the passes of a pipeline."""

    outermost: Mapping[str, Options] = field(default_factory=dict[str, Options])
    """Those of passes for tiles of the outermost level, by the pass."""
    everywhere: Mapping[str, Options] = field(default_factory=dict[str, Options])
    """Those of passes wherever they stand, by the pass."""
    without: frozenset[str] = frozenset()
    """Passes to leave out."""
    apart: bool = False
    """True to form groups of operations as they are written, before any rewriting."""


def steps(target: Target) -> tuple[ArgSpec, ...]:
    """The passes of the target's own pipeline."""
    return expand(f"{target.backend}-pipeline", PASSES, pipelines_for(target))


def changed(target: Target, change: Change) -> str:
    """The pipeline of a target with a change, as `-p` takes it."""
    found = steps(target)
    if change.apart:
        found = _apart(found)
    outermost = (target.tile_levels[0].name,)
    return ",".join(
        str(_with(spec, change, outermost))
        for spec in found
        if spec.name not in change.without
    )


def before_partition(target: Target) -> str | None:
    """The passes before groups are joined; None where they are not."""
    names = [spec.name for spec in steps(target)]
    if PARTITION not in names:
        return None
    return ",".join(map(str, steps(target)[: names.index(PARTITION)]))


def _with(spec: ArgSpec, change: Change, outermost: ParameterListType) -> ArgSpec:
    options = {**spec.parameters, **change.everywhere.get(spec.name, {})}
    if spec.parameters.get("level") == outermost:
        options |= change.outermost.get(spec.name, {})
    return ArgSpec(spec.name, options)


def _apart(found: Sequence[ArgSpec]) -> tuple[ArgSpec, ...]:
    """
    The passes with composites replaced only in their tiles: each operation of the
    program, such as a normalization, is one of the groups' operations.
    """
    names = [spec.name for spec in found]
    first, tiled = names.index(GROUP), names.index(TILED) + 1
    written = _named("graph-simplify,tidy,graph-fold-constants,tidy")
    composites = _named("graph-decompose,tidy")
    return (*written, *found[first:tiled], *composites, *found[tiled:])


def _named(text: str) -> Iterator[ArgSpec]:
    yield from expand(text, PASSES, pipelines_for(None))
