"""Verification rules between the fields of a target description."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import cast

from xdsl.dialects.arith import Arith
from xdsl.dialects.math import Math

from tlf.dialects.target.engine_schema import GpuEngines, NpuEngines
from tlf.dialects.target.schema import Level, LevelKind, TargetDescription
from tlf.dialects.target.schema_faults import (
    Fault,
    find_schema_faults,
    schema_of,
    unknown_key_fault,
)
from tlf.dialects.target.size_parsing import CORES
from tlf.dialects.target.toml_locations import KeyPath

INNERMOST = "L1"
"""Memory level in which the engines of an NPU work."""

STEP_TABLES = ("steps", "approximate_steps", "special_steps")
ENGINES = {"npu": NpuEngines, "triton": GpuEngines}


def find_rule_faults(description: TargetDescription) -> Iterator[Fault]:
    """Yield the violations of consistency rules by a description with valid fields."""
    yield from _order_faults(description)
    for index, level in enumerate(description.levels):
        yield from _level_faults(level, ("levels", index))
    kinds = _npu_faults if description.backend == "npu" else _gpu_faults
    yield from kinds(description)
    if description.cores > 1:
        yield from _core_faults(description)
    engines = schema_of(ENGINES[description.backend])
    yield from find_schema_faults(description.engines, engines, ("engines",))
    yield from _function_faults(description)


def _order_faults(description: TargetDescription) -> Iterator[Fault]:
    levels = description.levels
    names = [level.name for level in levels]
    if len(levels) < 2:
        yield Fault(
            ("levels", 0),
            "expected at least 2 levels, a near one and the one that arguments are "
            f"in, got {names[0]}",
        )
    if len(set(names)) != len(names):
        duplicate = next(n for n, name in enumerate(names) if name in names[:n])
        yield Fault(
            ("levels", duplicate, "name"),
            f"expected levels of different names, got {', '.join(names)}",
        )
    if levels[-1].indexed_row is not None:
        yield Fault(
            ("levels", len(levels) - 1, "indexed_row"),
            f"expected no `indexed_row` of the farthest level, got {names[-1]}",
        )
    ordinals = [int(name[1:]) for name in names]
    for index in range(1, len(names)):
        if ordinals[index] < ordinals[index - 1]:
            yield Fault(
                ("levels", index, "name"),
                "expected levels from the nearest to the farthest, got "
                f"{names[index]} behind {names[index - 1]}",
            )


def _level_faults(level: Level, path: KeyPath) -> Iterator[Fault]:
    if level.indexed_loads and level.kind is not LevelKind.VALUE:
        yield Fault(
            (*path, "indexed_loads"),
            f"expected indexed loads into a level of values, got {level.name} of the "
            f"kind {level.kind}",
        )
    if level.indexed_row is not None and level.kind is not LevelKind.BUFFER:
        yield Fault(
            (*path, "indexed_row"),
            f"expected `indexed_row` of a level of buffers, got {level.name} of the "
            f"kind {level.kind}",
        )
    if level.alignment & (level.alignment - 1):
        yield Fault(
            (*path, "alignment"),
            f"expected an alignment of {level.name} that is a power of two, got "
            f"{level.alignment}",
        )


def _npu_faults(description: TargetDescription) -> Iterator[Fault]:
    for index, level in enumerate(description.levels):
        if level.kind is not LevelKind.BUFFER:
            yield Fault(
                ("levels", index, "kind"),
                f"expected levels of the kind buffer for the backend npu, got "
                f"{level.name} of the kind {level.kind}",
            )
    if (name := description.levels[0].name) != INNERMOST:
        yield Fault(
            ("levels", 0, "name"),
            f"expected the level {INNERMOST} first, in which the engines of the "
            "backend "
            f"npu work, got {name}",
        )
    if description.gpu is not None:
        yield Fault(
            ("gpu",), "expected a table `gpu` with the backend triton alone, got npu"
        )


def _gpu_faults(description: TargetDescription) -> Iterator[Fault]:
    *inner, outermost = description.levels
    if outermost.kind is not LevelKind.BUFFER:
        yield Fault(
            ("levels", len(inner), "kind"),
            f"expected a last level of the kind buffer, which arguments are in, got "
            f"{outermost.name} of the kind {outermost.kind}",
        )
    for index, level in enumerate(inner):
        expected = (LevelKind.VALUE,) if index == 0 else tuple(LevelKind)[1:]
        if level.kind not in expected:
            yield Fault(
                ("levels", index, "kind"),
                f"expected a level of the kind {' or '.join(expected)} for the backend "
                f"triton, got {level.name} of the kind {level.kind}",
            )


def _core_faults(description: TargetDescription) -> Iterator[Fault]:
    """
    Yield the faults of a description with several cores: engines must work in levels of
    the scope `core`.
    """
    if description.backend != "npu":
        yield Fault(
            (CORES,), f"expected cores of the backend npu, got {description.backend}"
        )
    scopes = [level.scope for level in description.levels]
    if scopes != sorted(scopes, reverse=True) or scopes[0] != "core":
        yield Fault(
            (CORES,),
            "expected levels of the scope core, then of the scope chip, where there "
            f"are {description.cores} cores, got {', '.join(scopes)}",
        )
    if scopes[-1] == "core":
        yield Fault((CORES,), "expected a last level of the scope chip, got core")
    for index, level in enumerate(description.levels):
        if level.shared and level.scope == "core":
            yield Fault(
                ("levels", index, "shared"),
                f"expected no channel of {level.name}, of which every core has its own",
            )


def _function_faults(description: TargetDescription) -> Iterator[Fault]:
    """Yield the faults of step tables that name unknown functions."""
    operations = (*Math.operations, *Arith.operations)
    known = [op.name.partition(".")[2] for op in operations]
    vector = description.engines.get("vector", {})
    for table in STEP_TABLES:
        for name in cast("Mapping[str, object]", vector.get(table, {})):
            if name not in known:
                yield unknown_key_fault(name, ("engines", "vector", table), known)
