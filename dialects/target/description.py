"""
Target description of the dialects, the module attribute `tlf.target`: read a TOML file,
validate it, attach it.

A description is a TOML file: a preset of this package or a user's file. It is attached
to the module as the attribute `tlf.target`, so that all passes read the same
parameters.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import TypeAlias, cast

import msgspec
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

from tlf.dialects.target.consistency_rules import find_consistency_faults
from tlf.dialects.target.gpu_schema import GpuProcessor
from tlf.dialects.target.schema import (
    EngineFigures,
    Level,
    TargetDescription,
    TilingConstraints,
)
from tlf.dialects.target.schema_faults import (
    DescriptionFault,
    find_schema_faults,
    schema_of,
)
from tlf.dialects.target.setting_parsing import CORES, parse_target_settings
from tlf.dialects.target.toml_locations import LineColumn, TomlLocations
from tlf.support.name_suggestions import suggest_name

PRESETS = Path(__file__).parent / "presets"
TARGET_ATTRIBUTE = "tlf.target"
ALIASES = {"triton": "h200"}
"""Short names of presets."""

Data: TypeAlias = "str | bool | int | float | Sequence[Data] | Mapping[str, Data]"
"""Data of a target description in TOML."""

_TOML_ERROR = re.compile(
    r"(.*) \(at (?:line (\d+), column (\d+)|end of document)\)", re.DOTALL
)


class DescriptionError(DiagnosticException):
    """
    Exception for a fault of a target description file, with file, line and column.
    """

    def __init__(self, message: str, file: str, line: int, column: int) -> None:
        super().__init__(f"{file}:{line}:{column}: error: {message}")
        self.message = message
        self.file = file
        self.line = line
        self.column = column


@dataclass(frozen=True)
class TargetSpec:
    """Description of a target chip: memory levels, innermost first, and engines."""

    name: str
    backend: str
    """Last stage of the compiler: `npu` or `triton`."""
    clock_ghz: float
    levels: Mapping[str, Level]
    engines: Mapping[str, EngineFigures]
    tiling: TilingConstraints
    data: Mapping[str, Data] = field(repr=False)
    """Description as written."""
    cores: int = 1
    """Number of copies of the engines, and of the levels of the scope `core`."""
    gpu: GpuProcessor | None = None
    """Execution model of a GPU's processors, if known."""

    @staticmethod
    def is_attached_to(module: ModuleOp) -> bool:
        """Return `True` if a module has a target description."""
        return TARGET_ATTRIBUTE in module.attributes

    @staticmethod
    def read_from_module(module: ModuleOp) -> TargetSpec:
        """
        Return the target of `module`. Raises `DiagnosticException` if it has none.
        """
        if not isinstance(
            attribute := module.attributes.get(TARGET_ATTRIBUTE), DictionaryAttr
        ):
            raise DiagnosticException(
                "expected a module with a target description, got none: pass `--target`"
            )
        return _target_from_attribute(attribute)

    def require_backend(self, backend_name: str) -> None:
        """Raise `DiagnosticException` unless the target is of a backend."""
        if self.backend != backend_name:
            raise DiagnosticException(
                f"expected a target of the backend {backend_name}, got {self.name}, "
                "which is "
                f"of {self.backend}"
            )

    def to_attribute(self) -> DictionaryAttr:
        """Return the description as a module attribute."""
        return cast(DictionaryAttr, _attribute_from_data(self.data))

    def attach_to_module(self, module: ModuleOp) -> None:
        """Attach the target to `module`."""
        module.attributes[TARGET_ATTRIBUTE] = self.to_attribute()

    def with_capacities(self, capacities: Mapping[str, int]) -> TargetSpec:
        """
        Return the target with other capacities of some levels, in bytes. Raises
        `DiagnosticException` for unknown levels.
        """
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
        return target_from_data({**self.data, "levels": resized})

    @property
    def outermost_level(self) -> Level:
        """Memory level of arguments and results."""
        return list(self.levels.values())[-1]

    @property
    def has_indexed_loads(self) -> bool:
        """True if loads from the outermost level can gather elements by index."""
        return any(level.indexed_loads for level in self.tile_levels[:1])

    @property
    def has_scans(self) -> bool:
        """True if tiles can be scanned along an axis."""
        return any(level.scans for level in self.tile_levels[:1])

    @property
    def sortable_extent(self) -> int:
        """Greatest extent of an axis of a tile that can be sorted; 0 if none can."""
        return max((level.sorts for level in self.tile_levels[:1]), default=0)

    @property
    def has_atomics(self) -> bool:
        """True if programs combine values with elements of memory, in any order."""
        return self.gpu is not None and self.gpu.atomics > 0

    @property
    def indexed_row_cycles(self) -> int | None:
        """Cycles per row of indexed moves from the outermost level, or None."""
        levels = self.tile_levels[:1]
        return levels[0].indexed_row if levels else None

    @property
    def computes_in_registers(self) -> bool:
        """True if tiles are values, on which elementwise operations take no move."""
        return any(level.kind == "value" for level in self.tile_levels[:1])

    @property
    def can_concat_in_place(self) -> bool:
        """
        True if tiles are moved to slices of buffers, so that tensors can be
        concatenated in place.
        """
        return any(level.kind == "buffer" for level in self.tile_levels[:1])

    @property
    def has_variable_trips(self) -> bool:
        """
        True if tiles are values, so that the number of iterations of a reduction may
        depend on the loops around it.
        """
        return any(level.kind == "value" for level in self.tile_levels)

    @property
    def tile_levels(self) -> tuple[Level, ...]:
        """Levels that loops move tiles to, outermost first."""
        inner = list(self.levels.values())[:-1]
        return tuple(level for level in reversed(inner) if level.kind != "cache")


