"""
Target descriptions: what a compiler decision may know of a chip, as data.

A description is a TOML file, a preset of this package or the user's own. It travels
with the module as the attribute `tlf.target`, so that all passes read the same figures.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Literal, TypeAlias, cast

import msgspec
from msgspec import Meta, Struct
from xdsl.dialects.builtin import (
    ArrayAttr,
    BoolAttr,
    DictionaryAttr,
    FloatAttr,
    IntegerAttr,
    ModuleOp,
    StringAttr,
    f64,
    i64,
)
from xdsl.ir import Attribute
from xdsl.utils.exceptions import DiagnosticException

from tlf.dialects.target.gpu import Gpu
from tlf.dialects.target.sizes import CORES, MOST_BYTES, MOST_CORES, split_sizes

PRESETS = Path(__file__).parent / "presets"
ATTRIBUTE = "tlf.target"
ALIASES = {"triton": "h200"}
"""Short names for presets."""

Data: TypeAlias = "str | bool | int | float | Sequence[Data] | Mapping[str, Data]"
"""What TOML can say of a target."""

Count: TypeAlias = Annotated[int, Meta(ge=1)]
Cycles: TypeAlias = Annotated[int, Meta(ge=0)]
LevelName: TypeAlias = Annotated[str, Meta(pattern="^L[1-9][0-9]*$")]
Figures: TypeAlias = dict[str, bool | int | float | str | dict[str, int | float]]


class LevelKind(StrEnum):
    """Who manages a memory: the planner, the compiler below, or the hardware."""

    BUFFER = "buffer"
    VALUE = "value"
    CACHE = "cache"


class Level(Struct, frozen=True, forbid_unknown_fields=True):
    """
    One memory. Sizes are in bytes, bandwidth in bytes per cycle, latency in cycles.
    """

    name: LevelName
    kind: LevelKind
    capacity: Annotated[int, Meta(ge=1, le=MOST_BYTES)]
    bandwidth: Count
    latency: Cycles
    burst: Count
    alignment: Count
    scope: Literal["core", "chip"] = "chip"
    """Whether every core has its own, or all share it."""
    shared: bool = False
    """Whether it is one channel for all moves, in program order; else one per queue."""
    indexed_loads: bool = False
    """Whether a move into it can find each element where an index says."""


class Tiling(Struct, frozen=True, forbid_unknown_fields=True):
    """
    What a tile may look like on the target.
    """

    power_of_two: bool = False
    """Whether every dimension of a tile is a power of two."""
    matrix_minimum: Count = 1
    """The least extent of each axis of a matrix product."""
    max_elements: Count | None = None
    """The most elements a tile may have."""
    tile_elements: Count | None = None
    """The most elements that a tile has where there is a choice."""
    matrix_tile: dict[str, tuple[Count, Count, Count]] = {}
    """Preferred (rows, columns, depth) of a matrix product's tile, by element type."""
    programs: Count = 1
    """How many programs keep the whole chip busy: tiles shrink to make so many."""


class Description(Struct, frozen=True, forbid_unknown_fields=True):
    """
    A description as it is written.
    """

    levels: Annotated[list[Level], Meta(min_length=1)]
    name: str = "unnamed"
    backend: Literal["npu", "triton"] = "npu"
    clock_ghz: float = 1.0
    issue_cycles: Cycles = 1
    cores: Annotated[int, Meta(ge=1, le=MOST_CORES)] = 1
    engines: dict[str, Figures] = {}
    tiling: Tiling = Tiling()
    gpu: Gpu | None = None


@dataclass(frozen=True)
class Target:
    """
    A chip: its memories from the nearest to the farthest, and its engines.
    """

    name: str
    backend: str
    """The last stage of the compiler: `npu` or `triton`."""
    clock_ghz: float
    levels: Mapping[str, Level]
    engines: Mapping[str, Figures]
    tiling: Tiling
    data: Mapping[str, Data] = field(repr=False)
    """The description as it was written."""
    cores: int = 1
    """How often there are the engines, and the levels of the scope `core`."""
    gpu: Gpu | None = None
    """How its processors run programs, if it is a GPU of which that is known."""

    @staticmethod
    def is_known(module: ModuleOp) -> bool:
        """Whether a module says what its target is."""
        return ATTRIBUTE in module.attributes

    @staticmethod
    def of(module: ModuleOp) -> Target:
        """The target of `module`; an error says how to give it one."""
        if not isinstance(found := module.attributes.get(ATTRIBUTE), DictionaryAttr):
            raise DiagnosticException(
                "expected a module with a target description, got none: pass `--target`"
            )
        return from_data(cast(Mapping[str, Data], _to_data(found)))

    def check_backend(self, wanted: str) -> None:
        """Raise `DiagnosticException` where the compiler ends otherwise."""
        if self.backend != wanted:
            raise DiagnosticException(
                f"expected a target of the backend {wanted}, got {self.name}, which is "
                f"of {self.backend}"
            )

    def attribute(self) -> DictionaryAttr:
        """The description as a module attribute."""
        return cast(DictionaryAttr, _to_attribute(self.data))

    def attach(self, module: ModuleOp) -> None:
        """Make this the target of `module`."""
        module.attributes[ATTRIBUTE] = self.attribute()

    def resized(self, capacities: Mapping[str, int]) -> Target:
        """The same chip, but with other capacities of some levels, in bytes."""
        if unknown := [name for name in capacities if name not in self.levels]:
            known = ", ".join(self.levels)
            raise DiagnosticException(
                f"expected a level among {known} of {self.name}, got {unknown[0]}"
            )
        if not capacities:
            return self
        levels = cast(Sequence[Mapping[str, Data]], self.data["levels"])
        resized = [
            {**level, "capacity": capacities.get(str(level["name"]), level["capacity"])}
            for level in levels
        ]
        return from_data({**self.data, "levels": resized})

    @property
    def outermost(self) -> Level:
        """The memory where arguments and results live."""
        return list(self.levels.values())[-1]

    @property
    def indexed_loads(self) -> bool:
        """Whether moves from the outermost memory can follow indices."""
        return any(level.indexed_loads for level in self.tile_levels[:1])

    @property
    def joins(self) -> bool:
        """Whether tiles move into parts of buffers, so that tensors can be joined."""
        return any(level.kind == "buffer" for level in self.tile_levels[:1])

    @property
    def tile_levels(self) -> tuple[Level, ...]:
        """The memories that loops bring tiles into, outermost first."""
        inner = list(self.levels.values())[:-1]
        return tuple(level for level in reversed(inner) if level.kind != "cache")


