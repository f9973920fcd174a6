"""Target description of the dialects: verification rules between its fields."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import cast

from xdsl.dialects.arith import Arith
from xdsl.dialects.math import Math

from tlf.dialects.target.engine_schema import GpuEngines, NpuEngines
from tlf.dialects.target.schema import Level, LevelKind, TargetDescription
from tlf.dialects.target.schema_faults import (
    DescriptionFault,
    find_schema_faults,
    make_unknown_key_fault,
    schema_of,
)
from tlf.dialects.target.setting_parsing import CORES
from tlf.dialects.target.toml_locations import KeyPath

INNERMOST = "L1"
"""Memory level in which the engines of an NPU work."""

STEP_TABLES = ("steps", "approximate_steps", "special_steps")
ENGINES = {"npu": NpuEngines, "triton": GpuEngines}


def find_consistency_faults(
    description: TargetDescription,
) -> Iterator[DescriptionFault]:
    """Yield the violations of consistency rules by a description with valid fields."""
    yield from _find_level_order_faults(description)
    for index, level in enumerate(description.levels):
        yield from _find_level_faults(level, ("levels", index))
    kinds = _find_npu_faults if description.backend == "npu" else _find_gpu_faults
    yield from kinds(description)
    if description.cores > 1:
        yield from _find_core_level_faults(description)
    engines = schema_of(ENGINES[description.backend])
    yield from find_schema_faults(description.engines, engines, ("engines",))
    yield from _find_unknown_function_faults(description)


def _find_level_order_faults(
    description: TargetDescription,
) -> Iterator[DescriptionFault]:
    """
    Yield the faults of the list of memory levels: too few, names that repeat or are out
    of order, and `indexed_row` of the outermost level.
    """
    levels = description.levels
    names = [level.name for level in levels]
    if len(levels) < 2:
        yield DescriptionFault(
            ("levels", 0),
            "expected at least 2 levels, an inner one and the outermost one, which has "
            f"the arguments, got {names[0]}",
        )
    if len(set(names)) != len(names):
        duplicate = next(n for n, name in enumerate(names) if name in names[:n])
        yield DescriptionFault(
            ("levels", duplicate, "name"),
            f"expected levels of different names, got {', '.join(names)}",
        )
    if levels[-1].indexed_row is not None:
        yield DescriptionFault(
            ("levels", len(levels) - 1, "indexed_row"),
            f"expected no `indexed_row` of the outermost level, got {names[-1]}",
        )
    ordinals = [int(name[1:]) for name in names]
    for index in range(1, len(names)):
        if ordinals[index] < ordinals[index - 1]:
            yield DescriptionFault(
                ("levels", index, "name"),
                "expected levels from the innermost to the outermost, got "
                f"{names[index]} after {names[index - 1]}",
            )


def _find_level_faults(level: Level, path: KeyPath) -> Iterator[DescriptionFault]:
    """
    Yield the faults of one memory level: indexed moves, scans and sorts that its kind
    does not support, and an alignment that is no power of two.
    """
    if level.indexed_loads and level.kind is not LevelKind.VALUE:
        yield DescriptionFault(
            (*path, "indexed_loads"),
            f"expected indexed loads into a level of values, got {level.name} of the "
            f"kind {level.kind}",
        )
    if level.scans and level.kind is not LevelKind.VALUE:
        yield DescriptionFault(
            (*path, "scans"),
            f"expected scans in a level of values, got {level.name} of the kind "
            f"{level.kind}",
        )
    if level.sorts and level.kind is not LevelKind.VALUE:
        yield DescriptionFault(
            (*path, "sorts"),
            f"expected sorts in a level of values, got {level.name} of the kind "
            f"{level.kind}",
        )
    if level.indexed_row is not None and level.kind is not LevelKind.BUFFER:
        yield DescriptionFault(
            (*path, "indexed_row"),
            f"expected `indexed_row` of a level of buffers, got {level.name} of the "
            f"kind {level.kind}",
        )
    if level.alignment & (level.alignment - 1):
        yield DescriptionFault(
            (*path, "alignment"),
            f"expected an alignment of {level.name} that is a power of two, got "
            f"{level.alignment}",
        )


def _find_npu_faults(description: TargetDescription) -> Iterator[DescriptionFault]:
    """
    Yield the faults of an NPU: levels that are no buffers, a first level other than
    `INNERMOST`, and a table `gpu`.
    """
    for index, level in enumerate(description.levels):
        if level.kind is not LevelKind.BUFFER:
            yield DescriptionFault(
                ("levels", index, "kind"),
                f"expected levels of the kind buffer for the backend npu, got "
                f"{level.name} of the kind {level.kind}",
            )
    if (name := description.levels[0].name) != INNERMOST:
        yield DescriptionFault(
            ("levels", 0, "name"),
            f"expected the level {INNERMOST} first, in which the engines of the "
            "backend "
            f"npu work, got {name}",
        )
    if description.gpu is not None:
        yield DescriptionFault(
            ("gpu",), "expected a table `gpu` with the backend triton alone, got npu"
        )


def _find_gpu_faults(description: TargetDescription) -> Iterator[DescriptionFault]:
    """
    Yield a fault per memory level whose kind the backend triton does not support at its
    position: values innermost, buffers outermost only.
    """
    *inner, outermost = description.levels
    if outermost.kind is not LevelKind.BUFFER:
        yield DescriptionFault(
            ("levels", len(inner), "kind"),
            f"expected a last level of the kind buffer, which arguments are in, got "
            f"{outermost.name} of the kind {outermost.kind}",
        )
    for index, level in enumerate(inner):
        expected = (LevelKind.VALUE,) if index == 0 else tuple(LevelKind)[1:]
        if level.kind not in expected:
            yield DescriptionFault(
                ("levels", index, "kind"),
                f"expected a level of the kind {' or '.join(expected)} for the backend "
                f"triton, got {level.name} of the kind {level.kind}",
            )


def _find_core_level_faults(
    description: TargetDescription,
) -> Iterator[DescriptionFault]:
    """
    Yield the faults of a description with several cores: engines must work in levels of
    the scope `core`.
    """
    if description.backend != "npu":
        yield DescriptionFault(
            (CORES,), f"expected cores of the backend npu, got {description.backend}"
        )
    scopes = [level.scope for level in description.levels]
    if scopes != sorted(scopes, reverse=True) or scopes[0] != "core":
        yield DescriptionFault(
            (CORES,),
            "expected levels of the scope core, then of the scope chip, where there "
            f"are {description.cores} cores, got {', '.join(scopes)}",
        )
    if scopes[-1] == "core":
        yield DescriptionFault(
            (CORES,), "expected a last level of the scope chip, got core"
        )
    for index, level in enumerate(description.levels):
        if level.shared and level.scope == "core":
            yield DescriptionFault(
                ("levels", index, "shared"),
                f"expected no channel of {level.name}, of which every core has its own",
            )


def _find_unknown_function_faults(
    description: TargetDescription,
) -> Iterator[DescriptionFault]:
    """Yield one fault per unknown function in the step tables of the vector engine."""
    operations = (*Math.operations, *Arith.operations)
    known = [op.name.partition(".")[2] for op in operations]
    vector = description.engines.get("vector", {})
    for table in STEP_TABLES:
        for name in cast("Mapping[str, object]", vector.get(table, {})):
            if name not in known:
                yield make_unknown_key_fault(name, ("engines", "vector", table), known)