def preset_names() -> tuple[str, ...]:
    """Return the names of the descriptions that are part of TLF."""
    return tuple(sorted(file.stem for file in PRESETS.glob("*.toml")))


def load_target_spec(
    name_or_path: str, other_target_names: Sequence[str] = ()
) -> TargetSpec:
    """
    Return the target of a preset by name, or of a description in a `.toml` file.

    `triton` is an alias of a GPU preset. Capacities of levels may follow, as in
    `npu:L2=512K`, and a number of cores, as in `npu:cores=4`. The error message for an
    unknown name also lists `other_target_names`, further names that the caller accepts.
    Raises `DiagnosticException`.
    """
    full_name = name_or_path
    name_or_path, settings = parse_target_settings(full_name)
    name_or_path = ALIASES.get(name_or_path, name_or_path)
    preset = PRESETS / f"{name_or_path}.toml"
    path = preset if name_or_path in preset_names() else Path(name_or_path)
    if path.suffix != ".toml":
        raise DiagnosticException(
            _format_unknown_target_message(name_or_path, other_target_names)
        )
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise DiagnosticException(
            f"cannot read target `{name_or_path}`: {reason}"
        ) from error
    data = _parse_toml(text, str(path))
    if CORES in settings:
        data[CORES] = settings[CORES]
    for fault in find_description_faults(data):
        if fault.path != (CORES,) or CORES not in settings:
            raise DescriptionError(
                fault.message, str(path), *_find_fault_location(fault, text)
            )
    capacities = {name: each for name, each in settings.items() if name != CORES}
    return target_from_data(data, full_name).with_capacities(capacities)


def _parse_toml(text: str, file: str) -> dict[str, Data]:
    """
    Parse TOML text; raise `DescriptionError` with line and column if it is invalid.
    """
    try:
        return tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        match = _TOML_ERROR.fullmatch(str(error))
        message = match[1] if match else str(error)
        position = (
            (int(match[2]), int(match[3]))
            if match and match[2]
            else _end_line_and_column(text)
        )
        message = f"{message[0].lower()}{message[1:]}"
        raise DescriptionError(message, file, *position) from error


def _end_line_and_column(text: str) -> tuple[int, int]:
    return text.count("\n") + 1, len(text) - text.rfind("\n")


def _find_fault_location(fault: DescriptionFault, text: str) -> LineColumn:
    """Return the line and column in TOML `text` of the key or value of a fault."""
    locations = TomlLocations.from_text(text)
    return (
        locations.locate_key(fault.path)
        if fault.is_located_at_key
        else locations.locate_value(fault.path)
    )


def _format_unknown_target_message(name: str, other_target_names: Sequence[str]) -> str:
    """
    Return the error message for an unknown target name, or for unknown settings behind
    a known one.
    """
    target, mark, settings = name.partition(":")
    names = [*preset_names(), *ALIASES]
    if mark and target in names:
        return (
            f"expected capacities of levels or `{CORES}` behind `{target}:`, such as "
            f"`L2=512K`, got `{settings}`"
        )
    names += other_target_names
    hint = suggest_name(name, names)
    listed = ", ".join(names)
    return f"expected a target ({listed}) or a `.toml` file, got `{name}`{hint}"


@lru_cache
def _target_from_attribute(attribute: DictionaryAttr) -> TargetSpec:
    return target_from_data(cast(Mapping[str, Data], _data_from_attribute(attribute)))


def target_from_data(data: Mapping[str, Data], name: str | None = None) -> TargetSpec:
    """
    Build a target from its description. Raises `DiagnosticException` for the first
    fault. `name` is the target's name in messages.
    """
    for fault in find_description_faults(data):
        where = "target" if name is None else f"target `{name}`"
        raise DiagnosticException(f"{where}: {fault.message}")
    description = msgspec.convert(data, TargetDescription)
    return TargetSpec(
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


def find_description_faults(data: Mapping[str, Data]) -> Iterator[DescriptionFault]:
    """
    Yield the schema faults of a description, or if there are none, its inconsistencies.
    """
    is_valid = True
    for fault in find_schema_faults(data, schema_of(TargetDescription)):
        is_valid = False
        yield fault
    if is_valid:
        yield from find_consistency_faults(msgspec.convert(data, TargetDescription))


def _attribute_from_data(data: Data) -> Attribute:
    """Convert TOML data to an attribute recursively, with sorted keys, i64 and f64."""
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
            return DictionaryAttr(
                {k: _attribute_from_data(data[k]) for k in sorted(data)}
            )
        case _:
            return ArrayAttr([_attribute_from_data(item) for item in data])


def _data_from_attribute(attribute: Attribute) -> Data:
    """
    Convert an attribute back to TOML data recursively; raise `DiagnosticException` for
    attributes that `_attribute_from_data` does not return.
    """
    match attribute:
        case DictionaryAttr():
            return {k: _data_from_attribute(v) for k, v in attribute.data.items()}
        case ArrayAttr():
            return [_data_from_attribute(item) for item in attribute]
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
