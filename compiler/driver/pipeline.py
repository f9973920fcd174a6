"""Driver: parsing and expansion of textual pass pipelines, with diagnostics."""

import dataclasses
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from types import NoneType, UnionType
from typing import TypeVar, Union, cast, get_args, get_origin, get_type_hints

from xdsl.passes import ModulePass
from xdsl.utils.arg_spec import (
    ArgSpec,
    ArgSpecConvertible,
    ParameterListType,
    parse_pipeline,
    parse_spec,
)
from xdsl.utils.exceptions import ArgSpecParseError, DiagnosticException
from xdsl.utils.hints import isa, type_repr
from xdsl.utils.target import Target

from tlf.support import former_names as renamed
from tlf.support.name_suggestions import format_expected_names, suggest_name

PassFactories = Mapping[str, Callable[[], type[ModulePass]]]
TargetFactories = Mapping[str, Callable[[], type[Target]]]
SpecT = TypeVar("SpecT", bound=ArgSpecConvertible)

_COMMA = re.compile(r'("(?:\\.|[^"\\])*")|\s*,\s*')
"""A comma with its surrounding spaces, or a string that is left unchanged."""


class PipelineError(Exception):
    """A pipeline or format that cannot be parsed; the message states the reason."""


def build_passes(
    text: str, passes: PassFactories, pipelines: Mapping[str, str]
) -> tuple[ModulePass, ...]:
    """
    Return the passes of the pipeline `text`, with named pipelines expanded. Raises
    `PipelineError`.
    """
    return tuple(
        _build_from_spec(f"pass `{spec.name}`", passes[spec.name](), spec)
        for spec in expand_pipeline(text, passes, pipelines)
    )


def expand_pipeline(
    text: str, passes: PassFactories, pipelines: Mapping[str, str]
) -> tuple[ArgSpec, ...]:
    """
    Return the specifications of the passes of the pipeline `text`, with named pipelines
    expanded. Raises `PipelineError`.
    """
    return tuple(_expand_specs(text, passes, pipelines, ()))


def build_target(text: str, targets: TargetFactories) -> Target:
    """
    Return the output format for `text`, such as `mlir` or `triton{option=value}`.
    Raises `PipelineError`.
    """
    try:
        spec = parse_spec(text)
    except ArgSpecParseError as error:
        raise PipelineError(
            f"cannot read format `{text}`: {_parse_error_reason(error)}"
        ) from error
    if spec.name not in targets:
        expected = format_expected_names(spec.name, sorted(targets))
        raise PipelineError(f"unknown format `{spec.name}`, {expected}")
    return _build_from_spec(f"format `{spec.name}`", targets[spec.name](), spec)


def _expand_specs(
    text: str,
    passes: PassFactories,
    pipelines: Mapping[str, str],
    enclosing_pipelines: tuple[str, ...],
) -> Iterator[ArgSpec]:
    """
    Yield the passes of `text`, with named pipelines expanded recursively. Raises
    `PipelineError` for unknown or renamed names, cycles, and options of a pipeline.
    """
    for spec in _parse_specs(text):
        if spec.name in passes:
            yield spec
            continue
        if (new := renamed.PASSES.get(spec.name)) is not None:
            raise PipelineError(f"pass `{spec.name}` was renamed to `{new}`")
        if spec.name not in pipelines:
            hint = suggest_name(spec.name, [*passes, *pipelines])
            raise PipelineError(f"unknown pass `{spec.name}`{hint}")
        if spec.name in enclosing_pipelines:
            raise PipelineError(f"pipeline `{spec.name}` contains itself")
        if spec.parameters:
            raise PipelineError(
                f"pipeline `{spec.name}` takes no options, got `{spec}`"
            )
        yield from _expand_specs(
            pipelines[spec.name], passes, pipelines, (*enclosing_pipelines, spec.name)
        )


def _parse_specs(text: str) -> tuple[ArgSpec, ...]:
    """Parse `text`, ignoring spaces around commas. Raises `PipelineError`."""
    try:
        spaceless = _COMMA.sub(lambda match: match[1] or ",", text.strip())
        return tuple(parse_pipeline(spaceless))
    except ArgSpecParseError as error:
        raise PipelineError(
            f"cannot read pipeline `{text}`: {_parse_error_reason(error)}"
        ) from error


def _parse_error_reason(error: ArgSpecParseError) -> str:
    """
    Return the reason and the column, extracted from the multi-line message of the
    error.
    """
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    column = lines[1].rpartition(":")[2]
    return f"{lines[-1][0].lower()}{lines[-1][1:]} (column {column})"


def _build_from_spec(subject: str, spec_class: type[SpecT], spec: ArgSpec) -> SpecT:
    """Construct a pass or a format from its options, after checking each option."""
    options = spec.normalize_parameter_names().parameters
    required = spec_class.required_fields()
    if not options and not required:
        return spec_class()
    hints = get_type_hints(spec_class)
    types = {
        field.name: hints[field.name]
        for field in dataclasses.fields(spec_class)
        if field.init and field.name != "name"
    }
    for name, values in options.items():
        if name not in types:
            raise PipelineError(
                f"{subject}: {_describe_unknown_option(spec.name, name, types)}"
            )
        if not _is_accepted_option(types[name], values):
            got = ",".join(map(str, values)) or "nothing"
            raise PipelineError(
                f"{subject}: option `{_format_option_name(name)}` expects "
                f"{type_repr(types[name])}, "
                f"got {got}"
            )
    for name in sorted(required - options.keys()):
        raise PipelineError(f"{subject} requires option `{_format_option_name(name)}`")
    try:
        return spec_class.from_spec(spec)
    except (ValueError, TypeError, DiagnosticException) as error:
        raise PipelineError(f"{subject}: {error}") from error


def _describe_unknown_option(owner: str, name: str, known: Iterable[str]) -> str:
    """
    Return an error message: the new `name` if it was renamed, else all `known` ones.
    """
    if (
        new := renamed.OPTIONS.get(owner, {}).get(_format_option_name(name))
    ) is not None:
        return f"option `{_format_option_name(name)}` was renamed to `{new}`"
    options = ", ".join(f"`{_format_option_name(option)}`" for option in known)
    return f"unknown option `{_format_option_name(name)}`, expected " + (
        f"one of {options}" if options else "none"
    )


def _is_accepted_option(expected_type: object, values: ParameterListType) -> bool:
    """Return `True` if xDSL accepts `values` for an option of this type."""
    if not values and get_origin(expected_type) in (Union, UnionType):
        return NoneType in get_args(expected_type)
    return (len(values) == 1 and _has_type(values[0], expected_type)) or _has_type(
        values, expected_type
    )


def _has_type(value: object, expected_type: object) -> bool:
    return isa(value, cast(type[object], expected_type))


def _format_option_name(option: str) -> str:
    return option.replace("_", "-")
