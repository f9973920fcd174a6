"""
Target description of the dialects: number ranges, and parsing of settings such as
`npu:L2=512K`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, TypeAlias

from msgspec import Meta
from xdsl.utils.exceptions import DiagnosticException

_SIZE = re.compile(r"([0-9]+)(?:([KMGT])(?:iB)?)?")
_UNITS = {unit: 1 << 10 * power for power, unit in enumerate("KMGT", 1)}
_SETTING = r"(?:L[0-9]+|cores)=[^=,/]*"
_TARGET_SETTINGS = re.compile(
    rf"(?P<target>.+?):(?P<settings>{_SETTING}(?:,{_SETTING})*)"
)

CORES = "cores"
"""Name of the setting for the number of cores."""

MAX_CORES = 256
"""Maximum number of cores; every core executes its own instructions."""

MAX_BYTES = (1 << 63) - 1
"""Maximum size in bytes; programs represent sizes as 64-bit integers."""


MAX_COUNT = (1 << 31) - 1
"""Maximum of numbers other than sizes, so that sums of many fit in 64 bits."""

Count: TypeAlias = Annotated[int, Meta(ge=1, le=MAX_COUNT)]
Amount: TypeAlias = Annotated[int, Meta(ge=0, le=MAX_COUNT)]
Rate: TypeAlias = Annotated[float, Meta(ge=1e-6, le=1e9)]


def parse_bytes(text: str) -> int:
    """Parse a size such as `65536`, `512K` or `16MiB`; units are powers of 1024."""
    match = _SIZE.fullmatch(text)
    if match is None:
        raise DiagnosticException(f"expected a size such as 512K, got `{text}`")
    if int(match[1]) == 0:
        raise DiagnosticException(f"expected a size above 0, got `{text}`")
    if (size := int(match[1]) * _UNITS.get(match[2], 1)) > MAX_BYTES:
        raise DiagnosticException(f"expected at most {MAX_BYTES:,} bytes, got `{text}`")
    return size


def parse_target_settings(text: str) -> tuple[str, Mapping[str, int]]:
    """
    Split a target such as `npu:L2=512K,cores=4` into its name and its settings: the
    capacity of each named level in bytes, and the number of cores under `cores`.
    """
    match = _TARGET_SETTINGS.fullmatch(text)
    if match is None:
        return text, {}
    pairs = [pair.partition("=") for pair in match["settings"].split(",")]
    try:
        settings = {name: _parse_setting(name, value) for name, _, value in pairs}
    except DiagnosticException as error:
        raise DiagnosticException(f"target `{text}`: {error}") from error
    return match["target"], settings


def _parse_setting(name: str, value: str) -> int:
    """
    Return the number of cores if `name` is `cores`, else a capacity in bytes; raise
    `DiagnosticException` if the value is malformed or out of range.
    """
    if name != CORES:
        return parse_bytes(value)
    if not value.isdecimal() or not 1 <= int(value) <= MAX_CORES:
        raise DiagnosticException(
            f"expected a whole number of cores from 1 to {MAX_CORES}, got `{value}`"
        )
    return int(value)
