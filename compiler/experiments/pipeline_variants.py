"""Variants of a target's pipeline with changed options."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from xdsl.utils.arg_spec import ArgSpec, ParameterListType

from tlf.compiler.driver.driver import PASSES
from tlf.compiler.driver.pipeline import expand_pipeline
from tlf.dialects.target import TargetSpec
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
class PipelineChange:
    """Other options of the passes of a pipeline."""

    outermost: Mapping[str, Options] = field(default_factory=dict[str, Options])
    """Those of passes for tiles of the outermost level, by the pass."""
    everywhere: Mapping[str, Options] = field(default_factory=dict[str, Options])
    """Those of passes wherever they stand, by the pass."""
    without: frozenset[str] = frozenset()
    """Passes to leave out."""
    keeps_composites: bool = False
    """True to form groups of operations as they are written, before any rewriting."""


def pipeline_steps(target: TargetSpec) -> tuple[ArgSpec, ...]:
    """The passes of the target's own pipeline."""
    return expand_pipeline(f"{target.backend}-pipeline", PASSES, pipelines_for(target))


def change_pipeline(target: TargetSpec, change: PipelineChange) -> str:
    """Return the pipeline of a target with a change, as text for `-p`."""
    found = pipeline_steps(target)
    if change.keeps_composites:
        found = _decompose_in_tiles(found)
    outermost = (target.tile_levels[0].name,)
    return ",".join(
        str(_change_options(spec, change, outermost))
        for spec in found
        if spec.name not in change.without
    )


def passes_before_partition(target: TargetSpec) -> str | None:
    """The passes before groups are joined; None where they are not."""
    names = [spec.name for spec in pipeline_steps(target)]
    if PARTITION not in names:
        return None
    return ",".join(map(str, pipeline_steps(target)[: names.index(PARTITION)]))


def _change_options(
    spec: ArgSpec, change: PipelineChange, outermost: ParameterListType
) -> ArgSpec:
    options = {**spec.parameters, **change.everywhere.get(spec.name, {})}
    if spec.parameters.get("level") == outermost:
        options |= change.outermost.get(spec.name, {})
    return ArgSpec(spec.name, options)


def _decompose_in_tiles(found: Sequence[ArgSpec]) -> tuple[ArgSpec, ...]:
    """
    The passes with composites replaced only in their tiles: each operation of the
    program, such as a normalization, is one of the groups' operations.
    """
    names = [spec.name for spec in found]
    first, tiled = names.index(GROUP), names.index(TILED) + 1
    written = _expand_passes("graph-simplify,tidy,graph-fold-constants,tidy")
    composites = _expand_passes("graph-decompose,tidy")
    return (*written, *found[first:tiled], *composites, *found[tiled:])


def _expand_passes(text: str) -> Iterator[ArgSpec]:
    yield from expand_pipeline(text, PASSES, pipelines_for(None))
