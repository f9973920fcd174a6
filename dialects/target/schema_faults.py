"""
Target description of the dialects: validation of TOML data against the schema, with the
path of each fault.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from math import inf
from typing import TypeAlias, cast

from msgspec import Struct, inspect
from msgspec.inspect import NoneType

from tlf.dialects.target.toml_locations import KeyPath
from tlf.support.name_suggestions import suggest_name

Choice: TypeAlias = inspect.EnumType | inspect.LiteralType
Number: TypeAlias = inspect.IntType | inspect.FloatType


MAX_LISTED_NAMES = 3
"""Maximum number of known names to list all instead of the closest match."""


@dataclass(frozen=True)
class DescriptionFault:
    """Fault of a target description at a key or value: a message, not an exception."""

    path: KeyPath
    message: str
    is_located_at_key: bool = False
    """True if the fault is about the key, false if it is about the value."""


@cache
def schema_of(struct: type[Struct]) -> inspect.Type:
    """Return the schema that a `Struct` declares."""
    return inspect.type_info(struct)


def find_schema_faults(
    data: object, type_: inspect.Type, path: KeyPath = ()
) -> Iterator[DescriptionFault]:
    """Yield the violations of a schema type by data, in the order of the data."""
    match type_:
        case inspect.StructType():
            yield from _find_struct_faults(data, type_, path)
        case inspect.DictType():
            yield from _find_table_faults(data, type_, path)
        case inspect.ListType() | inspect.TupleType():
            yield from _find_array_faults(data, type_, path)
        case inspect.UnionType(types=types):
            (inner_type,) = (each for each in types if not isinstance(each, NoneType))
            yield from find_schema_faults(data, inner_type, path)
        case inspect.EnumType() | inspect.LiteralType():
            if data not in (known := _allowed_choices_of_type(type_)):
                yield _make_unexpected_value_fault(
                    f"one of {_format_list_of_names(known)}", path, data
                )
        case inspect.IntType() | inspect.FloatType():
            if not _is_within_number_range(data, type_):
                yield _make_unexpected_value_fault(
                    _format_number_range(type_), path, data
                )
        case inspect.BoolType():
            if not isinstance(data, bool):
                yield _make_unexpected_value_fault("true or false", path, data)
        case inspect.StrType(pattern=pattern):
            if not isinstance(data, str) or not re.search(pattern or "", data):
                matching = f" that matches `{pattern}`" if pattern else ""
                yield _make_unexpected_value_fault(f"a string{matching}", path, data)
        case _:
            return


def format_path(path: KeyPath) -> str:
    """Format a path in the notation of TOML, with array items by index."""
    text = "".join(
        f"[{each}]" if isinstance(each, int) else f".{each}" for each in path
    )
    return text.removeprefix(".")


def make_unknown_key_fault(
    key: str, path: KeyPath, known: Sequence[str]
) -> DescriptionFault:
    """
    Return the fault of an unknown key of the table at `path`, with a hint at known
    keys.
    """
    hint = "" if len(known) <= MAX_LISTED_NAMES else suggest_name(key, known)
    hint = hint or f", expected one of {_format_list_of_names(known)}"
    return DescriptionFault(
        (*path, key),
        f"unknown key `{key}`{_format_owner_of_path(path)}{hint}",
        is_located_at_key=True,
    )


def _find_struct_faults(
    data: object, type_: inspect.StructType, path: KeyPath
) -> Iterator[DescriptionFault]:
    """
    Yield the faults of a table of fixed keys: unknown and missing keys, and values.
    """
    if not isinstance(data, Mapping):
        yield _make_unexpected_value_fault("a table", path, data)
        return
    table = cast("Mapping[str, object]", data)
    fields = {field.encode_name: field for field in type_.fields}
    for key, value in table.items():
        if key in fields:
            yield from find_schema_faults(value, fields[key].type, (*path, key))
        else:
            yield make_unknown_key_fault(key, path, list(fields))
    for key, field in fields.items():
        if field.required and key not in table:
            message = f"expected a key `{key}`{_format_owner_of_path(path)}, got none"
            yield DescriptionFault(path, message, is_located_at_key=True)


def _find_table_faults(
    data: object, type_: inspect.DictType, path: KeyPath
) -> Iterator[DescriptionFault]:
    """
    Yield the faults of a table of free or listed keys: unknown keys, values, too few.
    """
    if not isinstance(data, Mapping):
        yield _make_unexpected_value_fault("a table", path, data)
        return
    table, keys = cast("Mapping[str, object]", data), type_.key_type
    known = (
        _allowed_choices_of_type(keys)
        if isinstance(keys, inspect.LiteralType)
        else tuple(table)
    )
    for key, value in table.items():
        if key in known:
            yield from find_schema_faults(value, type_.value_type, (*path, key))
        else:
            yield make_unknown_key_fault(key, path, known)
    if len(table) < (type_.min_length or 0):
        yield _make_unexpected_value_fault("a table with a key", path, "{}")


def _find_array_faults(
    data: object, type_: inspect.ListType | inspect.TupleType, path: KeyPath
) -> Iterator[DescriptionFault]:
    """
    Yield the fault of data that is no array of the right length, else those of items.
    """
    if isinstance(type_, inspect.TupleType):
        minimum = maximum = len(type_.item_types)
        items = list(type_.item_types)
    else:
        minimum, maximum, items = type_.min_length or 0, inf, [type_.item_type]
    is_array = isinstance(data, Sequence) and not isinstance(data, str)
    array = cast("Sequence[object]", data) if is_array else None
    if array is None or not minimum <= len(array) <= maximum:
        exactly = "" if minimum == maximum else "at least "
        yield _make_unexpected_value_fault(
            f"an array of {exactly}{minimum} items", path, cast(object, data)
        )
        return
    for index, value in enumerate(array):
        each = items[min(index, len(items) - 1)]
        yield from find_schema_faults(value, each, (*path, index))


def _make_unexpected_value_fault(
    expected: str, path: KeyPath, data: object
) -> DescriptionFault:
    """
    Return the fault of a value at `path` that is not `expected`, located at the value.
    """
    message = (
        f"expected {expected} for `{format_path(path)}`, got {_format_value(data)}"
    )
    return DescriptionFault(path, message)


def _format_value(data: object) -> str:
    """Return a TOML value as text of a message; tables and arrays without contents."""
    match data:
        case bool():
            return f"`{str(data).lower()}`"
        case Mapping():
            return "a table"
        case list():
            return f"an array of {len(cast(list[object], data))}"
        case _:
            return f"`{data}`"


def _format_owner_of_path(path: KeyPath) -> str:
    return f" of `{format_path(path)}`" if path else ""


def _format_list_of_names(names: Sequence[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def _allowed_choices_of_type(type_: Choice) -> tuple[str, ...]:
    values = type_.values if isinstance(type_, inspect.LiteralType) else type_.cls
    return tuple(str(each) for each in values)


def _is_within_number_range(data: object, type_: Number) -> bool:
    """
    Return `True` if `data` is a number, not a bool, of the kind and range of `type_`.
    """
    kinds = int if isinstance(type_, inspect.IntType) else int | float
    if not isinstance(data, kinds) or isinstance(data, bool):
        return False
    low, high = _bounds_of_number_type(type_)
    return low <= data <= high and (type_.gt is None or data > type_.gt)


def _bounds_of_number_type(type_: Number) -> tuple[float, float]:
    low, high = type_.ge, type_.le
    return -inf if low is None else low, inf if high is None else high


def _format_number_range(type_: Number) -> str:
    """Return the kind and bounds of a number type as text of a message."""
    if isinstance(type_, inspect.IntType):
        return f"an integer from {type_.ge} to {type_.le}"
    if type_.gt is not None:
        return f"a number above {type_.gt:g} and at most {type_.le:g}"
    return f"a number from {type_.ge:g} to {type_.le:g}"
