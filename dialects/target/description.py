"""
Target descriptions: what a compiler decision may know of a chip, as data.

A description is a TOML file, a preset of this package or the user's own. It travels
with the module as the attribute `tlf.target`, so that all passes read the same figures.
"""

import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from enum import StrEnum
from pathlib import Path
from typing import TypeAlias, TypeVar, cast

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

PRESETS = Path(__file__).parent / "presets"
ATTRIBUTE = "tlf.target"
BACKENDS = ("npu", "triton")
T = TypeVar("T", bound="Level | Tiling")

Data: TypeAlias = "str | bool | int | float | Sequence[Data] | Mapping[str, Data]"
"""What TOML can say of a target."""


class LevelKind(StrEnum):
    """Who manages a memory: the planner, the compiler below, or the hardware."""

    BUFFER = "buffer"
    VALUE = "value"
    CACHE = "cache"


@dataclass(frozen=True)
class Level:
    """
    One memory. Sizes are in bytes, bandwidth in bytes per cycle, latency in cycles.
    """

    name: str
    kind: LevelKind
    capacity: int
    bandwidth: int
    latency: int
    burst: int
    alignment: int
    scope: str = "chip"


@dataclass(frozen=True)
class Tiling:
    """
    What a tile may look like on the target.
    """

    power_of_two: bool = False
    """Whether every dimension of a tile is a power of two."""
    matrix_minimum: int = 1
    """The least extent of each axis of a matrix product."""
    max_elements: int | None = None
    """The most elements a tile may have."""
    tile_elements: int | None = None
    """The most elements that a tile has where there is a choice."""
    matrix_tile: Mapping[str, Sequence[int]] = field(
        default_factory=dict[str, Sequence[int]]
    )
    """Preferred (rows, columns, depth) of a matrix product's tile, by element type."""
    programs: int = 1
    """How many programs keep the whole chip busy: tiles shrink to make so many."""


@dataclass(frozen=True)
class Target:
    """
    A chip: its memories from the nearest to the farthest, and its engines.
    """

    name: str
    backend: str
    """The last stage of the compiler: `npu` or `triton`."""
    levels: Mapping[str, Level]
    engines: Mapping[str, Mapping[str, Data]]
    tiling: Tiling
    data: Mapping[str, Data] = field(repr=False)
    """The description as it was written."""

    @staticmethod
    def of(module: ModuleOp) -> "Target":
        """The target of `module`; an error says how to give it one."""
        if not isinstance(found := module.attributes.get(ATTRIBUTE), DictionaryAttr):
            raise DiagnosticException(
                "expected a module with a target description, got none: pass `--target`"
            )
        return from_data(cast(Mapping[str, Data], _to_data(found)))

    def attribute(self) -> DictionaryAttr:
        """The description as a module attribute."""
        return cast(DictionaryAttr, _to_attribute(self.data))

    def attach(self, module: ModuleOp) -> None:
        """Make this the target of `module`."""
        module.attributes[ATTRIBUTE] = self.attribute()

    @property
    def outermost(self) -> Level:
        """The memory where arguments and results live."""
        return list(self.levels.values())[-1]

    @property
    def tile_levels(self) -> tuple[Level, ...]:
        """The memories that loops bring tiles into, outermost first."""
        inner = list(self.levels.values())[:-1]
        return tuple(level for level in reversed(inner) if level.kind != "cache")


def presets() -> tuple[str, ...]:
    """The names of the descriptions that come with TLF."""
    return tuple(sorted(file.stem for file in PRESETS.glob("*.toml")))


def load(name_or_path: str) -> Target:
    """
    Read a preset by its name, or a description from a `.toml` file.
    """
    preset = PRESETS / f"{name_or_path}.toml"
    path = preset if name_or_path in presets() else Path(name_or_path)
    if path.suffix != ".toml":
        known = ", ".join(presets())
        raise DiagnosticException(
            f"expected a target ({known}) or a `.toml` file, got `{name_or_path}`"
        )
    try:
        data = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise DiagnosticException(
            f"cannot read target `{name_or_path}`: {error}"
        ) from error
    return from_data(data)


def from_data(data: Mapping[str, Data]) -> Target:
    """
    Build a target from its description, checking that nothing is missing or misspelt.
    """
    levels = [_level(entry) for entry in _tables(data, "levels")]
    if not levels:
        raise DiagnosticException("target: expected at least one level, got none")
    engines = cast(Mapping[str, Mapping[str, Data]], data.get("engines", {}))
    tiling = _fields(Tiling, cast(Mapping[str, Data], data.get("tiling", {})))
    return Target(
        name=str(data.get("name", "unnamed")),
        backend=_backend(data),
        levels={level.name: level for level in levels},
        engines=engines,
        tiling=tiling,
        data=data,
    )


def _backend(data: Mapping[str, Data]) -> str:
    backend = str(data.get("backend", "npu"))
    if backend not in BACKENDS:
        known = " or ".join(BACKENDS)
        raise DiagnosticException(f"target: expected backend {known}, got `{backend}`")
    return backend


def _tables(data: Mapping[str, Data], key: str) -> Sequence[Mapping[str, Data]]:
    if not isinstance(found := data.get(key, []), Sequence) or isinstance(found, str):
        raise DiagnosticException(f"target: expected a list of `{key}`, got `{found}`")
    return cast(Sequence[Mapping[str, Data]], found)


def _level(entry: Mapping[str, Data]) -> Level:
    level = _fields(Level, entry)
    if level.kind not in set(LevelKind):
        kinds = ", ".join(LevelKind)
        raise DiagnosticException(
            f"target: level {level.name}: expected a kind of {kinds}, got {level.kind}"
        )
    return level


def _fields(kind: type[T], entry: Mapping[str, Data]) -> T:
    known = sorted(each.name for each in fields(kind))
    if unknown := [key for key in entry if key not in known]:
        raise DiagnosticException(
            f"target: expected fields of {known}, got `{unknown[0]}`"
        )
    values = {
        key: value
        if isinstance(value, str) or not isinstance(value, Sequence)
        else tuple(value)
        for key, value in entry.items()
    }
    try:
        return cast(Callable[..., T], kind)(**values)
    except TypeError as error:
        missing = str(error).partition(": ")[2]
        raise DiagnosticException(
            f"target: {kind.__name__.lower()} lacks {missing}"
        ) from error


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
