"""Experiment: pipeline of a target with changed pass options, as text."""

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
"""Passes that choose plans."""
TILED = "convert-graph-to-tile"

Options = Mapping[str, ParameterListType]


@dataclass(frozen=True)
class PipelineChange:
    """
    Changes to the default pipeline of a target: pass options to set, and passes to
    omit.
    """

    outermost_options: Mapping[str, Options] = field(default_factory=dict[str, Options])
    """Options of passes on tiles of the outermost level, by pass name."""
    options_of_all_levels: Mapping[str, Options] = field(
        default_factory=dict[str, Options]
    )
    """Options of all instances of passes, by pass name."""
    omitted_passes: frozenset[str] = frozenset()
    """Passes to omit."""
    keeps_composites: bool = False
    """True to form groups of the operations as written, before any rewrite."""


def default_passes_of(target: TargetSpec) -> tuple[ArgSpec, ...]:
    """Return the passes of the default pipeline of the target."""
    return expand_pipeline(f"{target.backend}-pipeline", PASSES, pipelines_for(target))


def change_pipeline(target: TargetSpec, change: PipelineChange) -> str:
    """Return the pipeline of a target with a change, in the text format of `-p`."""
    steps = default_passes_of(target)
    if change.keeps_composites:
        steps = _decompose_in_tiles(steps)
    outermost = (target.tile_levels[0].name,)
    return ",".join(
        str(_change_options(spec, change, outermost))
        for spec in steps
        if spec.name not in change.omitted_passes
    )


def passes_before_partition(target: TargetSpec) -> str | None:
    """
    Return the passes before `graph-partition`; `None` if the pipeline has no such pass.
    """
    names = [spec.name for spec in default_passes_of(target)]
    if PARTITION not in names:
        return None
    return ",".join(map(str, default_passes_of(target)[: names.index(PARTITION)]))


def _change_options(
    spec: ArgSpec, change: PipelineChange, outermost_level: ParameterListType
) -> ArgSpec:
    """Return `spec` with the changed options of all levels, then of the outermost."""
    options = {**spec.parameters, **change.options_of_all_levels.get(spec.name, {})}
    if spec.parameters.get("level") == outermost_level:
        options |= change.outermost_options.get(spec.name, {})
    return ArgSpec(spec.name, options)


def _decompose_in_tiles(specs: Sequence[ArgSpec]) -> tuple[ArgSpec, ...]:
    """
    Return the passes with composites decomposed in tiles only, so that each operation
    of the program, such as a normalization, is an operation of a group.
    """
    names = [spec.name for spec in specs]
    first, tiled = names.index(GROUP), names.index(TILED) + 1
    written = _expand_passes("graph-simplify,tidy,graph-fold-constants,tidy")
    composites = _expand_passes("graph-decompose,tidy")
    return (*written, *specs[first:tiled], *composites, *specs[tiled:])


def _expand_passes(text: str) -> Iterator[ArgSpec]:
    yield from expand_pipeline(text, PASSES, pipelines_for(None))