def presets() -> tuple[str, ...]:
    """The names of the descriptions that come with TLF."""
    return tuple(sorted(file.stem for file in PRESETS.glob("*.toml")))


def load(name_or_path: str, others: Sequence[str] = ()) -> Target:
    """
    Read a preset by its name, or a description from a `.toml` file. `triton` stands
    for the preset of a GPU. Capacities of levels may follow, as in `npu:L2=512K`,
    and a number of cores, `npu:cores=4`. The message for another name has `others`,
    which the caller knows, among those that are expected.
    """
    written = name_or_path
    name_or_path, settings = split_sizes(written)
    name_or_path = ALIASES.get(name_or_path, name_or_path)
    preset = PRESETS / f"{name_or_path}.toml"
    path = preset if name_or_path in presets() else Path(name_or_path)
    if path.suffix != ".toml":
        raise DiagnosticException(_unknown(name_or_path, others))
    try:
        data = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise DiagnosticException(
            f"cannot read target `{name_or_path}`: {reason}"
        ) from error
    if CORES in settings:
        data[CORES] = settings[CORES]
    capacities = {name: each for name, each in settings.items() if name != CORES}
    return from_data(data, written).resized(capacities)


def _unknown(name: str, others: Sequence[str]) -> str:
    """What is wrong with what is no name of a target."""
    target, mark, settings = name.partition(":")
    names = [*presets(), *ALIASES]
    if mark and target in names:
        return (
            f"expected capacities of levels or `{CORES}` behind `{target}:`, such as "
            f"`L2=512K`, got `{settings}`"
        )
    known = ", ".join((*names, *others))
    return f"expected a target ({known}) or a `.toml` file, got `{name}`"


def from_data(data: Mapping[str, Data], name: str | None = None) -> Target:
    """
    Build a target from its description, checking that nothing is missing or misspelt.
    `name` is what its user calls it.
    """
    where = "target" if name is None else f"target `{name}`"
    try:
        description = msgspec.convert(data, Description)
    except msgspec.ValidationError as error:
        raise DiagnosticException(f"{where}: {_sentence(error)}") from error
    for fault in (*_level_faults(description), *_core_faults(description)):
        raise DiagnosticException(f"{where}: {fault}")
    return Target(
        name=description.name,
        backend=description.backend,
        clock_ghz=description.clock_ghz,
        levels={level.name: level for level in description.levels},
        engines=description.engines,
        tiling=description.tiling,
        data=data,
        cores=description.cores,
        gpu=description.gpu,
    )


def _level_faults(description: Description) -> Iterator[str]:
    names = [level.name for level in description.levels]
    if len(set(names)) != len(names):
        yield f"expected levels of different names, got {', '.join(names)}"
    for level in description.levels:
        if level.indexed_loads and level.kind is not LevelKind.VALUE:
            yield (
                f"expected indexed loads into a level of values, got {level.name} of "
                f"the kind {level.kind}"
            )


def _core_faults(description: Description) -> Iterator[str]:
    """Where there are several cores, engines work in memories of the cores."""
    if description.cores == 1:
        return
    if description.backend != "npu":
        yield f"expected cores of the backend npu, got {description.backend}"
    scopes = [level.scope for level in description.levels]
    if scopes != sorted(scopes, reverse=True) or scopes[0] != "core":
        yield (
            "expected levels of the scope core, then of the scope chip, where there "
            f"are {description.cores} cores, got {', '.join(scopes)}"
        )
    if scopes[-1] == "core":
        yield "expected a last level of the scope chip, got core"
    for level in description.levels:
        if level.shared and level.scope == "core":
            yield (
                f"expected no channel of {level.name}, of which every core has its own"
            )


def _sentence(error: msgspec.ValidationError) -> str:
    """The message of an error, as messages of this project are written."""
    text, _, place = str(error).partition(" - at ")
    text = f"{text[0].lower()}{text[1:]}"
    return f"{text} at {place}" if place else text


def _to_attribute(data: Data) -> Attribute:
    match data:
        case bool():
            return BoolAttr.from_bool(data)
        case int():
            return IntegerAttr(data, i64)
        case float():
            return FloatAttr(data, f64)
        case str():
            return StringAttr(data)
        case Mapping():
            return DictionaryAttr({k: _to_attribute(data[k]) for k in sorted(data)})
        case _:
            return ArrayAttr([_to_attribute(item) for item in data])


def _to_data(attribute: Attribute) -> Data:
    match attribute:
        case DictionaryAttr():
            return {k: _to_data(v) for k, v in attribute.data.items()}
        case ArrayAttr():
            return [_to_data(item) for item in attribute]
        case IntegerAttr() if attribute.type == i64:
            return attribute.value.data
        case IntegerAttr():
            return bool(attribute.value.data)
        case FloatAttr():
            return attribute.value.data
        case StringAttr():
            return attribute.data
        case _:
            raise DiagnosticException(f"target: unexpected attribute `{attribute}`")
